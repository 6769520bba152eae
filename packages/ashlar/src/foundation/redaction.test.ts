import fc from "fast-check";
import { expect, test } from "vitest";
import { REDACTED, redact } from "./redaction.ts";

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
])("S15 a member called %s is blacked out, at any depth", (name) => {
  const data = { [name]: "s3cret", a: { b: [{ [name]: { c: "s3cret" } }] } };
  expect(redact(data)).toEqual({ [name]: REDACTED, a: { b: [{ [name]: REDACTED }] } });
});

test("what is no secret stays as it is, and what was given is left alone", () => {
  const error = new Error("boom");
  const date = new Date(0);
  const data = { path: "/orders", status: 200, list: [1, "a", null], err: error, date, passwords: 3 };
  const copy = redact(data);
  expect(copy).toEqual(data);
  expect(copy.err).toBe(error);
  expect(copy.date).toBe(date);
  redact({ password: "s3cret" });
});

test("S15 the platform's headers are blacked out by their names", () => {
  const headers = new Headers({ authorization: "Bearer s3cret", accept: "*/*", cookie: "token=s3cret" });
  expect(redact({ headers })).toEqual({ headers: { authorization: REDACTED, accept: "*/*", cookie: REDACTED } });
});

test("a circle ends", () => {
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
