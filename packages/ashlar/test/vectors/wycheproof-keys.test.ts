import { describe, expect, test } from "vitest";
import { type JwsVectorFile, outcome } from "./jws-vectors.ts";
import { readVectors } from "./read-vectors.ts";

describe("Wycheproof json_web_key", () => {
  const file = readVectors<JwsVectorFile>("wycheproof/json_web_key_test.json");

  test("each of the 26 vectors has its labeled result, for the right reason", () => {
    const found = file.testGroups.flatMap((group) =>
      group.tests.map(({ tcId, result, jws }) => `${tcId} ${result}: ${outcome(group, jws)}`),
    );
    expect(found).toEqual([
      "1 invalid: E_JWT_KEY", // A secret next to a public key.
      "2 valid: valid",
      "3 invalid: E_JWT_INVALID signature",
      "4 invalid: E_JWT_KEY", // Two keys of one name.
      "5 valid: valid",
      "6 invalid: E_JWT_ALGORITHM", // RSA1_5, and for encryption.
      "7 invalid: E_JWT_KEY", // A modulus that can be factored (ROCA).
      "8 invalid: E_JWT_KEY", // 1024 bits.
      "9 invalid: E_JWT_KEY", // The public exponent 1.
      "10 invalid: E_WEAK_SECRET",
      "11 invalid: E_WEAK_SECRET",
      "12 invalid: E_WEAK_SECRET",
      "13 valid: valid",
      "14 valid: valid",
      "15 valid: valid",
      "16 invalid: E_WEAK_SECRET",
      "17 invalid: E_WEAK_SECRET",
      "18 invalid: E_WEAK_SECRET",
      "19 invalid: E_JWT_ALGORITHM",
      "20 invalid: E_JWT_ALGORITHM",
      "21 invalid: E_JWT_KEY",
      "22 invalid: E_JWT_KEY",
      "23 invalid: E_JWT_KEY",
      "24 invalid: E_JWT_KEY",
      "25 invalid: E_JWT_ALGORITHM", // A256GCM.
      "26 invalid: E_JWT_ALGORITHM", // A256KW.
    ]);
  });
});

describe("Wycheproof json_web_crypto", () => {
  const file = readVectors<JwsVectorFile>("wycheproof/json_web_crypto_test.json");
  const vectors = file.testGroups.flatMap((group) => group.tests.map((vector) => ({ group, vector })));
  const signed = vectors.filter(({ vector }) => "jws" in vector);
  const encrypted = vectors.filter(({ vector }) => "jwe" in vector);

  test("49 vectors are signed, and 34 encrypted", () => {
    expect([vectors.length, signed.length, encrypted.length]).toEqual([83, 49, 34]);
    expect(signed.filter(({ vector }) => vector.result === "valid").map(({ vector }) => vector.tcId)).toEqual([
      1, 18, 33, 48,
    ]);
  });

  test.each(signed.map(({ group, vector }) => [vector.tcId, vector.result, vector.comment, group, vector] as const))(
    "%i is %s: %s",
    (_, result, __, group, vector) => {
      const found = outcome(group, vector.jws);
      if (result === "valid") expect(found).toBe("valid");
      else expect(found).toMatch(/^E_JWT_(INVALID|KEY)/);
    },
  );

  test("S5 every encrypted token is refused by every signing key, whatever its label", () => {
    const signing = file.testGroups.filter((group) => group.comment === "jws_aes" || group.comment === "jws_ec");
    expect(signing).toHaveLength(2);
    for (const group of signing) {
      for (const { vector } of encrypted) expect(outcome(group, vector.jwe)).toMatch(/^E_JWT_INVALID/);
    }
  });

  test("S2 an encryption key is not used to verify", () => {
    for (const { group, vector } of encrypted) expect(outcome(group, vector.jwe)).toBe("E_JWT_ALGORITHM");
  });
});
