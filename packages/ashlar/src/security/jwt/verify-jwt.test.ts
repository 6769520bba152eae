import { createHmac, randomBytes } from "node:crypto";
import fc from "fast-check";
import { SignJWT } from "jose";
import { afterEach, describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { setClock } from "../../support/index.ts";
import { JwtError } from "./errors.ts";
import { SigningKey, VerificationKey } from "./keys.ts";
import { signJwt } from "./sign.ts";
import type { JwtVerifyOptions } from "./verify.ts";
import { tryVerifyJwt, verifyJwt } from "./verify.ts";

const SECRET = randomBytes(64);
const SIGNING = new SigningKey("HS512", SECRET);
const KEY = new VerificationKey("HS512", SECRET);
const NOW = 1_700_000_000;
const AT = { clock: () => NOW };

function segment(text: string | Uint8Array): string {
  return Buffer.from(text as string).toString("base64url");
}

/** Signs a header and claims unchanged, however invalid. */
function forge(claims: string | Uint8Array, header = '{"alg":"HS512","typ":"JWT"}'): string {
  const input = `${segment(header)}.${segment(claims)}`;
  return `${input}.${createHmac("sha512", SECRET).update(input).digest("base64url")}`;
}

afterEach(() => setClock(null));

describe("verifying a JWT", () => {
  test("both functions return the claims of a valid token", () => {
    const claims = { sub: "1", iat: NOW, exp: NOW + 60, jti: "x", aud: ["a"], deep: { list: [1, "é😀", null] } };
    const token = signJwt(claims, SIGNING);
    expect(tryVerifyJwt(token, KEY, AT)).toEqual({ claims });
    expect(verifyJwt(token, KEY, AT)).toEqual(claims);
    expect(verifyJwt(token, [KEY], AT)).toEqual(claims);
  });

  test("for a refused token, one function returns the reason and the other throws an error with it", () => {
    const token = signJwt({ sub: "1", exp: NOW }, SIGNING, { now: NOW - 5 });
    expect(tryVerifyJwt(token, KEY, AT)).toEqual({ failure: "expired" });
    expect(() => verifyJwt(token, KEY, AT)).toThrow(
      expect.objectContaining({ code: "E_JWT_INVALID", reason: "expired" }),
    );
  });

  test("without options, the framework's clock is used and the type is JWT", () => {
    const token = signJwt({ exp: NOW + 10 }, SIGNING, { now: NOW });
    setClock(() => (NOW + 9.999) * 1000);
    expect(tryVerifyJwt(token, KEY)).toEqual({ claims: { exp: NOW + 10, iat: NOW } });
    setClock(() => (NOW + 10) * 1000);
    expect(tryVerifyJwt(token, KEY)).toEqual({ failure: "expired" });
  });

  describe("the type of a token", () => {
    const typed = (typ?: unknown) => forge("{}", JSON.stringify({ typ, alg: "HS512" }));
    const accepts = (typ: unknown, options: JwtVerifyOptions) => {
      const outcome = tryVerifyJwt(typed(typ), KEY, options);
      expect(outcome).toEqual("claims" in outcome ? { claims: {} } : { failure: "type" });
      return "claims" in outcome;
    };
    const types = ["JWT", "jwt", "application/jwt", undefined, "JOSE", "at+jwt", "text/jwt", "", null, 1, ["JWT"]];
    const accepted = (options: JwtVerifyOptions) => types.filter((typ) => accepts(typ, options));

    test("by default it is JWT or missing, as RFC 7519 §5.1 allows", () => {
      expect(accepted({})).toEqual(["JWT", "jwt", "application/jwt", undefined]);
    });

    test("a required type must be present, and is compared as a media type", () => {
      expect(accepted({ typ: "JWT" })).toEqual(["JWT", "jwt", "application/jwt"]);
      for (const typ of ["at+jwt", "application/at+jwt", "AT+JWT"]) {
        expect(accepted({ typ })).toEqual(["at+jwt"]);
        expect(accepts("application/at+JWT", { typ })).toBe(true);
      }
    });

    test("it is compared exactly if that is required", () => {
      expect(accepted({ exactTyp: true })).toEqual(["JWT"]);
      expect(accepted({ exactTyp: true, typ: "at+jwt" })).toEqual(["at+jwt"]);
      expect(accepts("application/at+jwt", { exactTyp: true, typ: "at+jwt" })).toBe(false);
      expect(() => tryVerifyJwt(typed("JWT"), KEY, { exactTyp: true, typ: null })).toThrow(
        expect.objectContaining({ code: "E_INVALID_CONFIGURATION", message: expect.stringContaining("exactTyp") }),
      );
    });

    test("any type is accepted if null is given", () => expect(accepted({ typ: null })).toEqual(types));
  });

  test("a token signed by jose, which has no type, is verified", async () => {
    const token = await new SignJWT({ sub: "1" }).setProtectedHeader({ alg: "HS512" }).sign(SECRET);
    expect(verifyJwt(token, KEY)).toEqual({ sub: "1" });
  });

  test("a required issuer and audience must match the claims", () => {
    const claims = { iss: "https://a.example", aud: ["web", "api"], iat: NOW };
    const token = signJwt(claims, SIGNING);
    const options = { ...AT, issuer: "https://a.example", audience: "api" };
    expect(tryVerifyJwt(token, KEY, options)).toEqual({ claims });
    expect(tryVerifyJwt(token, KEY, { ...options, issuer: "https://b.example" })).toEqual({ failure: "issuer" });
    expect(tryVerifyJwt(token, KEY, { ...options, audience: "ap" })).toEqual({ failure: "audience" });
  });

  test("the size limit can be raised", () => {
    const token = signJwt({ text: "x".repeat(20_000) }, SIGNING, { now: NOW });
    expect(tryVerifyJwt(token, KEY, AT)).toEqual({ failure: "too_large" });
    expect(tryVerifyJwt(token, KEY, { ...AT, maxBytes: 40_000 })).toEqual({
      claims: { text: "x".repeat(20_000), iat: NOW },
    });
  });

  test("a literal U+FFFD is accepted, and invalid UTF-8 is not", () => {
    expect(tryVerifyJwt(forge('{"sub":"\uFFFD"}'), KEY)).toEqual({ claims: { sub: "\uFFFD" } });
    for (const bytes of [[0x80], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]]) {
      const text = Buffer.concat([Buffer.from('{"sub":"'), Buffer.from(bytes), Buffer.from('"}')]);
      expect(tryVerifyJwt(forge(text), KEY)).toEqual({ failure: "malformed" });
    }
  });

  test("JSON nested as deep as the size allows is handled", () => {
    const deep = `{"a":${"[".repeat(2500)}${"]".repeat(2500)},"\\u0062":1}`;
    expect(tryVerifyJwt(forge(deep), KEY)).toHaveProperty("claims.b", 1);
    const nested = `{"__proto":${'{"a":'.repeat(900)}{"__proto__":1}${"}".repeat(900)}}`;
    expect(tryVerifyJwt(forge(nested), KEY)).toEqual({ failure: "malformed" });
  });
});

