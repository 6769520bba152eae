import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { generateSecret, requireSecret, secretProblem, splitSecrets } from "./secrets.ts";

describe("generateSecret", () => {
  test("S12 it returns 64 bytes as base64url, different each time", () => {
    expect(Buffer.from(generateSecret(), "base64url")).toHaveLength(64);
    expect(generateSecret()).toMatch(/^[A-Za-z0-9_-]{86}$/);
    expect(generateSecret()).not.toBe(generateSecret());
  });

  test("its result is accepted as a secret", () => {
    for (let i = 0; i < 200; i++) expect(secretProblem(generateSecret())).toBeNull();
  });
});

describe("secretProblem", () => {
  test.each([
    ["null", null, "is not set."],
    ["undefined", undefined, "is not set."],
    ["the empty text", "", "is not set."],
    ["31 bytes", generateSecret().slice(0, 31), "is shorter than 32 bytes."],
    ["a PEM key", `-----BEGIN PUBLIC KEY-----\n${generateSecret()}`, "contains a PEM key instead of random text."],
    ["one character again and again", "x".repeat(64), "is not random."],
    ["a word again and again", "secret-key".repeat(6), "is not random."],
    ["a word again and again, cut off in the middle", "changeme-changeme-changeme-changeme-chan", "is not random."],
    ["a piece written twice", "0123456789abcdef".repeat(2), "is not random."],
    ["few distinct characters", "aabbbabababbabbbaaababababbbabacabababbba", "is not random."],
  ])("S12 %s is weak", (_, secret, problem) => {
    expect(secretProblem(secret)).toBe(problem);
  });

  test.each([
    ["32 random bytes in hexadecimal", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    ["32 random bytes in base64", "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="],
    ["a passphrase of 32 bytes", "correct horse battery staple wow"],
    ["six distinct characters", "abcdefaabbccddeeffabcfedcbafedcba"],
    ["32 bytes in fewer characters", "ключи-от-города-777"],
  ])("%s is not", (_, secret) => {
    expect(secretProblem(secret)).toBeNull();
  });

  test("any text repeated at least twice is weak", () => {
    const piece = fc.string({ minLength: 1, maxLength: 40, unit: "grapheme-ascii" });
    fc.assert(
      fc.property(piece, fc.integer({ min: 2, max: 60 }), (text, times) => {
        fc.pre(text.length * times >= 32);
        expect(secretProblem(text.repeat(times))).toBe("is not random.");
      }),
    );
  });
});

describe("splitSecrets", () => {
  test.each<[string, string[]]>([
    ["", [""]],
    ["one", ["one"]],
    ["one,two", ["one", "two"]],
    [" one ,\ttwo\n", ["one", "two"]],
    ["one,, two three,", ["one", "", "two three", ""]],
  ])("%j is %j", (list, entries) => {
    expect(splitSecrets(list)).toEqual(entries);
  });
});

describe("requireSecret", () => {
  test("a strong secret is returned", () => {
    const secret = generateSecret();
    expect(requireSecret(secret, "APP_KEY")).toBe(secret);
  });

  test("S12 a weak secret fails startup with an error that names its source, the problem and the remedy, and does not show it", () => {
    expect(() => requireSecret("hunter2", "APP_KEY")).toThrow(
      expect.objectContaining({
        code: "E_WEAK_SECRET",
        message: "APP_KEY: the secret is shorter than 32 bytes. Generate one with `npx ashlar key:generate`.",
      }),
    );
    expect(() => requireSecret(null, "JWT_SECRET", "Run `npx ashlar api:install`.")).toThrow(
      "JWT_SECRET: the secret is not set. Run `npx ashlar api:install`.",
    );
  });
});
