import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkPassword, isHashable } from "./password-rules.ts";

const TOO_SHORT = "The password is too short. Use at least 8 characters.";
const TOO_LONG = "The password is too long. Use at most 1,024 bytes.";
const COMMON = "This password is one of the most common and easy to guess. Choose a different one.";
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

describe("common passwords", () => {
  test.each([
    "password",
    "12345678",
    "123456789",
    "1234567890",
    "qwertyuiop",
    "qwerty123",
    "iloveyou",
    "princess",
    "sunshine",
    "football",
    "baseball",
    "superman",
    "trustno1",
    "welcome1",
    "password1",
    "password123",
    "passw0rd",
    "p@ssw0rd",
    "1q2w3e4r",
    "1qaz2wsx",
    "zaq12wsx",
    "qazwsxedc",
    "asdfghjkl",
    "abcd1234",
    "letmein1",
    "changeme",
    "admin123",
    "michael1",
    "jennifer",
    "starwars",
    "dragon123",
    "monkeymonkey",
    "liverpool",
    "87654321",
    "11111111",
    "azertyuiop",
    "пароль",
    "йцукен",
    "contraseña",
  ])("S31 %s is refused", (plain) => {
    expect(checkPassword(plain)).toBe(COMMON);
  });

  test("S31 a common password is refused in any letter case", () => {
    for (const plain of ["Password", "PASSWORD1", "QwertyUiop", "Michael123", "ПАРОЛЬ"]) {
      expect(checkPassword(plain)).toBe(COMMON);
    }
  });

  test("S31 one repeated character is refused, however long", () => {
    for (const plain of ["kkkkkkkk", "k".repeat(100), " ".repeat(8), "éééééééé", "🦀".repeat(20)]) {
      expect([plain, checkPassword(plain)]).toEqual([plain, COMMON]);
    }
  });

  test("S31 a password that only resembles a common one is accepted", () => {
    for (const plain of [" password", "password ", "passwordz", "michael7531", "my dragon sleeps"]) {
      expect([plain, checkPassword(plain)]).toEqual([plain, null]);
    }
  });

  test("S31 the list has thousands of entries, each in lower case, long enough and listed once", () => {
    const linesOf = (name: string): string[] =>
      readFileSync(join(import.meta.dirname, "../../../data", name), "utf8")
        .trim()
        .split(/\r?\n/);
    const listed = linesOf("common-passwords.txt");
    const words = linesOf("common-words.txt");
    const endings = linesOf("common-endings.txt");
    expect(listed.length).toBeGreaterThan(2000);
    expect(words.length * endings.length).toBeGreaterThan(20_000);
    expect(listed.filter((plain) => Buffer.byteLength(plain) < 8)).toEqual([]);
    for (const list of [listed, words, endings]) {
      expect(list.filter((entry) => entry !== entry.toLowerCase())).toEqual([]);
      expect(new Set(list).size).toBe(list.length);
    }
    expect(listed.filter((plain) => checkPassword(plain) !== COMMON)).toEqual([]);
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
