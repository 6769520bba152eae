import { describe, expect, test } from "vitest";
import { AT, forge, judge, KEY, NOW, SECRET } from "../../../test/support/jwt-forgery.ts";
import { type JwtClaims, SigningKey, signJwt, tryVerifyJwt } from "./index.ts";

describe("S7 the claims", () => {
  const claims = (json: string, options = {}) => judge(forge(json), KEY, options);

  test("S7 exp, nbf and iat of another type are refused, even if expiry is ignored", () => {
    for (const name of ["exp", "nbf", "iat"]) {
      for (const value of [
        "null",
        "true",
        "false",
        '""',
        '"1800000000"',
        "[]",
        "[1800000000]",
        "{}",
        "1e400",
        "-1e400",
      ]) {
        expect(claims(`{"${name}":${value}}`)).toBe("claims");
        expect(claims(`{"${name}":${value}}`, { ignoreExpiry: true })).toBe("claims");
      }
    }
  });

  test("S7 a token with exp 0 is expired, and so is one whose exp is now", () => {
    expect(["0", "-0", "-1", "1", `${NOW - 1}`, `${NOW}`, `${NOW}.0`].map((exp) => claims(`{"exp":${exp}}`))).toEqual(
      Array.from({ length: 7 }, () => "expired"),
    );
    expect([`${NOW + 1}`, `${NOW}.5`, "1e300"].map((exp) => claims(`{"exp":${exp}}`))).toEqual(
      Array.from({ length: 3 }, () => "accepted"),
    );
    expect(claims(`{"exp":${NOW}}`, { clockSkewSeconds: 300 })).toBe("expired");
  });

  test("S7 an iat or nbf further in the future than the skew is refused", () => {
    for (const name of ["iat", "nbf"]) {
      expect(claims(`{"${name}":${NOW}}`)).toBe("accepted");
      expect(claims(`{"${name}":${NOW + 1}}`)).toBe("not_yet_valid");
      expect(claims(`{"${name}":${NOW + 5}}`, { clockSkewSeconds: 5 })).toBe("accepted");
      expect(claims(`{"${name}":${NOW + 6}}`, { clockSkewSeconds: 5 })).toBe("not_yet_valid");
      expect(claims(`{"${name}":1e300}`, { clockSkewSeconds: 5, ignoreExpiry: true })).toBe("not_yet_valid");
    }
  });

  test("S7 sub, iss and jti must be text", () => {
    for (const name of ["sub", "iss", "jti"]) {
      for (const value of ["null", "1", "true", "[]", '["1"]', "{}"])
        expect(claims(`{"${name}":${value}}`)).toBe("claims");
      expect(claims(`{"${name}":"1"}`)).toBe("accepted");
    }
  });

  test("S7 the last of two members with the same name counts, both in the check and in the returned claims", () => {
    expect(claims(`{"exp":${NOW + 9},"exp":${NOW}}`)).toBe("expired");
    expect(claims(`{"exp":${NOW + 9},"\\u0065xp":"never"}`)).toBe("claims");
    expect(tryVerifyJwt(forge('{"sub":"1","sub":"2"}'), KEY, AT)).toEqual({ claims: { sub: "2" } });
  });

  test("S7 ver is returned unchanged, for the caller to compare", () => {
    for (const ver of [1, "1", null, [1]]) {
      expect(tryVerifyJwt(forge(JSON.stringify({ ver })), KEY, AT)).toEqual({ claims: { ver } });
    }
  });
});

describe("S9 configuration and signing", () => {
  test("S9 a skew that is negative, not finite or not a number is refused", () => {
    for (const clockSkewSeconds of [
      -1,
      -0.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      "5",
      "",
      null,
    ]) {
      expect(() => tryVerifyJwt(forge("{}"), KEY, { clockSkewSeconds: clockSkewSeconds as number })).toThrow(
        expect.objectContaining({ code: "E_INVALID_CONFIGURATION" }),
      );
    }
  });

  test("S9 a token whose exp, nbf or iat is not a finite number is not signed", () => {
    const key = new SigningKey("HS512", SECRET);
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, "60", null, new Date()]) {
      for (const name of ["exp", "nbf", "iat"]) {
        expect(() => signJwt({ [name]: value } as JwtClaims, key)).toThrow(
          expect.objectContaining({ code: "E_JWT_CLAIMS" }),
        );
      }
    }
  });
});
