import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { isTokenText, makeTokenText } from "./token-text.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

describe("the text of a personal token", () => {
  test("S111 has the prefix, 30 random characters, and the CRC-32 checksum of both that gzip would write, in base 62", () => {
    for (let round = 0; round < 200; round++) {
      const token = makeTokenText("ash_");
      expect(token).toMatch(/^ash_[0-9A-Za-z]{36}$/);
      const checksum = gzipSync(token.slice(0, -6)).readUInt32LE(gzipSync(token.slice(0, -6)).length - 8);
      const value = [...token.slice(-6)].reduce((sum, digit) => sum * 62 + DIGITS.indexOf(digit), 0);
      expect(value).toBe(checksum);
      expect(isTokenText(token, "ash_")).toBe(true);
    }
  });

  test("S111 uses each digit equally often, within chance", () => {
    const counts = new Map([...DIGITS].map((digit) => [digit, 0]));
    for (let round = 0; round < 8000; round++) {
      for (const digit of makeTokenText("ash_").slice(4, 34)) counts.set(digit, counts.get(digit)! + 1);
    }
    // 3871 each on average, with a deviation of 62: seven deviations off happens once in 10^10 runs. With each byte used, some
    // were at 4688.
    expect(Math.min(...counts.values())).toBeGreaterThan(3437);
    expect(Math.max(...counts.values())).toBeLessThan(4305);
  });

  test("S111 is refused with a different prefix, or if a character was changed, added or left out", () => {
    const token = makeTokenText("ash_");
    for (let index = 0; index < token.length; index++) {
      const other = token[index] === "x" ? "y" : "x";
      expect(isTokenText(token.slice(0, index) + other + token.slice(index + 1), "ash_")).toBe(false);
      expect(isTokenText(token.slice(0, index) + token.slice(index + 1), "ash_")).toBe(false);
    }
    const others = ["", "ash_", `${token} `, `${token}\n`, `${token}x`, token.toUpperCase(), `x${token}`];
    for (const other of others) expect(isTokenText(other, "ash_")).toBe(false);
    expect(isTokenText(token, "shop_")).toBe(false);
    expect(isTokenText(makeTokenText("shop_"), "shop_")).toBe(true);
    expect(isTokenText(`shop_${token.slice(4)}`, "shop_")).toBe(false);
  });
});
