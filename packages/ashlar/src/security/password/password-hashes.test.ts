import { hashSync } from "bcryptjs";
import { describe, expect, test } from "vitest";
import { type Argon2, loadArgon2 } from "./argon2.ts";
import { DEFAULT_PARAMETERS } from "./argon2-hash.ts";
import { makeHash, matchesHash } from "./password-hashes.ts";
import { needsRehash } from "./passwords.ts";
import { unknownHash } from "./verifiable-hashes.ts";

const PLAIN = "correct horse battery staple";
/** The tag computed by `node:crypto`. */
const SCRYPT = "YSBzYWx0IG9mIHRleHQ$XLHhZFtRNjRy6rhFUQbS7X8k2XWtHCFc3M51znHui3s";
const PBKDF2 = "YSBzYWx0IG9mIHRleHQ$TXDXDu+Z19x4cyki8mXdbRGJRECoQbqurMKehOOTwHQ";
const argon2 = await loadArgon2();

/** The real Argon2, and the arguments of its calls. */
function observed() {
  const calls: unknown[] = [];
  const observer: Argon2 = (message, salt, parameters) => {
    calls.push([message, salt.length, parameters]);
    return argon2(message, salt, parameters);
  };
  return { calls, observer };
}

describe("matchesHash", () => {
  test.each([
    ["the empty text", ""],
    ["a mark of a locked account", "!"],
    ["the password itself", PLAIN],
    ["MD5", "5f4dcc3b5aa765d61d8327deb882cf99"],
    [
      "argon2 beyond the bounds",
      "$argon2id$v=19$m=4194304,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
    ],
    ["bcrypt after something else", ` ${hashSync(PLAIN, 4)}`],
    ["bcrypt with something after it", `${hashSync(PLAIN, 4)}x`],
    ["bcrypt beyond the bounds", hashSync(PLAIN, 4).replace("$04$", "$31$")],
  ])("S32 %s matches nothing, at the cost of a current hash", (_, hash) => {
    const { calls, observer } = observed();
    expect(matchesHash(observer, hash, PLAIN, DEFAULT_PARAMETERS)).toBe(false);
    expect(calls).toEqual([[PLAIN, 16, DEFAULT_PARAMETERS]]);
    expect(needsRehash(hash)).toBe(true);
  });

  test("S31 a hash is made and verified with the current parameters", () => {
    const { calls, observer } = observed();
    const hash = makeHash(observer, PLAIN, DEFAULT_PARAMETERS);
    expect(matchesHash(observer, hash, PLAIN, DEFAULT_PARAMETERS)).toBe(true);
    expect(matchesHash(observer, hash, "wrong", DEFAULT_PARAMETERS)).toBe(false);
    expect(calls).toEqual([
      [PLAIN, 16, DEFAULT_PARAMETERS],
      [PLAIN, 16, DEFAULT_PARAMETERS],
      ["wrong", 16, DEFAULT_PARAMETERS],
    ]);
    expect(needsRehash(hash)).toBe(false);
  });

  test("S31 a bcrypt hash is verified with bcrypt only", () => {
    const { calls, observer } = observed();
    const hash = hashSync(PLAIN, 4);
    expect(matchesHash(observer, hash, PLAIN, DEFAULT_PARAMETERS)).toBe(true);
    expect(matchesHash(observer, hash, "wrong", DEFAULT_PARAMETERS)).toBe(false);
    expect(calls).toEqual([]);
  });

  test.each([
    ["scrypt", `$scrypt$n=16384,r=8,p=1$${SCRYPT}`],
    ["PBKDF2", `$pbkdf2-sha256$i=1000$${PBKDF2}`],
  ])("S31 a %s hash is verified with its own parameters, and needs a rehash", (_, hash) => {
    const { calls, observer } = observed();
    expect(matchesHash(observer, hash, PLAIN, DEFAULT_PARAMETERS)).toBe(true);
    expect(matchesHash(observer, hash, "wrong", DEFAULT_PARAMETERS)).toBe(false);
    expect(calls).toEqual([]);
    expect(needsRehash(hash)).toBe(true);
  });

  describe("with a hash like the imported ones", () => {
    const OTHER = { ...DEFAULT_PARAMETERS, memory: 64, passes: 1 };
    const imported = unknownHash("$argon2id$v=19$m=64,t=1,p=1$")!;

    test.each([
      ["an imported hash", makeHash(argon2, PLAIN, OTHER), true],
      ["a current hash", makeHash(argon2, PLAIN, DEFAULT_PARAMETERS), true],
      ["an unknown hash", "", false],
      ["a hash of another kind", hashSync("another password", 4), false],
    ])("S32 %s is verified with the work of both", (name, hash, fits) => {
      for (const [plain, expected] of [
        [PLAIN, fits],
        ["wrong", false],
      ] as const) {
        const { calls, observer } = observed();
        expect(matchesHash(observer, hash, plain, DEFAULT_PARAMETERS, imported)).toBe(expected);
        const both = [
          [plain, 16, DEFAULT_PARAMETERS],
          [plain, 16, OTHER],
        ];
        if (name === "a hash of another kind") both.pop();
        expect(calls).toHaveLength(both.length);
        expect(calls).toEqual(expect.arrayContaining(both));
      }
    });

    test("the password of the hash that only takes time is never accepted", () => {
      const known = makeHash(argon2, PLAIN, OTHER);
      expect(matchesHash(argon2, "", PLAIN, DEFAULT_PARAMETERS, known)).toBe(false);
      expect(matchesHash(argon2, makeHash(argon2, "x", DEFAULT_PARAMETERS), PLAIN, DEFAULT_PARAMETERS, known)).toBe(
        false,
      );
    });
  });
});
