import { readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeCertificate } from "../../../test/support/certificate.ts";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { type IssuerKey, issuerKey, startIssuer, type TokenIssuer } from "../../../test/support/token-issuer.ts";
import { createLogger } from "../../boot/index.ts";
import { now, setClock } from "../../support/index.ts";
import type { VerificationKey } from "../jwt/index.ts";
import { RemoteKeys } from "./remote-keys.ts";

const SETTINGS = { name: "Shop", environment: "test", log: { level: "info", requests: false } } as const;
const [FIRST, SECOND] = [issuerKey("first"), issuerKey("second")];
const OWN = { ca: null, where: "config/api.ts: DRIVERS.partner", algorithms: ["ES256"] } as const;
const SECOND_MS = 1000;
const MINUTE = 60 * SECOND_MS;
const HOUR = 60 * MINUTE;

interface Started {
  readonly issuer: TokenIssuer;
  readonly keys: RemoteKeys;
  readonly lines: Record<string, unknown>[];
}

async function start(published: readonly IssuerKey[] = [FIRST]): Promise<Started> {
  // From here on, time passes only when a test advances the clock.
  pass(0);
  const issuer = await startIssuer(published);
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger(SETTINGS, { write: (line) => void lines.push(JSON.parse(line)) });
  const keys = new RemoteKeys({ ...OWN, jwks: new URL(issuer.url) }, logger);
  onTestFinished(() => keys.close());
  return { issuer, keys, lines };
}

/** Advances the clock. */
function pass(ms: number): void {
  const then = now() + ms;
  setClock(() => then);
  onTestFinished(() => setClock(null));
}

const named = (kid: string) => (keys: readonly VerificationKey[]) => keys.some((key) => key.isNamed(kid));
const namesOf = ({ keys }: Started) => keys.current?.map(({ kid }) => kid) ?? null;

test("the keys are fetched when they are first needed, and then used without waiting", async () => {
  const started = await start();
  expect(namesOf(started)).toBeNull();
  await started.keys.prepare(named("first"));
  expect(namesOf(started)).toEqual(["first"]);
  expect(started.keys.prepare(named("first"))).toBeUndefined();
  expect(started.issuer.requests).toBe(1);
});

test("S103 many tokens at once cause one request", async () => {
  const { issuer, keys } = await start();
  await Promise.all(Array.from({ length: 200 }, (_, index) => keys.prepare(named(`made up ${index}`))));
  expect(issuer.requests).toBe(1);
});

describe("S103 a token that names an unknown key", () => {
  test("S103 makes it fetch the keys again, once in thirty seconds, however many such tokens there are", async () => {
    const started = await start();
    const { issuer, keys } = started;
    await keys.refresh();
    issuer.keys = [FIRST, SECOND];
    for (let index = 0; index < 1000; index++) expect(keys.prepare(named(`made up ${index}`))).toBeUndefined();
    expect(issuer.requests).toBe(1);
    pass(30 * SECOND_MS);
    await Promise.all(Array.from({ length: 1000 }, (_, index) => keys.prepare(named(`made up ${index}`))));
    expect(issuer.requests).toBe(2);
    expect(namesOf(started)).toEqual(["first", "second"]);
    pass(29 * SECOND_MS);
    for (let index = 0; index < 1000; index++) await keys.prepare(named(`made up ${index}`));
    expect(issuer.requests).toBe(2);
  });

  test("S103 doesn't cause a second fetch if the issuer is slow", async () => {
    const { issuer, keys } = await start();
    await keys.refresh();
    pass(MINUTE);
    const waiting: (() => void)[] = [];
    issuer.respond = (_request, response) => waiting.push(() => issuer.publish(response));
    const asked = Array.from({ length: 50 }, () => keys.prepare(named("second")));
    // The time limit hasn't passed, but the clock has advanced by more than thirty seconds.
    pass(5 * MINUTE);
    asked.push(...Array.from({ length: 50 }, () => keys.prepare(named("second"))));
    await expect.poll(() => waiting.length).toBe(1);
    waiting[0]!();
    await Promise.all(asked);
    expect(issuer.requests).toBe(2);
  });
});

test.each([
  [undefined, 10 * MINUTE],
  ["no-cache", 10 * MINUTE],
  ["max-age=0", MINUTE],
  ["max-age=900", 15 * MINUTE],
  ["max-age=31536000", HOUR],
])("with Cache-Control: %s, the keys are fetched again after %i ms", async (cacheControl, age) => {
  const { issuer, keys } = await start();
  if (cacheControl !== undefined) issuer.headers["cache-control"] = cacheControl;
  await keys.refresh();
  pass(age - 1);
  expect(keys.prepare(named("first"))).toBeUndefined();
  pass(1);
  await keys.prepare(named("first"));
  expect(issuer.requests).toBe(2);
});

