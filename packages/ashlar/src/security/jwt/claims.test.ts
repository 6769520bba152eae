import { describe, expect, test } from "vitest";
import { brokenRule, hasClaimTypes, type JwtClaims } from "./verify.ts";

describe("the types of claims", () => {
  test.each(["exp", "nbf", "iat"])("S7 %s must be a finite number if present", (name) => {
    for (const value of [0, -0, -1, 1.5, 1e15, Number.MAX_VALUE]) expect(hasClaimTypes({ [name]: value })).toBe(true);
    for (const value of [
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.NaN,
      null,
      "1",
      "",
      true,
      [],
      [1],
      {},
    ]) {
      expect(hasClaimTypes({ [name]: value })).toBe(false);
    }
  });

  test.each(["sub", "iss", "jti"])("S7 %s must be text if present", (name) => {
    for (const value of ["", "1", "__proto__"]) expect(hasClaimTypes({ [name]: value })).toBe(true);
    for (const value of [null, 0, 1, false, [], ["1"], {}]) expect(hasClaimTypes({ [name]: value })).toBe(false);
  });

  test("aud must be text or a list of texts if present", () => {
    for (const value of ["", "a", [], ["a"], ["a", "b"]]) expect(hasClaimTypes({ aud: value })).toBe(true);
    for (const value of [null, 1, {}, [1], ["a", null], [["a"]]]) expect(hasClaimTypes({ aud: value })).toBe(false);
  });

  test("other claims may be anything, and no claim is required", () => {
    expect(hasClaimTypes({})).toBe(true);
    expect(hasClaimTypes({ ver: null, roles: [1, {}], name: 5 })).toBe(true);
  });
});

describe("the rules", () => {
  const NOW = 1_000;
  const broken = (claims: JwtClaims, rules = {}, now = NOW) => brokenRule(claims, rules, now);

  test("S7 a token is expired from exp on, and an exp of 0 counts as a time", () => {
    expect(broken({ exp: NOW + 1 })).toBeNull();
    expect(broken({ exp: NOW + 0.5 })).toBeNull();
    expect(broken({ exp: NOW })).toBe("expired");
    expect(broken({ exp: NOW - 1 })).toBe("expired");
    expect(broken({ exp: 0 })).toBe("expired");
    expect(broken({ exp: -1 })).toBe("expired");
    expect(broken({})).toBeNull();
  });

  test("S7 the skew does not lengthen a token's life", () => {
    expect(broken({ exp: NOW }, { clockSkewSeconds: 60 })).toBe("expired");
  });

  test.each(["iat", "nbf"])("S7 %s may be in the future by at most the skew", (name) => {
    expect(broken({ [name]: NOW })).toBeNull();
    expect(broken({ [name]: NOW + 1 })).toBe("not_yet_valid");
    expect(broken({ [name]: NOW + 60 }, { clockSkewSeconds: 60 })).toBeNull();
    expect(broken({ [name]: NOW + 60.5 }, { clockSkewSeconds: 60 })).toBe("not_yet_valid");
    expect(broken({ [name]: 0 })).toBeNull();
  });

  test("ignoreExpiry waives the expiry and nothing else", () => {
    expect(broken({ exp: 1 }, { ignoreExpiry: true })).toBeNull();
    expect(broken({ exp: 1 }, { ignoreExpiry: "yes" })).toBe("expired");
    expect(broken({ exp: 1, iat: NOW + 1 }, { ignoreExpiry: true })).toBe("not_yet_valid");
    expect(broken({ exp: 1 }, { ignoreExpiry: true, requireSubject: true })).toBe("subject");
  });

  test("every token with a time is refused if the clock returns NaN", () => {
    expect(broken({ exp: NOW }, {}, Number.NaN)).toBe("expired");
    expect(broken({ iat: 0 }, {}, Number.NaN)).toBe("not_yet_valid");
    expect(broken({ nbf: 0 }, {}, Number.NaN)).toBe("not_yet_valid");
  });

  test("the subject must be present and not empty if it is required", () => {
    expect(broken({ sub: "0" }, { requireSubject: true })).toBeNull();
    expect(broken({ sub: "" }, { requireSubject: true })).toBe("subject");
    expect(broken({}, { requireSubject: true })).toBe("subject");
    expect(broken({})).toBeNull();
  });

  test("the issuer is compared exactly", () => {
    expect(broken({ iss: "https://a" }, { issuer: "https://a" })).toBeNull();
    expect(broken({ iss: "https://A" }, { issuer: "https://a" })).toBe("issuer");
    expect(broken({ iss: "https://a/" }, { issuer: "https://a" })).toBe("issuer");
    expect(broken({}, { issuer: "https://a" })).toBe("issuer");
    expect(broken({ iss: "anybody" })).toBeNull();
  });

  test("the audience must equal the claim or an entry in its list, not a part of it", () => {
    expect(broken({ aud: "api" }, { audience: "api" })).toBeNull();
    expect(broken({ aud: ["web", "api"] }, { audience: "api" })).toBeNull();
    expect(broken({ aud: "api-admin" }, { audience: "api" })).toBe("audience");
    expect(broken({ aud: ["web"] }, { audience: "api" })).toBe("audience");
    expect(broken({ aud: [] }, { audience: "api" })).toBe("audience");
    expect(broken({}, { audience: "api" })).toBe("audience");
  });

  test("of several broken rules, the first in the order of the checks is reported", () => {
    const rules = { requireSubject: true, issuer: "i", audience: "a" };
    expect(broken({ exp: 0, nbf: NOW + 1 }, rules)).toBe("subject");
    expect(broken({ sub: "1", exp: 0, nbf: NOW + 1 }, rules)).toBe("issuer");
    expect(broken({ sub: "1", iss: "i", exp: 0, nbf: NOW + 1 }, rules)).toBe("audience");
    expect(broken({ sub: "1", iss: "i", aud: "a", exp: 0, nbf: NOW + 1 }, rules)).toBe("not_yet_valid");
    expect(broken({ sub: "1", iss: "i", aud: "a", exp: 0 }, rules)).toBe("expired");
  });
});
