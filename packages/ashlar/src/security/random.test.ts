import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { describe, expect, test, vi } from "vitest";
import { takeRandomBytes } from "./digest.ts";

describe("takeRandomBytes", () => {
  test.each([0, 1, 24, 32, 4096])("gives %i bytes", (size) => {
    expect(takeRandomBytes(size)).toHaveLength(size);
  });

  test("S17 no byte is given out twice, however often the pool is refilled", () => {
    const sizes = Array.from({ length: 5000 }, (_, index) => 16 + (index % 17));
    const taken = sizes.map((size) => takeRandomBytes(size).toString("hex"));
    // Any 16 bytes that occur twice would show up here, even at another offset.
    const windows = taken.flatMap((hex) => [hex.slice(0, 32), hex.slice(-32)]);
    const distinct = new Set(windows);
    const ofOneBegin = taken.filter((hex) => hex.length === 32).length;
    expect(distinct.size).toBe(windows.length - ofOneBegin);
  });

  test("S17 each byte value occurs as often as expected by chance", () => {
    const counts = new Array<number>(256).fill(0);
    for (let round = 0; round < 1000; round++) for (const byte of takeRandomBytes(256)) counts[byte]!++;
    // The average is 1000 each, with a standard deviation of 32. Nine deviations happen once in 10^16 runs.
    expect(Math.min(...counts)).toBeGreaterThan(700);
    expect(Math.max(...counts)).toBeLessThan(1300);
  });

  test("returned bytes belong to the caller", () => {
    const first = takeRandomBytes(32);
    const copy = Buffer.from(first);
    takeRandomBytes(4096);
    expect(first).toEqual(copy);
    first.fill(0);
    expect(takeRandomBytes(32).equals(first)).toBe(false);
  });

  test("S17 the generator is called once per 4096 bytes, and bytes that were given out are wiped from the pool", () => {
    const fill = vi.spyOn(crypto, "randomFillSync");
    syncBuiltinESMExports();
    try {
      takeRandomBytes(4096);
      const [[supply]] = fill.mock.calls as [[Buffer]];
      expect(supply.every((byte) => byte === 0)).toBe(true);
      takeRandomBytes(32);
      expect(fill).toHaveBeenCalledTimes(2);
      expect(supply.subarray(0, 32).every((byte) => byte === 0)).toBe(true);
      expect(supply.subarray(32).every((byte) => byte === 0)).toBe(false);
      for (let given = 32; given < 4096; given += 32) takeRandomBytes(32);
      expect(fill).toHaveBeenCalledTimes(2);
      takeRandomBytes(1);
      expect(fill).toHaveBeenCalledTimes(3);
    } finally {
      fill.mockRestore();
      syncBuiltinESMExports();
    }
  });
});
