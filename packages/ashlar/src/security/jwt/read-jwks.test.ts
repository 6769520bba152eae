import { generateKeyPairSync, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { jwks, PAIR_ALGORITHMS, readJwks, SigningKey, signJwt, tryVerifyJwt, VerificationKey } from "./index.ts";

const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 });
const P256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ED25519 = generateKeyPairSync("ed25519");
const rsa = RSA.publicKey.export({ format: "jwk" });
const ec = P256.publicKey.export({ format: "jwk" });
const okp = ED25519.publicKey.export({ format: "jwk" });

const namesOf = (document: unknown, algorithms = PAIR_ALGORITHMS) => {
  const { keys, ignored } = readJwks(document, algorithms, 100);
  return { keys: keys.map(({ algorithm, kid }) => `${algorithm} ${kid}`), ignored };
};

test("what jwks() writes is read again, and verifies", () => {
  const written = JSON.parse(JSON.stringify(jwks([new VerificationKey("ES256", P256.privateKey)])));
  const { keys, ignored } = readJwks(written, ["ES256"], 100);
  expect(ignored).toBe(0);
  expect(tryVerifyJwt(signJwt({}, new SigningKey("ES256", P256.privateKey)), keys)).toHaveProperty("claims");
});

test("a key is used for its alg, or for each algorithm that it fits", () => {
  expect(namesOf({ keys: [{ ...rsa, kid: "a" }] }, ["RS256", "PS256", "ES256"])).toEqual({
    keys: ["RS256 a", "PS256 a"],
    ignored: 0,
  });
  expect(namesOf({ keys: [{ ...rsa, kid: "a", alg: "PS256" }] }, ["RS256", "PS256"]).keys).toEqual(["PS256 a"]);
  expect(namesOf({ keys: [{ ...okp, kid: "a", alg: "EdDSA" }] }).keys).toEqual(["EdDSA a", "Ed25519 a"]);
  expect(namesOf({ keys: [{ ...ec, kid: "a", alg: "ES256" }] }, ["RS256"])).toEqual({ keys: [], ignored: 1 });
});

describe("S103 entries that cannot be used are ignored", () => {
  test.each<[string, unknown]>([
    ["a secret", { kty: "oct", k: randomBytes(64).toString("base64url"), alg: "HS256" }],
    ["a private key, which others know", { ...P256.privateKey.export({ format: "jwk" }) }],
    ["a key with a member of a secret", { ...ec, k: "AAAA" }],
    ["a key for encryption", { ...rsa, use: "enc" }],
    ["a key for other operations", { ...rsa, key_ops: ["encrypt"] }],
    ["a key for another algorithm", { ...rsa, alg: "RSA-OAEP" }],
    ["the algorithm none", { ...rsa, alg: "none" }],
    ["an unknown type", { kty: "AKP", alg: "ML-DSA-44", pub: "AAAA" }],
    ["another curve", { ...ec, crv: "secp256k1" }],
    ["a point that is not on the curve", { ...ec, y: ec.x }],
    ["a weak modulus", { kty: "RSA", e: "AQAB", n: randomBytes(128).toString("base64url") }],
    ["a modulus that makes verification slow", { kty: "RSA", e: "AQAB", n: randomBytes(2048).toString("base64url") }],
    ["an exponent that makes verification slow", { ...rsa, e: randomBytes(64).toString("base64url") }],
    ["a modulus that is not text", { ...rsa, n: [rsa.n] }],
    ["a name that is not text", { ...ec, kid: 5 }],
    ["an endless name", { ...ec, kid: "a".repeat(10_000) }],
    ["text", "key"],
    ["null", null],
    ["a list", [ec]],
    ["nothing but a prototype", JSON.parse('{"__proto__":{"kty":"EC"}}')],
  ])("%s", (_, entry) => {
    expect(namesOf({ keys: [entry, { ...okp, kid: "good", alg: "Ed25519" }] })).toEqual({
      keys: ["EdDSA good", "Ed25519 good"],
      ignored: 1,
    });
  });

  test("the second of two keys with the same name", () => {
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
    const document = {
      keys: [
        { ...ec, kid: "a" },
        { ...other, kid: "a" },
        { ...rsa, kid: "a", alg: "RS256" },
      ],
    };
    expect(namesOf(document)).toEqual({ keys: ["ES256 a", "RS256 a"], ignored: 1 });
    const { keys } = readJwks(document, PAIR_ALGORITHMS, 100);
    const header = { ...P256.privateKey.export({ format: "jwk" }), kid: "a" };
    expect(tryVerifyJwt(signJwt({}, new SigningKey("ES256", header)), keys)).toHaveProperty("claims");
  });
});

test.each<[unknown]>([
  [null],
  [[]],
  ["keys"],
  [{}],
  [{ keys: {} }],
  [{ keys: null }],
  [{ key: [ec] }],
  [5],
  [[{ ...ec }]],
])("S103 %j is not a JWK Set", (document) => {
  expect(() => readJwks(document, PAIR_ALGORITHMS, 100)).toThrow(expect.objectContaining({ code: "E_JWT_KEY" }));
});

test("S103 a set with too many keys is refused completely", () => {
  expect(readJwks({ keys: Array(3).fill(ec) }, ["ES256"], 3).keys).toHaveLength(3);
  expect(() => readJwks({ keys: Array(4).fill(ec) }, ["ES256"], 3)).toThrow(/It has 4 keys; at most 3/);
});
