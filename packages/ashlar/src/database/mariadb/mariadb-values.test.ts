import type { FieldPacket } from "mysql2";
import { expect, test } from "vitest";
import { boundValue, exactRows, isConvertible } from "./mariadb-values.ts";

test.each([
  [true, "1"],
  [false, "0"],
  [7, "7"],
  [-0.5, "-0.5"],
  [2n ** 63n - 1n, "9223372036854775807"],
  [-(2n ** 63n), "-9223372036854775808"],
  ["a text", "a text"],
  [null, null],
  [new Date(0), new Date(0)],
])("%o is sent as %o", (value, expected) => {
  expect(boundValue(value)).toEqual(expected);
});

test("bytes are sent as a Buffer, and a given Buffer isn't copied", () => {
  const buffer = Buffer.from("abc");
  expect(boundValue(buffer)).toBe(buffer);
  const sent = boundValue(Uint8Array.of(1, 2));
  expect([Buffer.isBuffer(sent), sent]).toEqual([true, Buffer.of(1, 2)]);
});

test.each([
  [undefined, "E_INVALID_QUERY", "A value for the database is of type undefined."],
  [new Date(Number.NaN), "E_INVALID_QUERY", "A value for the database is an invalid date."],
  [2n ** 63n, "E_INVALID_INPUT", "A value for the database is an integer of more than 64 bits."],
  [-(2n ** 63n) - 1n, "E_INVALID_INPUT", "A value for the database is an integer of more than 64 bits."],
])("%o is refused", (value, code, message) => {
  expect(() => boundValue(value)).toThrow(expect.objectContaining({ code, message }));
});

test("text that can't be stored exactly is refused", () => {
  expect(() => boundValue("a\ud800")).toThrow(expect.objectContaining({ code: "E_INVALID_INPUT" }));
});

test.each([
  ["7", false],
  ["-7", false],
  ["7 ", true],
  [" 7", true],
  ["1e3", true],
  ["1.5", true],
  ["", true],
  [Buffer.from("7"), true],
  [null, false],
])("%o would be read as a number other than its digits say: %s", (value, expected) => {
  expect(isConvertible(value)).toBe(expected);
});

test("only 64-bit integers that arrive as text become bigints", () => {
  const fields = [
    { name: "large", columnType: 8 },
    { name: "text", columnType: 253 },
  ] as FieldPacket[];
  const rows = [
    { large: "9007199254740993", text: "9007199254740993" },
    { large: 7, text: "7" },
    { large: null, text: null },
  ];
  expect(exactRows(rows, fields)).toEqual([
    { large: 9_007_199_254_740_993n, text: "9007199254740993" },
    { large: 7, text: "7" },
    { large: null, text: null },
  ]);
});
