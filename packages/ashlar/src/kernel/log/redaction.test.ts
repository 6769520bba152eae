import fc from "fast-check";
import { expect, test } from "vitest";
import { REDACTED, redact, withoutSecrets } from "./redaction.ts";

test.each([
  "authorization",
  "Authorization",
  "proxy-authorization",
  "cookie",
  "Set-Cookie",
  "password",
  "password_confirmation",
  "newPassword",
  "token",
  "api_token",
  "apiToken",
  "JWT_SECRET",
  "X-CSRF-TOKEN",
  "client_secret",
  "refreshToken",
  "x-api-key",
  "private_key",
  "previousKeys",
  "APP_PREVIOUS_KEYS",
  "previousSecrets",
])("S15 a property named %s is redacted, at any depth", (name) => {
  const data = { [name]: "s3cret", a: { b: [{ [name]: { c: "s3cret" } }] } };
  expect(redact(data)).toEqual({ [name]: REDACTED, a: { b: [{ [name]: REDACTED }] } });
});

test("data without secrets stays as it is, and the original is not changed", () => {
  const date = new Date(0);
  const data = { path: "/orders", status: 200, list: [1, "a", null], date, passwords: 3 };
  const copy = redact(data);
  expect(copy).toEqual(data);
  expect(copy.date).toBe(date);
  const secret = { password: "s3cret" };
  redact(secret);
  expect(secret).toEqual({ password: "s3cret" });
});

test("S15 entries of a Headers object are redacted by their names", () => {
  const headers = new Headers({ authorization: "Bearer s3cret", accept: "*/*", cookie: "token=s3cret" });
  expect(redact({ headers })).toEqual({ headers: { authorization: REDACTED, accept: "*/*", cookie: REDACTED } });
});

test("objects inside objects are kept to the eighth level, and cut off below", () => {
  const inside = (levels: number, innermost: unknown): Record<string, unknown> => {
    return { member: levels === 1 ? innermost : inside(levels - 1, innermost) };
  };
  const eighth = inside(8, { name: "a" });
  expect(redact(eighth)).toEqual(eighth);
  expect(redact(inside(9, { name: "a" }))).toEqual(inside(9, "[too deep]"));
});

test("a circular reference is cut off", () => {
  const circle: Record<string, unknown> = { name: "a" };
  circle.self = circle;
  expect(JSON.stringify(redact(circle))).toContain("[too deep]");
});

test("S15 no secret survives anywhere in any data", () => {
  const names = fc.constantFrom("password", "token", "authorization", "name", "data", "list");
  const data = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constant("s3cret"),
      fc.array(tie("value"), { maxLength: 3 }),
      tie("object"),
    ),
    object: fc.dictionary(names, tie("value"), { maxKeys: 4 }),
  })).object as fc.Arbitrary<Record<string, unknown>>;
  const underSecretName = (value: unknown): boolean =>
    typeof value === "object" &&
    value !== null &&
    Object.entries(value).some(([name, member]) =>
      ["password", "token", "authorization"].includes(name) ? member !== REDACTED : underSecretName(member),
    );
  fc.assert(fc.property(data, (value) => !underSecretName(redact(value))));
});

test("S15 an error's properties are redacted, including those of its causes and aggregated errors", () => {
  class UpstreamError extends Error {
    readonly token = "s3cret";
    readonly response = { headers: new Headers({ "set-cookie": "a=s3cret", etag: "1" }) };
  }
  const inner = Object.assign(new Error("inner"), { password: "s3cret" });
  const error = new AggregateError([inner], "outer", { cause: new UpstreamError("upstream") });
  const { err, cause } = redact({ err: error, cause: new UpstreamError("upstream") }) as Record<string, object>;
  expect(err).toMatchObject({ type: "AggregateError", message: "outer: upstream" });
  expect(err).toMatchObject({ aggregateErrors: [{ message: "inner", password: REDACTED }] });
  expect(cause).toMatchObject({
    type: "UpstreamError",
    stack: expect.stringContaining("Error: upstream\n"),
    token: REDACTED,
    response: { headers: { "set-cookie": REDACTED, etag: "1" } },
  });
});

test("S15 instances of classes are redacted, using toJSON if they have it", () => {
  class Settings {
    readonly secret = "s3cret";
    readonly name = "a";
  }
  class Wrapped {
    toJSON(): object {
      return { config: new Settings() };
    }
  }
  const clean = { secret: REDACTED, name: "a" };
  expect(redact({ a: new Settings(), b: new Wrapped() })).toEqual({ a: clean, b: { config: clean } });
});

test("very large data is cut off", () => {
  const everything: Record<string, unknown> = {};
  for (let index = 0; index < 100; index++) everything[`member${index}`] = everything;
  const text = JSON.stringify(redact({ everything }));
  expect(text).toContain("[too much]");
  expect(text.length).toBeLessThan(1_000_000);
});

test("S15 a secret field of a URL is redacted, however its name is encoded", () => {
  for (const name of ["token", "%74oken", "t%6Fken", "%74%6F%6B%65%6E"]) {
    expect(withoutSecrets(`/verify?a=1&${name}=s3cret#top`)).toBe(`/verify?a=1&${name}=${REDACTED}#top`);
  }
  expect(withoutSecrets("/verify?%zz=1")).toBe("/verify?%zz=1");
});
