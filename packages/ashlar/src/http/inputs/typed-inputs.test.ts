import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ValidationError } from "../../support/index.ts";
import {
  ABSENT,
  type InputReader,
  isFilled,
  readArray,
  readBoolean,
  readDate,
  readEnum,
  readFloat,
  readInteger,
  readString,
} from "./typed-inputs.ts";

const refusal = (expected: string) => {
  const message = `The field "f" must be ${expected}.`;
  return expect.objectContaining({
    code: "E_INVALID_INPUT",
    status: 422,
    message,
    errors: { f: [expect.objectContaining({ message })] },
  });
};

/** Values that methods for a single value don't accept. */
const containers = [
  [],
  ["1"],
  {},
  { a: "1" },
  Object.assign(Object.create(null), { a: 1 }),
  new Date(0),
  new File([], "x"),
];

function readsAll<T>(reader: InputReader<T>, cases: readonly (readonly [unknown, T | null])[]): void {
  expect(cases.map(([value]) => reader("f", value))).toEqual(cases.map(([, result]) => result));
}

function refusesAll(reader: InputReader<unknown>, expected: string, values: readonly unknown[]): void {
  for (const [index, value] of values.entries())
    expect(() => reader("f", value), `case ${index}`).toThrow(refusal(expected));
}

const absent = [ABSENT, null, undefined].map((value) => [value, null] as const);
const blank = ["", " ", "\t\n"].map((value) => [value, null] as const);

describe("S36 readString", () => {
  test("returns text unchanged, including blank text", () => {
    readsAll(readString, [...absent, ["", ""], [" a ", " a "], ["1", "1"]]);
  });

  test("refuses a list, an object, a number, a boolean and a file", () => {
    refusesAll(readString, "text", [...containers, 0, 1, true, false]);
  });
});

describe("S36 readInteger", () => {
  test("returns whole numbers", () => {
    readsAll(readInteger, [
      ...absent,
      ...blank,
      ["42", 42],
      ["-7", -7],
      ["007", 7],
      ["-0", 0],
      [-0, 0],
      [5, 5],
      ["9007199254740991", Number.MAX_SAFE_INTEGER],
      ["-9007199254740991", Number.MIN_SAFE_INTEGER],
    ]);
  });

  test("refuses everything else", () => {
    refusesAll(readInteger, "a whole number", [
      ...containers,
      ...["1.5", "1.0", "1e3", "0x10", "+1", " 1", "1 ", "--1", "1_000", "1,000", "Infinity", "NaN", "abc", "١"],
      ...["9007199254740992", "-9007199254740992", "9".repeat(400)],
      ...[1.5, Number.NaN, Infinity, 2 ** 53, true, 1n],
    ]);
  });

  test("any safe integer survives as text", () => {
    fc.assert(fc.property(fc.maxSafeInteger(), (number) => readInteger("f", String(number)) === (number || 0)));
  });
});

describe("S36 readFloat", () => {
  test("returns numbers", () => {
    readsAll(readFloat, [
      ...absent,
      ...blank,
      ["2.7315926", 2.7315926],
      ["-1", -1],
      [".5", 0.5],
      ["1.5e3", 1500],
      ["1E-2", 0.01],
      ["-0", 0],
      [2.5, 2.5],
    ]);
  });

  test("refuses everything else", () => {
    refusesAll(readFloat, "a number", [
      ...containers,
      ...["1.", ".", "1,5", "+1", "0x10", "Infinity", "-Infinity", "NaN", "1e400", "1e", "e5", " 1", "1px"],
      ...[Number.NaN, Infinity, true],
    ]);
  });

  test("any finite number survives as text", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(readFloat("f", String(number))).toBe(number === 0 ? 0 : number);
      }),
    );
  });
});

describe("S36 readBoolean", () => {
  test("returns true or false", () => {
    readsAll(readBoolean, [
      ...absent,
      ...blank,
      ...[true, "true", "1", "on", "yes", "TRUE", "Yes"].map((value) => [value, true] as const),
      ...[false, "false", "0", "off", "no", "False", "OFF"].map((value) => [value, false] as const),
    ]);
  });

  test("refuses everything else", () => {
    refusesAll(readBoolean, "true or false", [...containers, "2", "y", "n", "null", " true", 1, 0]);
  });
});

