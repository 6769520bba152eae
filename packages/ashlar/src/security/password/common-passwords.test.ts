import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkPassword } from "./password-rules.ts";

const COMMON = "This password is one of the most common and easy to guess. Choose a different one.";

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
