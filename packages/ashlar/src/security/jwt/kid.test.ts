import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { describe, expect, test } from "vitest";
import { EC, judge, NOW, SECRET, segment } from "../../../test/support/jwt-forgery.ts";
import { jwkThumbprint, SigningKey, signJwt, tryVerifyJwt, VerificationKey } from "./index.ts";

const OTHER = generateKeyPairSync("ec", { namedCurve: "P-256" });

function named(pair: { publicKey: KeyObject }, kid: string) {
  return new VerificationKey("ES256", { ...pair.publicKey.export({ format: "jwk" }), kid });
}

function unnamed(pair: { publicKey: KeyObject }) {
  return new VerificationKey("ES256", pair.publicKey);
}

/** A token with a header of any shape, signed by a private key. */
function signed(header: object, { privateKey } = EC): string {
  const input = `${segment(JSON.stringify({ alg: "ES256", typ: "JWT", ...header }))}.${segment("{}")}`;
  const signature = sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${input}.${signature.toString("base64url")}`;
}

function headerOf(token: string): unknown {
  return JSON.parse(Buffer.from(token.slice(0, token.indexOf(".")), "base64url").toString());
}

describe("signing", () => {
  test("the header names the private key: by the name of its JWK, otherwise by its thumbprint", () => {
    const jwk = EC.privateKey.export({ format: "jwk" });
    const token = signJwt({ sub: "1" }, new SigningKey("ES256", EC.privateKey));
    expect(headerOf(token)).toEqual({ alg: "ES256", typ: "JWT", kid: jwkThumbprint(jwk) });
    const own = new SigningKey("ES256", { ...jwk, kid: 'the "first"' });
    expect(own.kid).toBe('the "first"');
    expect(headerOf(signJwt({}, own))).toEqual({ alg: "ES256", typ: "JWT", kid: 'the "first"' });
    expect(headerOf(signJwt({}, own, { typ: "at+jwt" }))).toEqual({ alg: "ES256", typ: "at+jwt", kid: 'the "first"' });
  });

  test("a token that is signed with a secret is the same, byte for byte, as it has always been", () => {
    const input = `${segment('{"alg":"HS512","typ":"JWT"}')}.${segment(`{"sub":"1","iat":${NOW}}`)}`;
    const expected = `${input}.${createHmac("sha512", SECRET).update(input).digest("base64url")}`;
    expect(signJwt({ sub: "1" }, new SigningKey("HS512", SECRET), { now: NOW })).toBe(expected);
    const jwk = { kty: "oct", kid: "a", k: SECRET.toString("base64url") };
    expect(new SigningKey("HS512", jwk).kid).toBeNull();
    expect(signJwt({ sub: "1" }, new SigningKey("HS512", jwk), { now: NOW })).toBe(expected);
  });
});

describe("verifying", () => {
  test("S4 a token that names one of the keys is only verified with that key", () => {
    const keys = [named(OTHER, "other"), named(EC, "own")];
    expect(judge(signed({ kid: "own" }), keys)).toBe("accepted");
    expect(judge(signed({ kid: "other" }), keys)).toBe("signature");
    expect(judge(signed({ kid: "own" }, OTHER), keys)).toBe("signature");
  });

  test("S4 a token that names none of the keys is refused, if all of them have names", () => {
    const keys = [named(OTHER, "other"), named(EC, "own")];
    for (const kid of ["", "OWN", "own ", "__proto__", null, 5, ["own"], { own: true }, true]) {
      expect(judge(signed({ kid }), keys)).toBe("unknown_key");
    }
  });

  test("S4 a key without a name verifies tokens that name no other key, and a name never adds a key", () => {
    const keys = [named(OTHER, "other"), unnamed(EC)];
    expect(judge(signed({ kid: "anything" }), keys)).toBe("accepted");
    expect(judge(signed({ kid: "other" }), keys)).toBe("signature");
    expect(judge(signed({ kid: "anything" }, OTHER), keys)).toBe("signature");
    const attacker = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const kid = jwkThumbprint(attacker.publicKey.export({ format: "jwk" }));
    expect(judge(signed({ kid }, attacker), keys)).toBe("signature");
  });

  test("a token without kid is verified with every key", () => {
    const keys = [named(OTHER, "other"), named(EC, "own")];
    expect(judge(signed({}), keys)).toBe("accepted");
    expect(judge(signed({}, OTHER), keys)).toBe("accepted");
  });

  test("a key is also known by its thumbprint, whatever its name", () => {
    const kid = jwkThumbprint(EC.publicKey.export({ format: "jwk" }));
    expect(judge(signed({ kid }), [named(OTHER, "other"), named(EC, "own")])).toBe("accepted");
    expect(judge(signed({ kid }), unnamed(EC))).toBe("accepted");
    expect(judge(signed({ kid }, OTHER), [named(OTHER, "other"), unnamed(EC)])).toBe("signature");
  });

  test("S1 S4 the algorithm is checked before the name", () => {
    const token = signed({ kid: "own", alg: "HS256" });
    expect(judge(token, [named(EC, "own")])).toBe("algorithm");
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const both = [
      named(EC, "own"),
      new VerificationKey("RS256", { ...rsa.publicKey.export({ format: "jwk" }), kid: "rsa" }),
    ];
    expect(judge(signed({ kid: "rsa" }), both)).toBe("unknown_key");
  });

  test("the outcome is the same for the header that signJwt writes and for another spelling of it", () => {
    const key = new VerificationKey("ES256", { ...EC.publicKey.export({ format: "jwk" }), kid: "own" });
    const usual = signJwt({}, new SigningKey("ES256", { ...EC.privateKey.export({ format: "jwk" }), kid: "own" }), {
      now: NOW,
    });
    for (const token of [usual, signed({ kid: "own" }), signed({ kid: "own", cty: "x" })]) {
      expect(tryVerifyJwt(token, [key, unnamed(OTHER)], { clock: () => NOW })).toHaveProperty("claims");
    }
  });
});