describe("S9 invalid options", () => {
  const token = signJwt({}, SIGNING);
  const wrong: Record<keyof JwtVerifyOptions & string, unknown[]> | Record<string, unknown[]> = {
    clockSkewSeconds: [-1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, "5", null],
    maxBytes: [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "8192", null],
    issuer: ["", null, 5, ["a"]],
    audience: ["", null, 5, ["a"]],
    typ: ["", 5, ["JWT"]],
  };

  test.each(Object.entries(wrong))("S9 %s", (name, values) => {
    for (const value of values) {
      for (const verify of [verifyJwt, tryVerifyJwt]) {
        expect(() => verify(token, KEY, { [name]: value })).toThrow(
          expect.objectContaining({ code: "E_INVALID_CONFIGURATION", message: expect.stringContaining(name) }),
        );
      }
    }
  });
});

test("S9 a skew of zero and a limit of one byte are valid", () => {
  const token = signJwt({ iat: NOW }, SIGNING);
  expect(tryVerifyJwt(token, KEY, { ...AT, clockSkewSeconds: 0 })).toEqual({ claims: { iat: NOW } });
  expect(tryVerifyJwt(token, KEY, { ...AT, maxBytes: 1 })).toEqual({ failure: "too_large" });
});

describe("any input", () => {
  const valid = signJwt({ sub: "1", exp: NOW + 60 }, SIGNING, { now: NOW });
  const part = fc.oneof(
    fc.string({ unit: fc.constantFrom(..."ABCDEFabcdef0123456789-_"), maxLength: 60 }),
    fc.json().map(segment),
    fc.uint8Array({ maxLength: 60 }).map(segment),
    fc.constantFrom(...valid.split("."), segment('{"alg":"HS512"}'), segment('{"alg":"none"}'), ""),
    anyText({ maxLength: 20 }),
  );
  const shaped = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join("."));
  const edited = fc
    .tuple(fc.nat(valid.length), fc.nat(3), fc.oneof(fc.string({ maxLength: 3 }), anyText({ maxLength: 3 })))
    .map(([at, cut, text]) => valid.slice(0, at) + text + valid.slice(at + cut));
  const claims = fc
    .oneof(
      fc.json(),
      fc
        .dictionary(fc.constantFrom("exp", "nbf", "iat", "sub", "aud", "__proto__"), fc.jsonValue())
        .map((value) => JSON.stringify(value)),
    )
    .map((json) => forge(json));

  test("is verified or refused: one function throws nothing, the other nothing but a JwtError, and they agree", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), anyText(), shaped, edited, claims), (token) => {
        const outcome = tryVerifyJwt(token, KEY, AT);
        if ("claims" in outcome) {
          expect(verifyJwt(token, KEY, AT)).toEqual(outcome.claims);
          return;
        }
        try {
          verifyJwt(token, KEY, AT);
          expect.unreachable("one function refused what the other accepted");
        } catch (error) {
          expect(error).toBeInstanceOf(JwtError);
          expect((error as JwtError).reason).toBe(outcome.failure);
        }
      }),
      { numRuns: 5000 },
    );
  });

  test("S6 no text other than the token itself is accepted", () => {
    fc.assert(
      fc.property(edited, (token) => {
        expect("claims" in tryVerifyJwt(token, KEY, AT)).toBe(token === valid);
      }),
      { numRuns: 5000 },
    );
  });
});
