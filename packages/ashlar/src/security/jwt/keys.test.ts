import { createSecretKey, generateKeyPairSync, type KeyObject, randomBytes, webcrypto } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { JwtAlgorithm } from "./algorithms.ts";
import type { KeyMaterial } from "./key-material.ts";
import { keyList, SigningKey, VerificationKey } from "./keys.ts";
import { signJwt } from "./sign.ts";
import { tryVerifyJwt, verifyJwt } from "./verify.ts";

const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 });
const RSA_PSS = generateKeyPairSync("rsa-pss", { modulusLength: 2048 });
const P256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const P384 = generateKeyPairSync("ec", { namedCurve: "P-384" });
const P521 = generateKeyPairSync("ec", { namedCurve: "P-521" });
const ED25519 = generateKeyPairSync("ed25519");
const ED448 = generateKeyPairSync("ed448");
const X25519 = generateKeyPairSync("x25519");

const PAIRS: readonly [JwtAlgorithm, { privateKey: KeyObject; publicKey: KeyObject }][] = [
  ["RS256", RSA],
  ["RS384", RSA],
  ["RS512", RSA],
  ["PS256", RSA],
  ["PS384", RSA],
  ["PS512", RSA],
  ["PS256", RSA_PSS],
  ["ES256", P256],
  ["ES384", P384],
  ["ES512", P521],
  ["EdDSA", ED25519],
  ["EdDSA", ED448],
  ["Ed25519", ED25519],
  ["Ed448", ED448],
];

function pem(key: KeyObject): string {
  return key.type === "private"
    ? key.export({ type: "pkcs8", format: "pem" }).toString()
    : key.export({ type: "spki", format: "pem" }).toString();
}

function boundPair(hash: string, saltLength: number, mgf1Hash = hash): { privateKey: KeyObject; publicKey: KeyObject } {
  return generateKeyPairSync("rsa-pss", {
    modulusLength: 2048,
    hashAlgorithm: hash,
    mgf1HashAlgorithm: mgf1Hash,
    // The option is declared as a string, but Node requires a number.
    saltLength: saltLength as unknown as string,
  });
}

/** The code of the error that creating the key fails with, for both signing and verifying; `null` if it succeeds. */
function refusal(algorithm: JwtAlgorithm, key: unknown): string | null {
  const codes = [SigningKey, VerificationKey].map((Key) => {
    try {
      new Key(algorithm, key as KeyMaterial);
      return null;
    } catch (error) {
      return (error as { code: string }).code;
    }
  });
  expect(codes[0]).toBe(codes[1]);
  return codes[0] ?? null;
}

