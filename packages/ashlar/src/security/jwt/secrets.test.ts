import { createSecretKey, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { JwtAlgorithm } from "./algorithms.ts";
import type { KeyMaterial } from "./key-material.ts";
import { SigningKey, VerificationKey } from "./keys.ts";

const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 });
const P256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ED25519 = generateKeyPairSync("ed25519");

const HMAC: readonly [JwtAlgorithm, number][] = [
  ["HS256", 32],
  ["HS384", 48],
  ["HS512", 64],
];

/** A certificate of an Ed25519 key, as text in base64. */
const CERTIFICATE =
  "MIIBLDCB36ADAgECAhQEEOKAGemjwWp/yjUzmGJkstbDNzAFBgMrZXAwDDEKMAgGA1UEAwwBYTAeFw0yNjExMjIxMTQ0NDVaFw0y" +
  "NjExMjMxMTQ0NDVaMAwxCjAIBgNVBAMMAWEwKjAFBgMrZXADIQBBBfooDiZ8lbtQn5SkAtVrbWHINkrN4SesJ25HGk5SOaNTMFEw" +
  "HQYDVR0OBBYEFICaog3EYPmhRuM16/8DxYPCBf+5MB8GA1UdIwQYMBaAFICaog3EYPmhRuM16/8DxYPCBf+5MA8GA1UdEwEB/wQF" +
  "MAMBAf8wBQYDK2VwA0EA5YLm6aI3nc38Hlg7gxdLILL6J+j8FDMt6f/4EU1dCJ20IQPp0U1WHdZtfBxwx1pgC+FT16jlpIEivGUA" +
  "guGvAg==";

function pem(key: KeyObject): string {
  return key.type === "private"
    ? key.export({ type: "pkcs8", format: "pem" }).toString()
    : key.export({ type: "spki", format: "pem" }).toString();
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

describe.each(HMAC)("the secret of %s", (algorithm, bytes) => {
  test("S2 it must be at least as long as the hash", () => {
    expect(refusal(algorithm, randomBytes(bytes))).toBeNull();
    expect(refusal(algorithm, randomBytes(bytes + 100))).toBeNull();
    expect(refusal(algorithm, randomBytes(bytes - 1))).toBe("E_WEAK_SECRET");
    expect(refusal(algorithm, "a".repeat(bytes - 1))).toBe("E_WEAK_SECRET");
  });

  test("S2 it must not be empty, in any form", () => {
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

  test("the message names the problem and the remedy", () => {
    const remedy = `Generate one of ${bytes} random bytes.`;
    const problem = (key: unknown): string => {
      try {
        new SigningKey(algorithm, key as KeyMaterial);
        return "it was accepted";
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(problem("")).toBe(`The secret for ${algorithm} is empty. ${remedy}`);
    expect(problem("short")).toBe(`The secret for ${algorithm} has 5 bytes but needs ${bytes}. ${remedy}`);
    expect(problem(RSA.publicKey)).toBe(`${algorithm} needs a secret, but was given a public key.`);
    expect(problem(ED25519.privateKey)).toBe(`${algorithm} needs a secret, but was given a private key.`);
  });

  test("the length of text is measured in UTF-8", () => {
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
    const signatures = forms.map((form) => new SigningKey(algorithm, form).sign("head.body"));
    expect(new Set(signatures).size).toBe(1);
  });

  test("changing the bytes later does not change the key", () => {
    const secret = randomBytes(bytes);
    const key = new SigningKey(algorithm, secret);
    const before = key.sign("head.body");
    secret.fill(0);
    expect(key.sign("head.body")).toBe(before);
  });

  test("S2 it must not be a public or private key, in any common format", () => {
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
        JSON.stringify([publicKey.export({ format: "jwk" })]),
        publicKey.export({ format: "jwk" }),
        privateKey.export({ format: "jwk" }),
        privateKey.export({ type: "pkcs8", format: "der" }),
      ];
      // An Ed25519 key in DER is shorter than a secret for HS384 and HS512 must be, so it is refused anyway.
      if (der.length >= bytes) forms.push(der, der.toString("base64"), createSecretKey(der));
      for (const form of forms) expect(refusal(algorithm, form)).toBe("E_JWT_KEY");
    }
  });

  test("S2 it must not be a key in an older format, with or without its first and last lines", () => {
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

  test("S2 it must not be a certificate, which is public", () => {
    expect([CERTIFICATE, Buffer.from(CERTIFICATE, "base64")].map((form) => refusal(algorithm, form))).toEqual([
      "E_JWT_KEY",
      "E_JWT_KEY",
    ]);
  });

  test("S2 it must not be a key encoded in base64 once more, as is common in environment variables", () => {
    const { publicKey } = P256;
    for (const text of [pem(publicKey), JSON.stringify(publicKey.export({ format: "jwk" }))]) {
      expect(refusal(algorithm, Buffer.from(text).toString("base64"))).toBe("E_JWT_KEY");
    }
  });

  test("S2 a JWK or JWK set, even one too short for a secret, is reported as such", () => {
    expect(refusal(algorithm, '{"kty":"oct","k":"AA"}')).toBe("E_JWT_KEY");
    expect(refusal(algorithm, '{"keys":[]}')).toBe("E_JWT_KEY");
    expect(refusal(algorithm, { keys: [{ kty: "oct", k: "A".repeat(200) }] })).toBe("E_JWT_KEY");
  });

  test("JSON that is not a JWK, and base64 that is not a key, are valid secrets", () => {
    expect(refusal(algorithm, JSON.stringify({ secret: "x".repeat(80) }))).toBeNull();
    expect(refusal(algorithm, JSON.stringify("x".repeat(80)))).toBeNull();
    expect(refusal(algorithm, "1".repeat(80))).toBeNull();
    // The beginning of SSH keys may occur later in a secret by chance.
    expect(refusal(algorithm, `${"x".repeat(80)}ssh-`)).toBeNull();
    for (let round = 0; round < 200; round++) {
      expect(refusal(algorithm, `0${randomBytes(64).toString("base64")}`)).toBeNull();
      expect(refusal(algorithm, Buffer.concat([Buffer.from([0x30, 0x3e]), randomBytes(62)]))).toBeNull();
    }
  });

  test("a JWK must allow the use and contain the secret in base64url", () => {
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
    expect(() => new VerificationKey(algorithm, { kty: "oct", k, key_ops: ["sign"] })).toThrow(/"verify"/);
    expect(() => new SigningKey(algorithm, { kty: "oct", k, key_ops: ["verify"] })).toThrow(/"sign"/);
  });

  test("a value that is not key material is refused", () => {
    for (const nothing of [null, undefined, 64, true, [], {}, () => "secret", Symbol("secret")]) {
      expect(refusal(algorithm, nothing)).toBe("E_JWT_KEY");
    }
  });
});
