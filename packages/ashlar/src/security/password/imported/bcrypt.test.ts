import { hashSync } from "bcryptjs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isBcrypt } from "../verifiable-hashes.ts";
import { verifyBcrypt } from "./bcrypt.ts";

const SALT_AND_HASH = "DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s.";

describe("verifyBcrypt", () => {
  test.each([
    ["jBCrypt's vector for the empty text", `$2a$06$${SALT_AND_HASH}`, ""],
    ["jBCrypt's vector for one letter", "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe", "a"],
    ["PHP's documentation", "$2y$07$BCryptRequires22Chrcte/VlQH0piJtjXl.0t1XkA8pw9dMXTpOq", "rasmuslerdorf"],
    ["a hash of today", hashSync("пароль🦀", 4), "пароль🦀"],
  ])("%s verifies for its password only", (_, hash, plain) => {
    expect(isBcrypt(hash)).toBe(true);
    expect(verifyBcrypt(hash, plain)).toBe(true);
    expect(verifyBcrypt(hash, `${plain}x`)).toBe(false);
  });

  test("only the first 72 bytes of a password count, as in bcrypt", () => {
    const hash = hashSync("a".repeat(80), 4);
    expect(verifyBcrypt(hash, "a".repeat(72))).toBe(true);
    expect(verifyBcrypt(hash, "a".repeat(71))).toBe(false);
  });
});

describe("isBcrypt", () => {
  test.each([
    ["2a", "$2a$04$", true],
    ["2b", "$2b$10$", true],
    ["2y", "$2y$12$", true],
    ["the highest cost", "$2b$14$", true],
    ["a cost that takes seconds", "$2b$15$", false],
    ["a cost that takes days", "$2b$31$", false],
    ["a cost below bcrypt's own minimum", "$2b$03$", false],
    ["a cost of one digit", "$2b$4$", false],
    ["2x, which was made by a broken program", "$2x$10$", false],
    ["2, which no library makes", "$2$10$", false],
  ])("%s", (_, prefix, expected) => {
    expect(isBcrypt(prefix + SALT_AND_HASH)).toBe(expected);
  });

  test("text that is longer, shorter, or contains another character is not a bcrypt hash", () => {
    const hash = `$2b$10$${SALT_AND_HASH}`;
    const change = fc.tuple(fc.integer({ min: 7, max: 59 }), fc.constantFrom(..."+-=_$ \n\0é"));
    fc.assert(
      fc.property(change, ([at, character]) => {
        expect(isBcrypt(hash.slice(0, at) + character + hash.slice(at + 1))).toBe(false);
        expect(isBcrypt(hash.slice(0, at))).toBe(false);
        expect(isBcrypt(`${hash}${hash[at]}`)).toBe(false);
      }),
    );
    expect([`${hash}\n`, ` ${hash}`, `x${hash}`].map(isBcrypt)).toEqual([false, false, false]);
  });
});