describe.each(PAIRS)("the key pair of %s", (algorithm, pair) => {
  const verifies = (signing: KeyMaterial, verification: KeyMaterial) =>
    new VerificationKey(algorithm, verification).verifies(
      `head.body.${new SigningKey(algorithm, signing).sign("head.body")}`,
      9,
    );

  test("PEM, PEM bytes, KeyObject and JWK give the same key, and a private key can replace its public key", () => {
    const hasJwk = pair.privateKey.asymmetricKeyType !== "rsa-pss";
    for (const signing of [
      pair.privateKey,
      pem(pair.privateKey),
      new Uint8Array(Buffer.from(pem(pair.privateKey))),
      ...(hasJwk ? [pair.privateKey.export({ format: "jwk" })] : []),
    ]) {
      expect(verifies(signing, signing)).toBe(true);
      expect(verifies(signing, pair.publicKey)).toBe(true);
      expect(verifies(signing, pem(pair.publicKey))).toBe(true);
      if (hasJwk) expect(verifies(signing, pair.publicKey.export({ format: "jwk" }))).toBe(true);
    }
  });

  test("S6 a signature verifies only in its canonical encoding", () => {
    const key = new VerificationKey(algorithm, pair.publicKey);
    const signature = new SigningKey(algorithm, pair.privateKey).sign("head.body");
    const spellings = [signature, `${signature}=`, `${signature}\n`, ` ${signature}`, "", "!", "é".repeat(86)];
    expect(spellings.map((spelling) => key.verifies(`head.body.${spelling}`, 9))).toEqual([
      true,
      ...Array(6).fill(false),
    ]);
  });

  test("a public key cannot sign", () => {
    expect(() => new SigningKey(algorithm, pair.publicKey)).toThrow(expect.objectContaining({ code: "E_JWT_KEY" }));
    expect(() => new SigningKey(algorithm, pem(pair.publicKey))).toThrow(/needs a private key/);
  });

  test("S2 a secret is refused as a key pair", () => {
    for (const secret of [
      "a".repeat(64),
      randomBytes(64),
      createSecretKey(randomBytes(64)),
      { kty: "oct", k: "A".repeat(86) },
    ]) {
      expect(refusal(algorithm, secret)).toBe("E_JWT_KEY");
    }
    expect(() => new VerificationKey(algorithm, createSecretKey(randomBytes(64)))).toThrow(/was given a secret/);
  });

  test("a key that cannot be parsed, or needs a passphrase, is refused with a message that does not quote it", () => {
    const locked = pair.privateKey
      .export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "open" })
      .toString();
    for (const broken of [locked, "-----BEGIN PRIVATE KEY-----\nsecretword\n-----END PRIVATE KEY-----", "-----BEGIN"]) {
      expect(refusal(algorithm, broken)).toBe("E_JWT_KEY");
      expect(() => new VerificationKey(algorithm, broken)).toThrow(/^((?!secretword).)*$/s);
    }
  });
});

