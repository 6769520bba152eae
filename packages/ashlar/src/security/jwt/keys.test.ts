import { createSecretKey, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { JwtAlgorithm } from "./algorithms.ts";
import type { KeyMaterial } from "./key-material.ts";
import { createSigningKey, createVerificationKey, keyList, type VerificationKey } from "./keys.ts";

const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 });
const RSA_PSS = generateKeyPairSync("rsa-pss", { modulusLength: 2048 });
const P256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const P384 = generateKeyPairSync("ec", { namedCurve: "P-384" });
const P521 = generateKeyPairSync("ec", { namedCurve: "P-521" });
const ED25519 = generateKeyPairSync("ed25519");
const ED448 = generateKeyPairSync("ed448");
const X25519 = generateKeyPairSync("x25519");

const HMAC: readonly [JwtAlgorithm, number][] = [
  ["HS256", 32],
  ["HS384", 48],
  ["HS512", 64],
];
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
];

function pem(key: KeyObject): string {
  return key.type === "private"
    ? key.export({ type: "pkcs8", format: "pem" }).toString()
    : key.export({ type: "spki", format: "pem" }).toString();
}

function boundPair(hash: string, saltLength: number): { privateKey: KeyObject; publicKey: KeyObject } {
  return generateKeyPairSync("rsa-pss", {
    modulusLength: 2048,
    hashAlgorithm: hash,
    mgf1HashAlgorithm: hash,
    // The declared type of this option is a text; Node asks for a number.
    saltLength: saltLength as unknown as string,
  });
}

/** The code of the error that making the key ends with, the same for signing and verifying; `null` where it is made. */
function refusal(algorithm: JwtAlgorithm, key: unknown): string | null {
  const codes = [createSigningKey, createVerificationKey].map((create) => {
    try {
      create(algorithm, key as KeyMaterial);
      return null;
    } catch (error) {
      return (error as { code: string }).code;
    }
  });
  expect(codes[0]).toBe(codes[1]);
  return codes[0] ?? null;
}

