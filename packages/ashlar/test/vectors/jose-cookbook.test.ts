import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  SigningKey,
  VerificationKey,
  type JsonWebKey,
  type JwtAlgorithm,
  signJws,
  verifyJws,
} from "../../src/security/jwt/index.ts";
import { readVectors } from "./read-vectors.ts";

interface Signing {
  readonly protected?: Record<string, unknown>;
  readonly protected_b64u?: string;
  readonly sig: string;
  readonly "sig-input": string;
}

interface Example {
  readonly title: string;
  readonly reproducible: boolean;
  readonly input: { readonly payload: string; readonly key: JsonWebKey; readonly alg: JwtAlgorithm };
  readonly signing: Signing;
  readonly output: { readonly compact?: string; readonly json: { readonly payload?: string } };
}

const FOLDER = "ietf-jose-cookbook";

function example(path: string): Example {
  return readVectors<Example>(`${FOLDER}/${path}`);
}

function reason(token: string, algorithm: JwtAlgorithm, key: JsonWebKey): unknown {
  try {
    verifyJws(token, new VerificationKey(algorithm, key));
    return "valid";
  } catch (error) {
    return (error as { reason?: string }).reason;
  }
}

test("the files of the cookbook are complete", () => {
  const count = (folder: string) => readdirSync(join(import.meta.dirname, "data", FOLDER, folder)).length;
  expect(["jws", "curve25519", "rfc7797", "jwk"].map(count)).toEqual([8, 2, 2, 6]);
});

describe.each([
  "jws/4_1.rsa_v15_signature.json",
  "jws/4_2.rsa-pss_signature.json",
  "jws/4_3.ecdsa_signature.json",
  "jws/4_4.hmac-sha2_integrity_protection.json",
  "curve25519/jws.json",
])("%s", (path) => {
  const { input, signing, output, reproducible } = example(path);
  const compact = output.compact ?? "";

  test("the token is verified and contains the payload", () => {
    const verified = verifyJws(compact, new VerificationKey(input.alg, input.key));
    expect(verified.header).toEqual(signing.protected);
    expect(Buffer.from(verified.payload).toString()).toBe(input.payload);
  });

  test("signing again gives the same token if the algorithm has no random part", () => {
    const { alg, ...members } = signing.protected ?? {};
    const token = signJws(input.payload, new SigningKey(input.alg, input.key), members);
    expect(alg).toBe(input.alg);
    if (reproducible) expect(token).toBe(compact);
    expect(token.slice(0, token.lastIndexOf("."))).toBe(signing["sig-input"]);
    expect(reason(token, input.alg, input.key)).toBe("valid");
  });
});

describe("signatures in other forms than a compact token", () => {
  test("4.5 a token with a detached payload verifies only once the payload is inserted", () => {
    const { input, output } = example("jws/4_5.signature_with_detached_content.json");
    const detached = output.compact ?? "";
    expect(detached).toContain("..");
    expect(reason(detached, input.alg, input.key)).toBe("signature");
    const payload = Buffer.from(input.payload).toString("base64url");
    expect(reason(detached.replace("..", `.${payload}.`), input.alg, input.key)).toBe("valid");
  });

  test("4.6 the protected part of a partly unprotected header verifies alone", () => {
    const { input, signing } = example("jws/4_6.protecting_specific_header_fields.json");
    const token = `${signing["sig-input"]}.${signing.sig}`;
    expect(verifyJws(token, new VerificationKey(input.alg, input.key)).header).toEqual({ alg: "HS256" });
  });

  test("4.7 a signature over only the payload, without a protected header, is refused", () => {
    const { input, signing } = example("jws/4_7.protecting_content_only.json");
    expect(reason(`${signing["sig-input"]}.${signing.sig}`, input.alg, input.key)).toBe("malformed");
  });

  test("4.8 each of several signatures verifies with its key, except the one without a protected header", () => {
    const file = readVectors<{
      readonly input: { readonly key: readonly JsonWebKey[]; readonly alg: readonly JwtAlgorithm[] };
      readonly signing: readonly Signing[];
    }>(`${FOLDER}/jws/4_8.multiple_signatures.json`);
    const found = file.signing.map((signing, index) =>
      reason(`${signing["sig-input"]}.${signing.sig}`, file.input.alg[index] ?? "HS256", file.input.key[index] ?? {}),
    );
    expect(found).toEqual(["valid", "malformed", "valid"]);
  });

  test("S5 a JWE is refused before it is parsed", () => {
    const { output } = example("curve25519/ecdh-es.json");
    const { input } = example("curve25519/jws.json");
    expect(reason(output.compact ?? "", "EdDSA", input.key)).toBe("malformed");
  });
});

describe("RFC 7797", () => {
  test("S5 a payload that is not encoded is refused, with and without crit", () => {
    const marked = example("rfc7797/hmac-sha2_b64_false.json");
    expect(marked.output.compact).toContain("This is the payload string!");
    expect(reason(marked.output.compact ?? "", marked.input.alg, marked.input.key)).toBe("critical_header");

    const plain = example("rfc7797/4.2.hmac-sha2_b64_false.json");
    // Its payload contains a dot, and so looks like a fourth part.
    expect(reason(`${plain.signing["sig-input"]}.${plain.signing.sig}`, "HS256", plain.input.key)).toBe("malformed");
    const header = plain.signing.protected_b64u ?? "";
    const payload = Buffer.from("$.02").toString("base64url");
    expect(Buffer.from(header, "base64url").toString()).toBe('{"alg":"HS256","b64":false}');
    expect(reason(`${header}.${payload}.${plain.signing.sig}`, "HS256", plain.input.key)).toBe("critical_header");
  });
});

describe("the cookbook's keys", () => {
  const jwk = (name: string) => readVectors<JsonWebKey>(`${FOLDER}/jwk/${name}.json`);

  test("the key pairs sign and verify", () => {
    const pairs: [JwtAlgorithm, string, string][] = [
      ["ES512", "3_2.ec_private_key", "3_1.ec_public_key"],
      ["RS256", "3_4.rsa_private_key", "3_3.rsa_public_key"],
      ["PS512", "3_4.rsa_private_key", "3_3.rsa_public_key"],
    ];
    for (const [algorithm, priv, pub] of pairs) {
      expect(reason(signJws("x", new SigningKey(algorithm, jwk(priv))), algorithm, jwk(pub))).toBe("valid");
      expect(() => new SigningKey(algorithm, jwk(pub))).toThrow(expect.objectContaining({ code: "E_JWT_KEY" }));
    }
  });

  test("the secret for a MAC signs only as HS256, and the one for encryption does not sign", () => {
    const mac = jwk("3_5.symmetric_key_mac_computation");
    expect(reason(signJws("x", new SigningKey("HS256", mac)), "HS256", mac)).toBe("valid");
    expect(() => new SigningKey("HS512", mac)).toThrow(expect.objectContaining({ code: "E_JWT_KEY" }));
    expect(() => new SigningKey("HS256", jwk("3_6.symmetric_key_encryption"))).toThrow(
      expect.objectContaining({ code: "E_JWT_KEY" }),
    );
  });
});
