import { createSecretKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AT, EC, forge, judge, KEY, NOW, RSA, SECRET, seal, segment } from "../../../test/support/jwt-forgery.ts";
import { type JwtAlgorithm, type KeyMaterial, SigningKey, signJwt, tryVerifyJwt, VerificationKey } from "./index.ts";

describe("S1 the algorithm", () => {
  const names: JwtAlgorithm[] = ["HS256", "HS384", "HS512"];

  test("S1 a token with a valid signature by the same secret but with another algorithm is refused", () => {
    for (const configured of names) {
      const key = new VerificationKey(configured, SECRET);
      expect(names.map((name) => judge(signJwt({}, new SigningKey(name, SECRET), { now: NOW }), key))).toEqual(
        names.map((name) => (name === configured ? "accepted" : "algorithm")),
      );
    }
  });

  test("S1 the algorithm none, in any letter case, with or without a signature, is refused", () => {
    for (const alg of ["none", "None", "NONE", "nOnE", "none ", ""]) {
      const header = segment(JSON.stringify({ alg, typ: "JWT" }));
      expect(judge(`${header}.${segment("{}")}.`)).toBe("algorithm");
      expect(judge(seal(header, segment("{}")))).toBe("algorithm");
      expect(judge(seal(header, segment("{}"), Buffer.alloc(0)))).toBe("algorithm");
    }
  });

  test("S1 the algorithm none, in any letter case, cannot be configured", () => {
    for (const alg of ["none", "None", "NONE", "nOnE"]) {
      for (const Key of [SigningKey, VerificationKey]) {
        expect(() => new Key(alg as JwtAlgorithm, SECRET)).toThrow(
          expect.objectContaining({ code: "E_JWT_ALGORITHM" }),
        );
      }
    }
  });

  test("S1 an algorithm that is not text, or comes from a prototype, is refused", () => {
    for (const alg of [null, 512, true, ["HS512"], { HS512: 1 }, { toString: "HS512" }]) {
      expect(judge(forge("{}", JSON.stringify({ alg, typ: "JWT" })))).toBe("algorithm");
    }
    expect(judge(forge("{}", '{"__proto__":{"alg":"HS512"},"typ":"JWT"}'))).toBe("malformed");
    expect(judge(forge("{}", '{"Alg":"HS512","typ":"JWT"}'))).toBe("algorithm");
  });

  test("S1 the last of two alg members counts", () => {
    expect(judge(forge("{}", '{"alg":"HS512","alg":"HS256","typ":"JWT"}'))).toBe("algorithm");
    expect(judge(forge("{}", '{"alg":"HS256","\\u0061lg":"HS512","typ":"JWT"}'))).toBe("accepted");
  });
});

describe("S2 a key and its family", () => {
  const publicPem = RSA.publicKey.export({ type: "spki", format: "pem" }).toString();
  const publicJwk = RSA.publicKey.export({ format: "jwk" });

  test("S2 a token signed by HMAC with the public key as the secret, in any encoding, is refused by that key", () => {
    const forms = [
      publicPem,
      publicPem.trim(),
      RSA.publicKey.export({ type: "spki", format: "der" }),
      RSA.publicKey.export({ type: "pkcs1", format: "der" }),
      RSA.publicKey.export({ type: "pkcs1", format: "pem" }),
      JSON.stringify(publicJwk),
      publicJwk.n ?? "",
    ];
    for (const algorithm of ["RS256", "RS512", "PS256"] as const) {
      const key = new VerificationKey(algorithm, publicPem);
      for (const form of forms) {
        for (const alg of ["HS256", "HS512", algorithm]) {
          const header = segment(JSON.stringify({ alg, typ: "JWT" }));
          const token = seal(header, segment("{}"), Buffer.from(form as string), "sha256");
          expect(judge(token, key)).toBe(alg === algorithm ? "signature" : "algorithm");
        }
      }
    }
  });

  test("S2 a secret that is a key, a JWK or a JWK set is refused", () => {
    const forms: KeyMaterial[] = [
      publicPem,
      `\n\t ${publicPem}`,
      `prefix-----BEGIN${"x".repeat(80)}`,
      Buffer.from(publicPem),
      createSecretKey(Buffer.from(publicPem)),
      RSA.publicKey,
      RSA.privateKey,
      publicJwk,
      JSON.stringify(publicJwk),
      JSON.stringify({ keys: [publicJwk] }),
      JSON.stringify({ kty: "oct", k: SECRET.toString("base64url") }),
      ` ${JSON.stringify({ keys: [] }).padEnd(100)}`,
    ];
    for (const form of forms) {
      for (const Key of [SigningKey, VerificationKey]) {
        expect(() => new Key("HS512", form)).toThrow(expect.objectContaining({ code: "E_JWT_KEY", status: 500 }));
      }
    }
  });

  test("S2 a secret that is empty or shorter than the hash is refused with a message that does not quote it", () => {
    const least = { HS256: 32, HS384: 48, HS512: 64 } as const;
    for (const [algorithm, bytes] of Object.entries(least) as [JwtAlgorithm, number][]) {
      for (const length of [0, 1, bytes - 1]) {
        for (const Key of [SigningKey, VerificationKey]) {
          expect(() => new Key(algorithm, "q".repeat(length))).toThrow(
            expect.objectContaining({ code: "E_WEAK_SECRET", message: expect.not.stringContaining("qq") }),
          );
        }
      }
      expect(new VerificationKey(algorithm, "q".repeat(bytes)).algorithm).toBe(algorithm);
    }
  });

  test("S2 a secret and a public key never verify the same tokens", () => {
    const mixed = [KEY, new VerificationKey("ES256", EC.publicKey)];
    const token = signJwt({}, new SigningKey("HS512", SECRET), { now: NOW });
    expect(judge(token)).toBe("accepted");
    for (const keys of [mixed, mixed.toReversed()]) {
      expect(() => tryVerifyJwt(token, keys, AT)).toThrow(expect.objectContaining({ code: "E_JWT_KEY" }));
    }
  });

  test("S2 an ECDSA signature in DER, or from another curve, is refused", () => {
    const key = new VerificationKey("ES256", EC.publicKey);
    const input = `${segment('{"alg":"ES256","typ":"JWT"}')}.${segment("{}")}`;
    const token = (signature: Buffer) => `${input}.${signature.toString("base64url")}`;
    const raw = sign("sha256", Buffer.from(input), { key: EC.privateKey, dsaEncoding: "ieee-p1363" });
    expect(judge(token(raw), key)).toBe("accepted");
    expect(judge(token(sign("sha256", Buffer.from(input), EC.privateKey)), key)).toBe("signature");
    expect(judge(token(Buffer.concat([raw, Buffer.alloc(1)])), key)).toBe("signature");
    expect(judge(token(Buffer.concat([Buffer.alloc(1), raw])), key)).toBe("signature");
    expect(judge(token(Buffer.alloc(64)), key)).toBe("signature");
    expect(judge(token(Buffer.alloc(0)), key)).toBe("signature");
  });
});