describe.each(HMAC)("the secret of %s", (algorithm, bytes) => {
  test("S2 it has at least the length of the hash", () => {
    expect(refusal(algorithm, randomBytes(bytes))).toBeNull();
    expect(refusal(algorithm, randomBytes(bytes + 100))).toBeNull();
    expect(refusal(algorithm, randomBytes(bytes - 1))).toBe("E_WEAK_SECRET");
    expect(refusal(algorithm, "a".repeat(bytes - 1))).toBe("E_WEAK_SECRET");
  });

  test("S2 it is not empty, in whatever form it is given", () => {
    for (const empty of [
      "",
      new Uint8Array(),
      Buffer.alloc(0),
      createSecretKey(Buffer.alloc(0)),
      { kty: "oct", k: "" },
    ]) {
      expect(refusal(algorithm, empty)).toBe("E_WEAK_SECRET");
    }
  });

  test("the length of a text is that of its UTF-8", () => {
    expect(refusal(algorithm, "é".repeat(bytes / 2))).toBeNull();
    expect(refusal(algorithm, "é".repeat(bytes / 2 - 1))).toBe("E_WEAK_SECRET");
  });

  test("text, bytes, KeyObject and JWK of the same secret make the same signature", () => {
    const secret = randomBytes(bytes).toString("hex");
    const forms: KeyMaterial[] = [
      secret,
      new TextEncoder().encode(secret),
      createSecretKey(Buffer.from(secret)),
      { kty: "oct", k: Buffer.from(secret).toString("base64url"), alg: algorithm, use: "sig", key_ops: ["sign"] },
    ];
    const signatures = forms.map((form) => createSigningKey(algorithm, form).sign("head.body"));
    expect(new Set(signatures).size).toBe(1);
  });

  test("bytes that change later do not change the key", () => {
    const secret = randomBytes(bytes);
    const key = createSigningKey(algorithm, secret);
    const before = key.sign("head.body");
    secret.fill(0);
    expect(key.sign("head.body")).toBe(before);
  });

  test("S2 it is no public or private key, in any form that keys are kept in", () => {
    for (const { privateKey, publicKey } of [RSA, P256, ED25519]) {
      const der = publicKey.export({ type: "spki", format: "der" });
      const forms: unknown[] = [
        publicKey,
        privateKey,
        pem(publicKey),
        pem(privateKey),
        Buffer.from(pem(publicKey)),
        `  \n${pem(publicKey)}`,
        `KEY=${pem(publicKey).replaceAll("\n", "\\n")}`,
        createSecretKey(Buffer.from(pem(publicKey))),
        JSON.stringify(publicKey.export({ format: "jwk" })),
        `\uFEFF ${JSON.stringify(publicKey.export({ format: "jwk" }), null, 2)}\n`,
        JSON.stringify({ keys: [publicKey.export({ format: "jwk" })] }),
        JSON.stringify({ keys: [], comment: "a set without a key is one nonetheless" }),
        publicKey.export({ format: "jwk" }),
        privateKey.export({ format: "jwk" }),
        privateKey.export({ type: "pkcs8", format: "der" }),
      ];
      // An Ed25519 key in DER is shorter than the secret of HS384 and HS512 has to be, which is an end as well.
      if (der.length >= bytes) forms.push(der, der.toString("base64"), createSecretKey(der));
      for (const form of forms) expect(refusal(algorithm, form)).toBe("E_JWT_KEY");
    }
  });

  test("S2 it is no key in the older forms, with or without their first and last line", () => {
    const bodies = [
      RSA.publicKey.export({ type: "pkcs1", format: "der" }),
      RSA.privateKey.export({ type: "pkcs1", format: "der" }),
      P256.privateKey.export({ type: "sec1", format: "der" }),
    ];
    for (const body of bodies) {
      expect(refusal(algorithm, body)).toBe("E_JWT_KEY");
      expect(
        refusal(
          algorithm,
          `${body
            .toString("base64")
            .match(/.{1,64}/g)
            ?.join("\n")}\n`,
        ),
      ).toBe("E_JWT_KEY");
    }
    expect(refusal(algorithm, `ssh-ed25519 ${"A".repeat(68)} someone@host`)).toBe("E_JWT_KEY");
    expect(refusal(algorithm, `ecdsa-sha2-nistp256 ${"A".repeat(68)} someone@host`)).toBe("E_JWT_KEY");
  });

  test("S2 a JWK or a set of them, even too short for a secret, is named as what it is", () => {
    expect(refusal(algorithm, '{"kty":"oct","k":"AA"}')).toBe("E_JWT_KEY");
    expect(refusal(algorithm, '{"keys":[]}')).toBe("E_JWT_KEY");
    expect(refusal(algorithm, { keys: [{ kty: "oct", k: "A".repeat(200) }] })).toBe("E_JWT_KEY");
  });

  test("JSON that is no JWK, and base64 that is no key, are secrets like any other", () => {
    expect(refusal(algorithm, JSON.stringify({ secret: "x".repeat(80) }))).toBeNull();
    expect(refusal(algorithm, JSON.stringify("x".repeat(80)))).toBeNull();
    expect(refusal(algorithm, "1".repeat(80))).toBeNull();
    for (let round = 0; round < 200; round++) {
      expect(refusal(algorithm, `0${randomBytes(64).toString("base64")}`)).toBeNull();
      expect(refusal(algorithm, Buffer.concat([Buffer.from([0x30, 0x3e]), randomBytes(62)]))).toBeNull();
    }
  });

  test("a JWK must allow the use and hold the secret in base64url", () => {
    const k = randomBytes(64).toString("base64url");
    const create = (jwk: object) => refusal(algorithm, jwk);
    expect(create({ kty: "oct", k })).toBeNull();
    expect(create({ kty: "oct", k, alg: algorithm, use: "sig", key_ops: ["verify", "sign"] })).toBeNull();
    expect(create({ kty: "oct" })).toBe("E_JWT_KEY");
    expect(create({ kty: "oct", k: `${k}=` })).toBe("E_JWT_KEY");
    expect(create({ kty: "oct", k: 5 })).toBe("E_JWT_KEY");
    expect(create({ kty: "oct", k, alg: "HS1" })).toBe("E_JWT_KEY");
    expect(create({ kty: "oct", k, use: "enc" })).toBe("E_JWT_KEY");
    expect(create({ kty: "oct", k, key_ops: ["encrypt"] })).toBe("E_JWT_KEY");
    expect(create({ kty: "oct", k, key_ops: "sign verify" })).toBe("E_JWT_KEY");
    expect(() => createVerificationKey(algorithm, { kty: "oct", k, key_ops: ["sign"] })).toThrow(/"verify"/);
    expect(() => createSigningKey(algorithm, { kty: "oct", k, key_ops: ["verify"] })).toThrow(/"sign"/);
  });

  test("what is no key material at all is refused", () => {
    for (const nothing of [null, undefined, 64, true, [], {}, () => "secret", Symbol("secret")]) {
      expect(refusal(algorithm, nothing)).toBe("E_JWT_KEY");
    }
  });
});

