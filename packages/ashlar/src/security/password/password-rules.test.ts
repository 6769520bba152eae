import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkPassword, isHashable } from "./password-rules.ts";

const TOO_SHORT = "The password is too short. Use at least 8 characters.";
const TOO_LONG = "The password is too long. Use at most 1,024 bytes.";
const NOT_UNICODE = "The password contains a character that is not valid Unicode.";

describe("length", () => {
  test.each([
    ["nothing", "", TOO_SHORT],
    ["7 bytes", "k9#mQ2x", TOO_SHORT],
    ["8 bytes", "k9#mQ2xv", null],
    ["8 bytes in four characters", "ßäöü", null],
    ["8 bytes in two characters", "🦀🎻", null],
    ["7 bytes in three characters", "äöx€".slice(1), TOO_SHORT],
    ["1024 bytes", `${"ab".repeat(511)}cd`, null],
    ["1025 bytes", `${"ab".repeat(511)}cde`, TOO_LONG],
    ["1024 bytes in 256 characters", "🦀🎻".repeat(128), null],
    ["1026 bytes in 513 characters", `${"äö".repeat(256)}ü`, TOO_LONG],
    ["ten megabytes", "ab".repeat(5_000_000), TOO_LONG],
  ])("S31 %s", (_, plain, problem) => {
    expect(checkPassword(plain)).toBe(problem);
  });
});

describe("composition", () => {
  test.each([
    ["only lower-case letters", "tqvmzkxw"],
    ["only digits", "83015927"],
    ["only spaces and letters", "correct horse battery staple"],
    ["spaces at both ends", "  kq  vz  "],
    ["control characters", "kq\tvz\n\0\x7f"],
    ["another script", "лошадь батарея"],
    ["emoji joined with invisible characters", "👩‍🚀👨‍👩‍👧"],
    ["a decomposed letter", "cafe\u0301 noir"],
  ])("S31 %s is accepted", (_, plain) => {
    expect(checkPassword(plain)).toBeNull();
  });

  test("S31 half a surrogate pair is refused, because it is not a character", () => {
    expect(checkPassword("correct horse \ud800")).toBe(NOT_UNICODE);
  });

  test("S31 only the length and the list of common passwords decide", () => {
    const plain = fc.array(fc.nat(0x10ffff), { maxLength: 400 }).map((codes) => String.fromCodePoint(...codes));
    fc.assert(
      fc.property(plain, (text) => {
        fc.pre(text.isWellFormed() && new Set(text).size > 3);
        const length = Buffer.byteLength(text);
        expect(checkPassword(text)).toBe(length < 8 ? TOO_SHORT : length > 1024 ? TOO_LONG : null);
      }),
    );
  });
});

describe("hashable passwords", () => {
  test.each([
    ["nothing", "", false],
    ["one byte", "a", true],
    ["1024 bytes", "é".repeat(512), true],
    ["1025 bytes", `${"é".repeat(512)}a`, false],
    ["half a surrogate pair", "abc\udfff", false],
    ["a NUL", "\0", true],
  ])("%s", (_, plain, hashable) => {
    expect(isHashable(plain)).toBe(hashable);
  });
});
