import { expect, test } from "vitest";
import { readRedisSettings } from "./redis-settings.ts";

const WHERE = "config/session.ts: SESSION.store";

const read = (options: unknown, name = "Shop") => readRedisSettings(options, { where: WHERE, root: "." }, name);

test("a URL is enough", () => {
  expect(read({ url: "redis://127.0.0.1" })).toEqual({
    kind: "server",
    hosts: [{ host: "127.0.0.1", port: 6379 }],
    name: null,
    username: null,
    password: null,
    database: 0,
    sentinelUsername: null,
    sentinelPassword: null,
    prefix: "shop:",
    commandTimeoutMs: 1000,
    tls: null,
  });
});

test("everything can be set, and numbers can be text, as in environment variables", () => {
  const pem = (kind: string) => `-----BEGIN ${kind}-----\n`;
  const tls = { ca: pem("CERTIFICATE"), cert: pem("CERTIFICATE"), key: pem("EC PRIVATE KEY"), servername: "cache" };
  const options = {
    url: "rediss+sentinel://one/main",
    username: "ann",
    password: "secret",
    sentinelUsername: "bob",
    sentinelPassword: "hidden",
    prefix: "my.shop:",
    commandTimeoutMs: "250",
    tls,
  };
  expect(read(options)).toMatchObject({
    username: "ann",
    password: "secret",
    sentinelUsername: "bob",
    sentinelPassword: "hidden",
    prefix: "my.shop:",
    commandTimeoutMs: 250,
    tls,
  });
});

test("certificates are verified by default if the connection is encrypted", () => {
  expect(read({ url: "rediss://one" }).tls).toEqual({ ca: null, cert: null, key: null, servername: null });
});

test.each([
  ["My Shop", "my-shop:"],
  ["店", "ashlar:"],
  ["Shop 2.0!", "shop-2-0:"],
  ["x".repeat(100), `${"x".repeat(60)}:`],
])("an application called %s has its own prefix", (name, prefix) => {
  expect(read({ url: "redis://one" }, name).prefix).toBe(prefix);
});

test.each<[object, string, string]>([
  [{}, "url", "is missing. Set REDIS_URL to redis://user:password@host:6379/0, "],
  [{ url: undefined }, "url", "is missing."],
  [{ url: "" }, "url", "is blank."],
  [{ url: 6379 }, "url", "is not text."],
  [{ url: "http://user:secret@one" }, "url", "is not the URL of a Redis server."],
  [{ url: "redis://user:secret@one", password: "other" }, "password", "is set together with a url that contains it."],
  [{ url: "redis://:secret@one", username: "ann" }, "username", "is set together with a url that contains it."],
  [{ url: "redis://one", sentinelPassword: "secret" }, "sentinelPassword", "is set, but the url names no Sentinels."],
  [
    { url: "redis-cluster://one", sentinelUsername: "ann" },
    "sentinelUsername",
    "is set, but the url names no Sentinels.",
  ],
  [{ url: "redis://one", tls: { ca: "c" } }, "tls", "is set, but the connection is not encrypted. Write rediss"],
  [{ url: "rediss://one", tls: { ca: "missing.pem" } }, "tls.ca", "is a file that can't be read (ENOENT)."],
  [{ url: "rediss://one", tls: { ca: "package.json" } }, "tls.ca", "is a file without a certificate."],
  [{ url: "rediss://one", tls: { rejectUnauthorized: false } }, "tls", "rejectUnauthorized"],
  [{ url: "redis://one", prefix: "a b" }, "prefix", "is not valid."],
  [{ url: "redis://one", prefix: "a{b}" }, "prefix", "is not valid."],
  [{ url: "redis://one", prefix: "x".repeat(65) }, "prefix", "is not valid."],
  [
    { url: "redis://one", commandTimeoutMs: 9 },
    "commandTimeoutMs",
    "is 9. Write a whole number of milliseconds from 10 to 60000",
  ],
  [{ url: "redis://one", commandTimeoutMs: 60_001 }, "commandTimeoutMs", "is 60001."],
  [{ url: "redis://one", urll: "x" }, "urll", ""],
])("%j fails startup", (options, name, problem) => {
  expect(() => read(options)).toThrow(
    expect.objectContaining({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringMatching(new RegExp(`^${WHERE.replaceAll(".", "\\.")}.*${name}`)),
    }),
  );
  expect(() => read(options)).toThrow(problem);
  expect(() => read(options)).not.toThrow("secret");
});