test("S103 a key that the issuer has withdrawn is no longer used once its time is over, not even for one request", async () => {
  const started = await start([FIRST, SECOND]);
  await started.keys.refresh();
  started.issuer.keys = [SECOND];
  pass(20 * HOUR);
  const asked = Array.from({ length: 20 }, () => started.keys.prepare(named("first")));
  expect(asked.every((waiting) => waiting instanceof Promise)).toBe(true);
  await Promise.all(asked);
  expect(namesOf(started)).toEqual(["second"]);
});

test("setting the clock back makes it fetch the keys again", async () => {
  const { issuer, keys } = await start();
  await keys.refresh();
  pass(-HOUR);
  await keys.prepare(named("first"));
  expect(issuer.requests).toBe(2);
});

describe("while the issuer is down", () => {
  const away = (issuer: TokenIssuer) => {
    issuer.respond = (_request, response) => issuer.publish(response, 503);
  };

  test("S103 the last keys are used for 24 hours, and one line says so", async () => {
    const started = await start();
    const { issuer, keys, lines } = started;
    await keys.refresh();
    away(issuer);
    for (let hour = 0; hour < 23; hour++) {
      pass(HOUR);
      await keys.prepare(named("first"));
      await keys.refresh();
      expect(namesOf(started)).toEqual(["first"]);
    }
    pass(HOUR);
    await keys.prepare(named("first"));
    expect(namesOf(started)).toBeNull();
    expect(lines).toMatchObject([{ level: "warn", jwks: issuer.url, reason: "The status of the response is 503." }]);
    expect(lines[0]!.msg).toMatch(/The last ones are used for up to 24 hours/);
  });

  test("no request waits for it once the outage is known, and the issuer is tried again every thirty seconds", async () => {
    const { issuer, keys } = await start();
    await keys.refresh();
    away(issuer);
    pass(HOUR);
    await keys.prepare(named("first"));
    const asked = issuer.requests;
    expect(keys.prepare(named("first"))).toBeUndefined();
    pass(30 * SECOND_MS);
    expect(keys.prepare(named("first"))).toBeUndefined();
    await keys.refresh();
    expect(issuer.requests).toBe(asked + 1);
  });

  test("its return is logged once, too", async () => {
    const started = await start();
    const { issuer, keys, lines } = started;
    away(issuer);
    await keys.refresh();
    await keys.refresh();
    issuer.respond = (_request, response) => issuer.publish(response);
    await keys.refresh();
    await keys.refresh();
    expect(namesOf(started)).toEqual(["first"]);
    expect(lines.map(({ level }) => level)).toEqual(["warn", "info"]);
    expect(lines[0]!.msg).toMatch(/Its tokens cannot be verified/);
  });

  test.each([
    ["is not a JWK Set", "[]"],
    ["has too many keys", JSON.stringify({ keys: Array(101).fill(FIRST.jwk) })],
    ["is not JSON", "<html>"],
  ])("S103 a document that %s leaves the last keys in use", async (_, text) => {
    const started = await start();
    await started.keys.refresh();
    started.issuer.respond = (_request, response) => void response.writeHead(200, started.issuer.headers).end(text);
    await started.keys.refresh();
    expect(namesOf(started)).toEqual(["first"]);
    expect(started.lines).toHaveLength(1);
  });

  test("a complete document without a usable key withdraws all keys", async () => {
    const started = await start();
    await started.keys.refresh();
    started.issuer.keys = [issuerKey("other", "RS256")];
    await started.keys.refresh();
    await started.keys.refresh();
    expect(namesOf(started)).toEqual([]);
    expect(started.lines).toMatchObject([{ level: "warn", keys: 0, ignored: 1 }]);
  });
});

test("nothing is fetched or logged once the application has shut down", async () => {
  const { issuer, keys, lines } = await start();
  issuer.respond = () => keys.close();
  await keys.refresh();
  pass(HOUR);
  await keys.prepare(named("first"));
  expect([issuer.requests, lines]).toEqual([1, []]);
});

test("S103 if the server's certificate comes from an unknown authority, the log names the setting; with it, keys are fetched", async () => {
  const { key, chain } = makeCertificate(await temporaryFolder(), "localhost");
  const ca = readFileSync(chain, "utf8");
  const issuer = await startIssuer([FIRST], { key: readFileSync(key, "utf8"), cert: ca });
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger(SETTINGS, { write: (line) => void lines.push(JSON.parse(line)) });
  const fetched = async (authority: string | null): Promise<number | undefined> => {
    const keys = new RemoteKeys({ ...OWN, ca: authority, jwks: new URL(issuer.url) }, logger);
    await keys.refresh();
    keys.close();
    return keys.current?.length;
  };
  expect(await fetched(null)).toBeUndefined();
  expect(lines.map(({ msg }) => msg)).toEqual([
    "The keys of the issuer cannot be fetched. Its tokens cannot be verified. " +
      "Set config/api.ts: DRIVERS.partner.ca to the file of the authority that has signed the server's certificate. " +
      "If it is set, it names another one.",
  ]);
  expect(await fetched(ca)).toBe(1);
});
