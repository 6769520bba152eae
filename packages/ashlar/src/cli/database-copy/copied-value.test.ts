import { expect, test } from "vitest";
import { copiedValue, UnfitValueError } from "./copied-value.ts";

const column = (type: string, length: number | null = null) => ({
  ...{ name: "x", type, length, place: 0, isCounted: false },
});

const copied = (value: unknown, type: string, { isParsed = false, length = null as number | null } = {}) =>
  copiedValue(value, isParsed, column(type, length));

const BYTES = Uint8Array.of(0, 255);
const TIME = new Date("2026-02-03T04:05:06.789Z");

test.each([
  ["boolean", 0, false],
  ["boolean", 1, true],
  ["boolean", false, false],
  ["boolean", true, true],
  ["integer", true, 1],
  ["integer", false, 0],
  ["integer", -7, -7],
  ["integer", 2n ** 63n, 2n ** 63n],
  ["integer", "-12345678901234567890", "-12345678901234567890"],
  ["real", 0.5, 0.5],
  ["real", 3n, 3n],
  ["real", "-1.5e-3", "-1.5e-3"],
  ["decimal", "19.90", "19.90"],
  ["decimal", "7.", "7."],
  ["decimal", ".5", ".5"],
  ["decimal", "1E+2", "1E+2"],
  ["time", TIME, TIME],
  ["time", "2026-02-03T04:05:06.789Z", TIME],
  ["time", "2026-02-03T05:05:06.789+01:00", TIME],
  ["time", "2026-02-03 04:05:06.789", TIME],
  ["time", "2026-02-03T04:05:06.789", TIME],
  ["time", "2026-02-03 04:05", new Date("2026-02-03T04:05:00Z")],
  ["binary", "é", Buffer.from("é")],
  ["binary", BYTES, BYTES],
  ["json", '{ "a": 1 }', '{ "a": 1 }'],
  ["text", "a text", "a text"],
  ["text", 7, "7"],
  ["text", 7n, "7"],
  ["text", TIME, "2026-02-03T04:05:06.789Z"],
  ["other", BYTES, BYTES],
  ["other", "anything", "anything"],
])("a column of the type %s takes %o as %o", (type, value, expected) => {
  expect(copied(value, type)).toEqual(expected);
});

test.each(["boolean", "integer", "real", "decimal", "time", "binary", "json", "text", "other"])(
  "a column of the type %s takes null, parsed or not",
  (type) => {
    for (const isParsed of [false, true]) expect(copied(null, type, { isParsed })).toBe(null);
  },
);

test.each([
  ["boolean", 2, "true or false: neither 0 nor 1"],
  ["boolean", "1", "true or false: neither 0 nor 1"],
  ["integer", 1.5, "a whole number"],
  ["integer", "7 ", "a whole number"],
  ["integer", "x7", "a whole number"],
  ["integer", "", "a whole number"],
  ["integer", Uint8Array.of(7), "a whole number"],
  ["real", "", "a number"],
  ["real", ".", "a number"],
  ["real", "1x", "a number"],
  ["real", "x1", "a number"],
  ["real", Number.POSITIVE_INFINITY, "a number"],
  ["decimal", TIME, "a number"],
  ["time", "soon", "a time"],
  ["time", 0, "a time"],
  ["time", new Date(Number.NaN), "a time"],
  ["binary", 7, "bytes"],
  ["text", true, "text"],
  ["text", BYTES, "text"],
  ["json", BYTES, "text"],
])("a column of the type %s refuses %o", (type, value, what) => {
  expect(() => copied(value, type)).toThrow(new UnfitValueError(`has a value that is not ${what}`));
});

test("JSON that the driver has parsed becomes text again, whatever the column contains", () => {
  const value = { a: [1, "ä"] };
  for (const type of ["json", "text", "other"]) {
    expect(copied(value, type, { isParsed: true })).toBe('{"a":[1,"ä"]}');
  }
  expect(copied("a string", "json", { isParsed: true })).toBe('"a string"');
});

test("text that is not JSON is refused by a column for JSON", () => {
  expect(() => copied("{a: 1}", "json")).toThrow(new UnfitValueError("has text that is not JSON"));
});

test("a text's length is counted in characters, however many UTF-16 units they take", () => {
  expect(copied("🏔🏔🏔", "text", { length: 3 })).toBe("🏔🏔🏔");
  expect(copied("abc", "text", { length: 3 })).toBe("abc");
  for (const text of ["🏔🏔🏔🏔", "abc "]) {
    expect(() => copied(text, "text", { length: 3 })).toThrow(
      new UnfitValueError("has text of 4 characters, and the column takes 3"),
    );
  }
});
