import { createSecretKey, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { calculateJwkThumbprint, createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { describe, expect, test } from "vitest";
import { type JwtAlgorithm, jwks, jwkThumbprint, publicJwk, SigningKey, signJwt, VerificationKey } from "./index.ts";

const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 });
const P256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ED25519 = generateKeyPairSync("ed25519");

const PAIRS: readonly [JwtAlgorithm, { privateKey: KeyObject; publicKey: KeyObject }][] = [
  ["RS256", RSA],
  ["PS512", generateKeyPairSync("rsa-pss", { modulusLength: 2048 })],
  ["PS256", generateKeyPairSync("rsa-pss", { modulusLength: 3072, publicExponent: 3 })],
  ["ES256", P256],
  ["ES384", generateKeyPairSync("ec", { namedCurve: "P-384" })],
  ["ES512", generateKeyPairSync("ec", { namedCurve: "P-521" })],
  ["EdDSA", ED25519],
  ["Ed25519", ED25519],
  ["Ed448", generateKeyPairSync("ed448")],
];

/** The members that may be published, without the private ones in RFC 7518 §6.2.2, §6.3.2 and §6.4, and RFC 8037 §2. */
const PUBLIC = ["kty", "use", "alg", "kid", "crv", "x", "y", "n", "e"];

function pem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

test("thumbprints match the examples in RFC 7638 §3.1 and RFC 8037 A.3", () => {
  const rsa = {
    kty: "RSA",
    n: "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
    e: "AQAB",
    alg: "RS256",
    kid: "2011-04-29",
  };
  expect(jwkThumbprint(rsa)).toBe("NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
  const edwards = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
  expect(jwkThumbprint(edwards)).toBe("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
});

test("S101 the thumbprint of a secret, which would reveal it, is refused, and so is that of an incomplete key", () => {
  const wrong = [
    { kty: "oct", k: "AAAA" },
    { kty: "RSA", n: "AQAB" },
    { kty: "EC", crv: "P-256", x: 1 },
    { kty: "__proto__" },
    {},
  ];
  for (const jwk of wrong) {
    expect(() => jwkThumbprint(jwk as never)).toThrow(expect.objectContaining({ code: "E_JWT_KEY" }));
  }
});

describe.each(PAIRS)("a key for %s", (algorithm, pair) => {
  test("S101 its JWK is the same from either key, and has no member of a private key", async () => {
    const hasJwk = pair.privateKey.asymmetricKeyType !== "rsa-pss";
    const forms = [
      pair.privateKey,
      pair.publicKey,
      pem(pair.privateKey),
      JSON.stringify(pem(pair.privateKey)).slice(1, -1),
      JSON.stringify(pem(pair.privateKey)),
      ...(hasJwk ? [pair.privateKey.export({ format: "jwk" }), pair.publicKey.export({ format: "jwk" })] : []),
    ];
    const [first, ...others] = forms.map((form) => publicJwk(new VerificationKey(algorithm, form)));
    for (const other of others) expect(other).toEqual(first);
    expect(Object.keys(first!).filter((name) => !PUBLIC.includes(name))).toEqual([]);
    expect(first).toMatchObject({ use: "sig", alg: algorithm, kid: await calculateJwkThumbprint(first as never) });
    if (hasJwk) expect(first).toMatchObject(pair.publicKey.export({ format: "jwk" }));
  });

  test("jose verifies its tokens by the JWK Set", async () => {
    const token = signJwt({ sub: "42" }, new SigningKey(algorithm, pair.privateKey));
    // WebCrypto, which jose uses, has no Ed448.
    if (algorithm === "Ed448") return;
    const others = PAIRS.filter(([name]) => name !== "Ed448").map(
      ([name, { publicKey }]) => new VerificationKey(name, publicKey),
    );
    const set = createLocalJWKSet(JSON.parse(JSON.stringify(jwks(others))) as JSONWebKeySet);
    const { payload, protectedHeader } = await jwtVerify(token, set);
    expect(payload.sub).toBe("42");
    expect(protectedHeader).toEqual({
      alg: algorithm,
      typ: "JWT",
      kid: publicJwk(new VerificationKey(algorithm, pair.publicKey)).kid,
    });
  });
});

test("S101 a JWK with further members is published without them, under its own name", () => {
  const jwk = {
    ...P256.privateKey.export({ format: "jwk" }),
    kid: "2026-11",
    use: "sig",
    x5u: "https://a.example",
    ext: true,
  };
  const { crv, x, y } = P256.publicKey.export({ format: "jwk" });
  expect(jwks([new VerificationKey("ES256", jwk)])).toEqual({
    keys: [{ kty: "EC", crv, x, y, use: "sig", alg: "ES256", kid: "2026-11" }],
  });
});

test("S101 a secret is never published", () => {
  for (const secret of [
    randomBytes(64),
    createSecretKey(randomBytes(64)),
    { kty: "oct", kid: "a", k: "A".repeat(86) },
  ]) {
    const key = new VerificationKey("HS512", secret);
    expect(() => publicJwk(key)).toThrow(expect.objectContaining({ code: "E_JWT_KEY" }));
    expect(() => jwks([key])).toThrow(expect.objectContaining({ code: "E_JWT_KEY" }));
  }
});

test("a key that is listed twice is published once", () => {
  const [rs, es] = [new VerificationKey("RS256", RSA.publicKey), new VerificationKey("ES256", P256.publicKey)];
  expect(jwks([rs, es, new VerificationKey("RS256", RSA.privateKey)]).keys).toEqual([publicJwk(rs), publicJwk(es)]);
});