describe("S4 choice of the key", () => {
  const attacker = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const members = {
    jwk: attacker.publicKey.export({ format: "jwk" }),
    jku: "https://attacker.example/keys",
    x5u: "https://attacker.example/certificate",
    x5c: ["MIIB"],
    kid: "../../etc/passwd' OR 1=1 --",
  };

  test("S4 a token that contains its own key, or a URL of one, is verified with the configured key", () => {
    const key = new VerificationKey("ES256", EC.publicKey);
    for (const [name, value] of Object.entries(members)) {
      const header = segment(JSON.stringify({ alg: "ES256", typ: "JWT", [name]: value }));
      const input = `${header}.${segment("{}")}`;
      const signedBy = (pair: typeof EC) =>
        `${input}.${sign("sha256", Buffer.from(input), { key: pair.privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
      expect(judge(signedBy(attacker), key)).toBe("signature");
      expect(judge(signedBy(EC), key)).toBe("accepted");
    }
  });

  test("S4 kid does not choose the key: a token that names another key is verified with the key that signed it", () => {
    const named = (kid: string, k: Uint8Array) =>
      new VerificationKey("HS512", { kty: "oct", kid, k: Buffer.from(k).toString("base64url") });
    const keys = [named("new", randomBytes(64)), named("old", SECRET)];
    for (const kid of ["new", "old", "none of them", 5, null]) {
      expect(judge(forge("{}", JSON.stringify({ alg: "HS512", typ: "JWT", kid })), keys)).toBe("accepted");
    }
  });

  test("S4 all keys listed for rotation verify, and a removed one no longer does", () => {
    const [older, newer] = [randomBytes(64), randomBytes(64)];
    const keys = [new VerificationKey("HS512", newer), new VerificationKey("HS512", older)];
    const token = (secret: Uint8Array) => signJwt({}, new SigningKey("HS512", secret), { now: NOW });
    expect([newer, older, SECRET].map((secret) => judge(token(secret), keys))).toEqual([
      "accepted",
      "accepted",
      "signature",
    ]);
    expect(judge(token(older), keys.slice(0, 1))).toBe("signature");
  });

  test("S4 nothing in the folder can open a connection or read a file", () => {
    const folder = import.meta.dirname;
    const files = readdirSync(folder).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
    const imports = files.flatMap((name) =>
      [...readFileSync(join(folder, name), "utf8").matchAll(/(?:from|import\()\s*"([^"]+)"/g)].map(
        (match) => match[1] ?? "",
      ),
    );
    expect(files.length).toBeGreaterThan(10);
    expect([...new Set(imports.filter((name) => !name.startsWith("./")))].toSorted()).toEqual([
      "../../support/index.ts",
      "node:crypto",
    ]);
    for (const name of files) expect(readFileSync(join(folder, name), "utf8")).not.toMatch(/\bfetch\(|process\.env/);
  });
});