describe.each(PAIRS)("the key pair of %s", (algorithm, pair) => {
  const verifies = (signing: KeyMaterial, verification: KeyMaterial) =>
    createVerificationKey(algorithm, verification).verifies(
      `head.body.${createSigningKey(algorithm, signing).sign("head.body")}`,
      9,
    );

  test("PEM, PEM in bytes, KeyObject and JWK are the same key, and a private key stands for its public key", () => {
    const hasJwk = pair.privateKey.asymmetricKeyType !== "rsa-pss";
    for (const signing of [
      pair.privateKey,
      pem(pair.privateKey),
      Buffer.from(pem(pair.privateKey)),
      ...(hasJwk ? [pair.privateKey.export({ format: "jwk" })] : []),
    ]) {
      expect(verifies(signing, signing)).toBe(true);
      expect(verifies(signing, pair.publicKey)).toBe(true);
      expect(verifies(signing, pem(pair.publicKey))).toBe(true);
      if (hasJwk) expect(verifies(signing, pair.publicKey.export({ format: "jwk" }))).toBe(true);
    }
  });

  test("a public key cannot sign", () => {
    expect(() => createSigningKey(algorithm, pair.publicKey)).toThrow(expect.objectContaining({ code: "E_JWT_KEY" }));
    expect(() => createSigningKey(algorithm, pem(pair.publicKey))).toThrow(/needs a private key/);
  });

  test("S2 a secret is no key pair", () => {
    for (const secret of [
      "a".repeat(64),
      randomBytes(64),
      createSecretKey(randomBytes(64)),
      { kty: "oct", k: "A".repeat(86) },
    ]) {
      expect(refusal(algorithm, secret)).toBe("E_JWT_KEY");
    }
  });

  test("a key that cannot be read, or needs a passphrase, is refused without a word of it in the message", () => {
    const locked = pair.privateKey
      .export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "open" })
      .toString();
    for (const broken of [locked, "-----BEGIN PRIVATE KEY-----\nsecretword\n-----END PRIVATE KEY-----", "-----BEGIN"]) {
      expect(refusal(algorithm, broken)).toBe("E_JWT_KEY");
      expect(() => createVerificationKey(algorithm, broken)).toThrow(/^((?!secretword).)*$/s);
    }
  });
});

describe("which key pair fits which algorithm", () => {
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

  test("an RSA key of fewer than 2048 bits is refused", () => {
    const small = generateKeyPairSync("rsa", { modulusLength: 2040 });
    for (const algorithm of ["RS256", "PS512"] as const) {
      expect(refusal(algorithm, small.privateKey)).toBe("E_JWT_KEY");
      expect(() => createVerificationKey(algorithm, pem(small.publicKey))).toThrow(/2040 bits, and 2048 are the least/);
    }
  });

  test("an RSA-PSS key is used with the hash that it is bound to, and no other", () => {
    const bound = boundPair("sha384", 48);
    expect(refusal("PS384", bound.privateKey)).toBeNull();
    expect(refusal("PS256", bound.privateKey)).toBe("E_JWT_KEY");
    expect(refusal("PS512", bound.privateKey)).toBe("E_JWT_KEY");
    const salted = boundPair("sha256", 33);
    expect(refusal("PS256", salted.privateKey)).toBe("E_JWT_KEY");
  });

  test("a JWK must allow the use, and a private key that may sign may verify as well", () => {
    const jwk = P256.privateKey.export({ format: "jwk" });
    const open = P256.publicKey.export({ format: "jwk" });
    expect(refusal("ES256", { ...jwk, key_ops: ["sign"] })).toBeNull();
    expect(refusal("ES256", { ...jwk, key_ops: ["deriveBits"] })).toBe("E_JWT_KEY");
    expect(refusal("ES256", { ...jwk, use: "enc" })).toBe("E_JWT_KEY");
    expect(refusal("ES256", { ...jwk, alg: "ES384" })).toBe("E_JWT_KEY");
    expect(refusal("ES256", { ...jwk, crv: "P-999" })).toBe("E_JWT_KEY");
    expect(() => createVerificationKey("ES256", { ...open, key_ops: ["sign"] })).toThrow(/"verify"/);
    expect(createVerificationKey("ES256", { ...open, key_ops: ["verify"] }).algorithm).toBe("ES256");
  });

  test("a point that is not on its curve is refused", () => {
    const { x, ...rest } = P256.publicKey.export({ format: "jwk" });
    expect(() => createVerificationKey("ES256", { ...rest, x: randomBytes(32).toString("base64url") })).toThrow(
      expect.objectContaining({ code: "E_JWT_KEY" }),
    );
    expect(x).toHaveLength(43);
  });
});

describe("several keys", () => {
  const secret = () => randomBytes(64);

  test("none at all is refused, and so is what is no prepared key", () => {
    expect(() => keyList([])).toThrow(expect.objectContaining({ code: "E_JWT_KEY" }));
    for (const wrong of ["secret", { algorithm: "HS256" }, null, [null], [createSigningKey("HS256", secret())]]) {
      expect(() => keyList(wrong as unknown as VerificationKey)).toThrow(
        expect.objectContaining({ code: "E_JWT_KEY" }),
      );
    }
  });

  test("S2 a secret never stands next to a public key", () => {
    const keys = [createVerificationKey("HS256", secret()), createVerificationKey("RS256", RSA.publicKey)];
    expect(() => keyList(keys)).toThrow(/Secrets and public keys/);
    expect(() => keyList(keys.toReversed())).toThrow(/Secrets and public keys/);
  });

  test("two JWKs of one name are refused, two without a name are not", () => {
    const named = (kid?: string) =>
      createVerificationKey("HS256", {
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

test("a prepared key shows its algorithm and nothing of its secret", () => {
  const secret = randomBytes(64).toString("hex");
  for (const key of [createSigningKey("HS512", secret), createVerificationKey("HS512", secret)]) {
    const shown = `${inspect(key, { depth: 9, showHidden: true })}${JSON.stringify(key)}${String(key)}`;
    expect(shown).toContain("HS512");
    expect(shown).not.toContain(secret);
    expect(shown).not.toContain(Buffer.from(secret).toString("hex"));
  }
});