describe("matching key pairs and algorithms", () => {
  test("S2 a key of another kind or curve is refused", () => {
    const kinds = { RSA, RSA_PSS, P256, P384, P521, ED25519, ED448, X25519 };
    const fits: Record<string, readonly string[]> = {
      RS256: ["RSA"],
      RS384: ["RSA"],
      RS512: ["RSA"],
      PS256: ["RSA", "RSA_PSS"],
      PS384: ["RSA", "RSA_PSS"],
      PS512: ["RSA", "RSA_PSS"],
      ES256: ["P256"],
      ES384: ["P384"],
      ES512: ["P521"],
      EdDSA: ["ED25519", "ED448"],
      Ed25519: ["ED25519"],
      Ed448: ["ED448"],
    };
    const found = Object.fromEntries(
      Object.keys(fits).map((algorithm) => [
        algorithm,
        Object.entries(kinds)
          .filter(([, { privateKey }]) => refusal(algorithm as JwtAlgorithm, privateKey) === null)
          .map(([name]) => name),
      ]),
    );
    expect(found).toEqual(fits);
  });

  test.each(["Ed25519", "EdDSA"] as const)(
    "a key that WebCrypto exports signs and verifies as %s",
    async (algorithm) => {
      const pair = (await webcrypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
      const privateJwk = await webcrypto.subtle.exportKey("jwk", pair.privateKey);
      const publicJwk = await webcrypto.subtle.exportKey("jwk", pair.publicKey);
      expect(privateJwk.alg).toBe("Ed25519");
      const token = signJwt({ sub: "1" }, new SigningKey(algorithm, privateJwk));
      expect(verifyJwt(token, new VerificationKey(algorithm, publicJwk))).toMatchObject({ sub: "1" });
      // The key still fits only one algorithm. A token has the name that the key was created with.
      const other = algorithm === "EdDSA" ? "Ed25519" : "EdDSA";
      expect(tryVerifyJwt(token, new VerificationKey(other, publicJwk))).toEqual({ failure: "algorithm" });
    },
  );

  test("a JWK whose alg names another curve, or another algorithm, is refused", () => {
    const jwk = ED25519.privateKey.export({ format: "jwk" });
    const fits = ["EdDSA", "Ed25519", "Ed448", "ES256", "ed25519", ""].map((alg) =>
      (["EdDSA", "Ed25519", "Ed448"] as const).filter((name) => refusal(name, { ...jwk, alg }) === null),
    );
    expect(fits).toEqual([["EdDSA", "Ed25519"], ["EdDSA", "Ed25519"], [], [], [], []]);
  });

  test("S2 a JWK of another kind is refused, whatever its other members say", () => {
    const ec = P256.publicKey.export({ format: "jwk" });
    for (const kty of ["OKP", "oct", "", undefined, ["EC"]]) {
      expect(() => new VerificationKey("ES256", { ...ec, kty } as KeyMaterial)).toThrow(/whose "kty" is "EC"/);
    }
    expect(() => new VerificationKey("HS256", { kty: "EC", k: "A".repeat(86) })).toThrow(/whose "kty" is "oct"/);
    // The names for Ed25519 have no meaning for other curves.
    for (const alg of ["EdDSA", "P-256"])
      expect(refusal("ES256", { ...P256.privateKey.export({ format: "jwk" }), alg })).toBe("E_JWT_KEY");
  });

  test("text that is not a key is refused with a message that lists the accepted forms", () => {
    for (const key of ["MFkwEwYHKoZIzj0CAQ", randomBytes(91)]) {
      expect(() => new VerificationKey("ES256", key)).toThrow(/needs a key in PEM or JWK form, or a KeyObject/);
    }
  });

  test("an RSA key's public exponent must be odd and at least 3", () => {
    const jwk = RSA.publicKey.export({ format: "jwk" });
    const accepted = [1, 2, 3, 4, 5, 65_536, 65_537].filter((exponent) => {
      const e = Buffer.from(exponent.toString(16).padStart(6, "0"), "hex").toString("base64url");
      try {
        return new VerificationKey("RS256", { ...jwk, e }).algorithm === "RS256";
      } catch (error) {
        expect(error).toMatchObject({ code: "E_JWT_KEY", message: expect.stringContaining("public exponent") });
        return false;
      }
    });
    expect(accepted).toEqual([3, 5, 65_537]);
  });

  test("an RSA key with the ROCA fingerprint is refused, unless it lacks the fingerprint modulo a single prime", () => {
    const primes = [11n, 13n, 17n, 19n, 37n, 53n, 61n, 71n, 73n, 79n, 97n, 103n, 107n, 109n, 127n, 151n, 157n];
    const product = primes.reduce((a, b) => a * b);
    const create = (modulus: bigint) => {
      const n = Buffer.from(modulus.toString(16), "hex").toString("base64url");
      return new VerificationKey("RS256", { kty: "RSA", n, e: "AQAB" }).algorithm;
    };
    // A modulus of 2048 bits that is odd, and congruent to one number modulo another.
    const like = (remainder: bigint, step: bigint) => remainder + (2n ** 2047n / (2n * step) + 1n) * 2n * step;
    for (const power of [65_537n, 65_537n ** 5n]) {
      expect(() => create(like(power, product))).toThrow(/known flaws \(ROCA\)/);
    }
    for (const prime of primes) {
      const powers = Array.from({ length: Number(prime) }, (_, power) => 65_537n ** BigInt(power) % prime);
      // The modulus is 1 modulo all other primes, which is a power. The loop finds one that isn't a power modulo this
      // prime.
      const step = (product / prime) * (prime + 1n);
      let modulus = like(1n, step);
      while (powers.includes(modulus % prime)) modulus += 2n * step;
      expect(create(modulus)).toBe("RS256");
    }
  });

  test("an RSA key of fewer than 2048 bits is refused", () => {
    const small = generateKeyPairSync("rsa", { modulusLength: 2040 });
    for (const algorithm of ["RS256", "PS512"] as const) {
      expect(refusal(algorithm, small.privateKey)).toBe("E_JWT_KEY");
      expect(() => new VerificationKey(algorithm, pem(small.publicKey))).toThrow(/2040 bits; at least 2048/);
    }
  });

  test("an RSA-PSS key is used only with the hash that it is bound to", () => {
    const bound = boundPair("sha384", 48);
    expect(refusal("PS384", bound.privateKey)).toBeNull();
    expect(refusal("PS256", bound.privateKey)).toBe("E_JWT_KEY");
    expect(refusal("PS512", bound.privateKey)).toBe("E_JWT_KEY");
    const salted = boundPair("sha256", 33);
    expect(refusal("PS256", salted.privateKey)).toBe("E_JWT_KEY");
    const twofold = boundPair("sha256", 32, "sha384");
    expect(refusal("PS256", twofold.privateKey)).toBe("E_JWT_KEY");
    expect(refusal("PS384", twofold.privateKey)).toBe("E_JWT_KEY");
  });

  test("a JWK must allow the use, and a private key that may sign may also verify", () => {
    const jwk = P256.privateKey.export({ format: "jwk" });
    const open = P256.publicKey.export({ format: "jwk" });
    expect(refusal("ES256", { ...jwk, key_ops: ["sign"] })).toBeNull();
    expect(refusal("ES256", { ...jwk, key_ops: ["deriveBits"] })).toBe("E_JWT_KEY");
    expect(refusal("ES256", { ...jwk, use: "enc" })).toBe("E_JWT_KEY");
    expect(refusal("ES256", { ...jwk, alg: "ES384" })).toBe("E_JWT_KEY");
    expect(refusal("ES256", { ...jwk, crv: "P-999" })).toBe("E_JWT_KEY");
    expect(() => new VerificationKey("ES256", { ...open, key_ops: ["sign"] })).toThrow(/"verify"/);
    expect(new VerificationKey("ES256", { ...open, key_ops: ["verify"] }).algorithm).toBe("ES256");
  });

  test("a point that is not on its curve is refused", () => {
    const { x, ...rest } = P256.publicKey.export({ format: "jwk" });
    expect(() => new VerificationKey("ES256", { ...rest, x: randomBytes(32).toString("base64url") })).toThrow(
      expect.objectContaining({ code: "E_JWT_KEY" }),
    );
    expect(x).toHaveLength(43);
  });
});

describe("several keys", () => {
  const secret = () => randomBytes(64);

  test("an empty list is refused, and so is an entry that is not a prepared key", () => {
    expect(() => keyList([])).toThrow(expect.objectContaining({ code: "E_JWT_KEY" }));
    for (const wrong of ["secret", { algorithm: "HS256" }, null, [null], [new SigningKey("HS256", secret())]]) {
      expect(() => keyList(wrong as unknown as VerificationKey)).toThrow(
        expect.objectContaining({ code: "E_JWT_KEY" }),
      );
    }
  });

  test("S2 a secret and a public key cannot be listed together", () => {
    const keys = [new VerificationKey("HS256", secret()), new VerificationKey("RS256", RSA.publicKey)];
    expect(() => keyList(keys)).toThrow(/Secrets and public keys/);
    expect(() => keyList(keys.toReversed())).toThrow(/Secrets and public keys/);
  });

  test("two JWKs with the same name are refused, two without names are not", () => {
    const named = (kid?: string) =>
      new VerificationKey("HS256", {
        kty: "oct",
        k: secret().toString("base64url"),
        ...(kid === undefined ? {} : { kid }),
      });
    expect(() => keyList([named("a"), named("b"), named("a")])).toThrow(/Two keys have the "kid" "a"/);
    expect(keyList([named("a"), named("b"), named(), named()])).toHaveLength(4);
  });
});

test("S1 an algorithm that does not exist is refused for signing and for verifying", () => {
  for (const name of ["none", "None", "HS1", "__proto__"]) {
    expect(refusal(name as JwtAlgorithm, randomBytes(64))).toBe("E_JWT_ALGORITHM");
  }
});

test("a prepared key shows its algorithm but not its secret", () => {
  const secret = randomBytes(64).toString("hex");
  for (const key of [new SigningKey("HS512", secret), new VerificationKey("HS512", secret)]) {
    const shown = `${inspect(key, { depth: 9, showHidden: true })}${JSON.stringify(key)}${String(key)}`;
    expect(shown).toContain("HS512");
    expect(shown).not.toContain(secret);
    expect(shown).not.toContain(Buffer.from(secret).toString("hex"));
  }
});
