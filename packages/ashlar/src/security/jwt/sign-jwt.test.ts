import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { setClock } from "../../support/index.ts";
import { SigningKey, VerificationKey } from "./keys.ts";
import { signJwt } from "./sign.ts";
import type { JwtClaims } from "./verify.ts";
import { verifyJws } from "./verify.ts";

const SECRET = randomBytes(64);
const KEY = new SigningKey("HS512", SECRET);

function parts(token: string): unknown[] {
  return token
    .split(".")
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, "base64url").toString()));
}

afterEach(() => setClock(null));

describe("signing a JWT", () => {
  test("the header contains the algorithm and the type JWT, and nothing else", () => {
    expect(parts(signJwt({ sub: "1", iat: 5 }, KEY))).toEqual([
      { alg: "HS512", typ: "JWT" },
      { sub: "1", iat: 5 },
    ]);
  });

  test("iat is the current second, the given one, or the one in the claims", () => {
    setClock(() => 1_700_000_000_999);
    expect(parts(signJwt({}, KEY))[1]).toEqual({ iat: 1_700_000_000 });
    expect(parts(signJwt({}, KEY, { now: 7 }))[1]).toEqual({ iat: 7 });
    expect(parts(signJwt({ iat: 0 }, KEY, { now: 7 }))[1]).toEqual({ iat: 0 });
  });

  test("the given claims are not modified", () => {
    const claims = Object.freeze({ sub: "1" });
    signJwt(claims, KEY);
    expect(claims).toEqual({ sub: "1" });
  });

  test("another type appears in the header", () => {
    const token = signJwt({ iat: 1 }, KEY, { typ: "at+jwt" });
    expect(parts(token)).toEqual([{ alg: "HS512", typ: "at+jwt" }, { iat: 1 }]);
    expect(verifyJws(token, new VerificationKey("HS512", SECRET)).header.typ).toBe("at+jwt");
  });

  test("a value that JSON cannot represent is refused, with its location and the reason", () => {
    const cases: [() => string, string][] = [
      [() => signJwt({ sub: "1", size: 1n }, KEY), "The claims cannot be written as JSON."],
      [() => signJwt({ sub: "1" }, KEY, { typ: 1n as unknown as string }), "The header cannot be written as JSON."],
    ];
    for (const [sign, message] of cases) {
      expect(sign).toThrow(expect.objectContaining({ code: "E_JWT_CLAIMS", message, cause: expect.any(TypeError) }));
    }
  });

  test("S9 claims are not signed if a registered one has a type that no verifier accepts", () => {
    const wrong: Record<string, unknown>[] = [
      ...[Number.NaN, Number.POSITIVE_INFINITY, "1", null, new Date(0), true].flatMap((value) => [
        { exp: value },
        { nbf: value },
        { iat: value },
      ]),
      ...[1, null, ["1"]].flatMap((value) => [{ sub: value }, { iss: value }, { jti: value }]),
      { aud: 1 },
      { aud: [1] },
    ];
    for (const claims of wrong) {
      expect(() => signJwt(claims as JwtClaims, KEY)).toThrow(expect.objectContaining({ code: "E_JWT_CLAIMS" }));
    }
    expect(() => signJwt({}, KEY, { now: Number.NaN })).toThrow(expect.objectContaining({ code: "E_JWT_CLAIMS" }));
  });

  test("claims that are not a plain object, or cannot be serialized, are not signed", () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    for (const claims of [
      null,
      [],
      "sub",
      new Map(),
      new Date(),
      circular,
      { id: 1n },
      { toJSON: () => [] },
      { toJSON() {} },
    ]) {
      expect(() => signJwt(claims as unknown as JwtClaims, KEY)).toThrow(
        expect.objectContaining({ code: "E_JWT_CLAIMS" }),
      );
    }
    expect(() => signJwt([] as unknown as JwtClaims, KEY)).toThrow("The claims must be a plain object.");
  });

  test("a member named __proto__ is not signed, at any depth", () => {
    for (const json of ['{"__proto__":{"admin":true}}', '{"a":[{"__proto__":1}]}']) {
      expect(() => signJwt(JSON.parse(json) as JwtClaims, KEY)).toThrow(
        expect.objectContaining({ code: "E_JWT_CLAIMS" }),
      );
    }
    expect(parts(signJwt({ sub: "__proto__", iat: 1 }, KEY))[1]).toEqual({ sub: "__proto__", iat: 1 });
  });

  test("a claim without a value is left out", () => {
    expect(parts(signJwt({ sub: "1", iat: 1, ver: undefined }, KEY))[1]).toEqual({ sub: "1", iat: 1 });
  });
});
