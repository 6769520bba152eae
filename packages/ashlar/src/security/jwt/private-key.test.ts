import { expect, test } from "vitest";
import { PAIR_ALGORITHMS } from "./algorithms.ts";
import { createSigningKey, createVerificationKey } from "./keys.ts";
import { generatePrivateKey } from "./private-key.ts";

test.each(PAIR_ALGORITHMS)("a generated private key fits %s, and no two are the same", async (algorithm) => {
  const [one, other] = [await generatePrivateKey(algorithm), await generatePrivateKey(algorithm)];
  expect(one).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  expect(other).not.toBe(one);
  createSigningKey(algorithm, one);
  createVerificationKey(algorithm, one);
});

test("an algorithm with a secret has no private key", async () => {
  await expect(generatePrivateKey("HS512")).rejects.toThrow("HS512 has a secret, and no private key.");
});