describe("S36 readDate", () => {
  test("returns dates, in UTC without an offset", () => {
    readsAll(readDate, [
      ...absent,
      ...blank,
      ["2026-01-31", new Date("2026-01-31T00:00:00Z")],
      ["2024-02-29", new Date("2024-02-29T00:00:00Z")],
      ["2000-02-29", new Date("2000-02-29T00:00:00Z")],
      ["2026-01-31T12:30", new Date("2026-01-31T12:30:00Z")],
      ["2026-01-31T12:30:15", new Date("2026-01-31T12:30:15Z")],
      ["2026-01-31T12:30:15.123456Z", new Date("2026-01-31T12:30:15.123Z")],
      ["2026-01-31T12:30:15+05:30", new Date("2026-01-31T07:00:15Z")],
      ["2026-01-31T23:59-01:00", new Date("2026-02-01T00:59:00Z")],
      ["0050-03-01", new Date("0050-03-01T00:00:00Z")],
    ]);
  });

  test("refuses dates that are not ISO 8601", () => {
    refusesAll(readDate, "a date such as 2026-01-31 or 2026-01-31T12:00:00Z", [
      ...containers.filter((value) => !(value instanceof Date)),
      ...["31.01.2026", "01/31/2026", "2026-1-31", "20260131", "2026-01", "2026-01-31 12:00", "2026-01-31T12"],
      ...["2026-01-31T24:00", "2026-01-31T12:60", "2026-01-31T12:00:60", "2026-01-31T12:00:00.Z", "+002026-01-31"],
      ...["2026-01-31T12:00+0100", "2026-01-31T12:00+25:00", "2026-01-31Z", "today", " 2026-01-31", "2026-01-31\n"],
      ...[0, 1767225600000, true],
    ]);
  });

  test("refuses days that do not exist", () => {
    refusesAll(readDate, "a day that exists", [
      ...[
        "2024-02-30",
        "2023-02-29",
        "1900-02-29",
        "2026-04-31",
        "2026-01-32",
        "2026-01-00",
        "2026-00-10",
        "2026-13-01",
      ],
    ]);
  });

  test("any date of four-digit years survives as ISO text", () => {
    const dates = fc.date({
      min: new Date("0000-01-01T00:00:00Z"),
      max: new Date("9999-12-31T23:59:59Z"),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(dates, (date) => {
        expect(readDate("f", date.toISOString())).toEqual(date);
      }),
    );
  });
});

describe("S36 readEnum", () => {
  const read: InputReader<string> = (name, value) => readEnum(name, value, ["draft", "published"]);

  test("returns one of the texts", () => {
    readsAll(read, [...absent, ...blank, ["draft", "draft"], ["published", "published"]]);
    expect(readEnum("f", "", ["", "a"])).toBe("");
  });

  test("refuses everything else", () => {
    refusesAll(read, 'one of "draft", "published"', [
      ...containers,
      "Draft",
      "draft ",
      "other",
      0,
      true,
      "constructor",
    ]);
  });
});

describe("S36 readArray", () => {
  test("returns lists", () => {
    readsAll(readArray, [
      ...absent,
      [[], []],
      [
        ["a", 1, null],
        ["a", 1, null],
      ],
    ]);
  });

  test("refuses everything else", () => {
    refusesAll(readArray, "a list", ["", "a", "a,b", 1, true, {}, { 0: "a", length: 1 }]);
  });
});

test("S36 no reader ever returns another type", () => {
  const typed: readonly (readonly [InputReader<unknown>, (value: unknown) => boolean])[] = [
    [readString, (value) => typeof value === "string"],
    [readInteger, Number.isSafeInteger],
    [readFloat, Number.isFinite],
    [readBoolean, (value) => typeof value === "boolean"],
    [readDate, (value) => value instanceof Date && !Number.isNaN(value.getTime())],
    [readArray, Array.isArray],
  ];
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.string(), fc.stringMatching(/^[\d.eT:Z+-]{1,20}$/)), (value) => {
      for (const [reader, isTyped] of typed) {
        try {
          const result = reader("f", value);
          expect(result === null || isTyped(result)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(ValidationError);
        }
      }
    }),
    { numRuns: 1000 },
  );
});

test("isFilled returns whether a value has content", () => {
  const filled = ["a", 0, false, [null], { a: null }, new File([], "x")];
  const empty = [ABSENT, null, undefined, "", " \n", [], {}, Object.create(null)];
  expect([filled.map(isFilled), empty.map(isFilled)]).toEqual([filled.map(() => true), empty.map(() => false)]);
});
