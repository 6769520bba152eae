import { hashSync } from "bcryptjs";
import { describe, expect, test } from "vitest";
import { type Argon2, loadArgon2 } from "./argon2.ts";
import { DEFAULT_PARAMETERS } from "./hash-parameters.ts";
import { makeHash, matchesHash } from "./password-hashes.ts";
import { needsRehash } from "./passwords.ts";

const PLAIN = "correct horse battery staple";
const argon2 = await loadArgon2();

/** The real Argon2, and what it was called with. */
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
});
