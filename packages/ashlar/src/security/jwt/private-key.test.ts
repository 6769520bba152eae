import { createPrivateKey } from "node:crypto";
import { expect, test } from "vitest";
import { PAIR_ALGORITHMS } from "./algorithms.ts";
import { SigningKey, VerificationKey } from "./keys.ts";
import { generatePrivateKey } from "./private-key.ts";

test.each(PAIR_ALGORITHMS)("a generated private key fits %s, and no two are equal", async (algorithm) => {
  const [one, other] = [await generatePrivateKey(algorithm), await generatePrivateKey(algorithm)];
  expect(one).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  expect(other).not.toBe(one);
  new SigningKey(algorithm, one);
  new VerificationKey(algorithm, one);
  // Secure beyond 2030 (NIST SP 800-57 part 1).
  const { modulusLength } = createPrivateKey(one).asymmetricKeyDetails!;
  expect(modulusLength).toBe(/^[RP]S/.test(algorithm) ? 3072 : undefined);
});

test("a private key for EdDSA is one for Ed25519", async () => {
  expect(createPrivateKey(await generatePrivateKey("EdDSA")).asymmetricKeyType).toBe("ed25519");
});

test("an algorithm with a secret has no private key", async () => {
  await expect(generatePrivateKey("HS512")).rejects.toThrow("HS512 has a secret, and no private key.");
});
