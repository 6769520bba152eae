import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type Cast,
  dateOf,
  differs,
  fromDatabase,
  plainForm,
  sameValue,
  storedForm,
  toDatabase,
} from "./model-attributes.ts";

const date = fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true });

test("times that the framework wrote are read to the millisecond, as a Date or as text", () => {
  const at = 1_900_000_000_123;
  for (const time of [new Date(at), new Date(at).toISOString()]) expect(dateOf(time)).toEqual(new Date(at));
});

test("stored values are read back unchanged, and compare as equal", () => {
  const kinds: [Cast | undefined, fc.Arbitrary<unknown>][] = [
    ["datetime", date],
    ["boolean", fc.boolean()],
    ["integer", fc.maxSafeInteger()],
    ["json", fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown)],
    [undefined, fc.oneof(fc.string(), fc.integer())],
  ];
  for (const [cast, values] of kinds) {
    fc.assert(
      fc.property(values, (value) => {
        const stored = toDatabase(cast, "column", value);
        const back = fromDatabase(cast, "column", stored);
        if (value !== null) expect(back).toEqual(value);
        expect(sameValue(cast, toDatabase(cast, "column", back), stored)).toBe(true);
      }),
    );
  }
});

test("times stored as text sort like times", () => {
  fc.assert(
    fc.property(date, date, (a, b) => {
      expect(a.toISOString() < b.toISOString()).toBe(a.getTime() < b.getTime());
    }),
  );
});

test("null and undefined pass through every cast", () => {
  for (const cast of ["datetime", "boolean", "json", "integer", undefined] as const) {
    expect([fromDatabase(cast, "c", null), toDatabase(cast, "c", null), toDatabase(cast, "c", undefined)]).toEqual([
      null,
      null,
      undefined,
    ]);
  }
});

describe("times from the database, in any time zone of the server", () => {
  const { TZ } = process.env;
  beforeEach(() => {
    process.env.TZ = "Asia/Kolkata";
  });
  afterEach(() => {
    delete process.env.TZ;
    Object.assign(process.env, TZ === undefined ? {} : { TZ });
  });

  test.each([
    ["2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00.000Z"],
    ["2026-01-31 12:00:00", "2026-01-31T12:00:00.000Z"],
    ["2026-01-31T12:00:00.25", "2026-01-31T12:00:00.250Z"],
    ["2026-01-31T12:00:00+02:00", "2026-01-31T10:00:00.000Z"],
    [new Date(0), "1970-01-01T00:00:00.000Z"],
  ])("%s is %s", (value, expected) => {
    expect((fromDatabase("datetime", "c", value) as Date).toISOString()).toBe(expected);
    expect(dateOf(value).toISOString()).toBe(expected);
  });

  test("a returned time is a separate object", () => {
    const original = new Date(0);
    expect(fromDatabase("datetime", "c", original)).not.toBe(original);
    expect(toDatabase("datetime", "c", original)).not.toBe(original);
  });
});

test.each([
  ["boolean", 1, true],
  ["boolean", 0, false],
  ["boolean", 0n, false],
  ["integer", "42", 42],
  ["integer", 9007199254740993n, 9007199254740993n],
  ["json", { parsed: true }, { parsed: true }],
] as const)("%s reads %s", (cast, value, expected) => {
  expect(fromDatabase(cast, "c", value)).toEqual(expected);
});

test.each([
  ["datetime", "2026-01-31T12:00:00+02:00", new Date("2026-01-31T10:00:00.000Z")],
  ["integer", 9007199254740993n, 9007199254740993n],
  ["json", { a: [1] }, '{"a":[1]}'],
] as const)("%s stores %s", (cast, value, expected) => {
  expect(toDatabase(cast, "c", value)).toEqual(expected);
});

test("times in JSON, including an invalid one", () => {
  for (const time of [new Date(5), new Date(Number.NaN)]) {
    expect(plainForm(time)).toBe(JSON.parse(JSON.stringify(time)));
  }
});

test.each([
  ["datetime", "not a time"],
  ["datetime", 5],
  ["datetime", {}],
  ["boolean", "yes"],
  ["json", "{broken"],
  ["integer", "1.5"],
  ["integer", ""],
] as const)("%s cannot read %j, and does not repeat it", (cast, value) => {
  const read = (): unknown => fromDatabase(cast, "the_column", value);
  expect(read).toThrow(
    expect.objectContaining({
      code: "E_DATABASE",
      message: `The column "the_column" holds a value that the cast "${cast}" cannot read.`,
    }),
  );
});

test.each([
  ["datetime", "not a time"],
  ["datetime", new Date(Number.NaN)],
  ["datetime", 5],
  ["boolean", 1],
  ["boolean", "true"],
  ["integer", 1.5],
  ["integer", "1"],
  ["integer", Number.NaN],
  ["json", (): number => 1],
  ["datetime", (): number => 1],
  ["boolean", (): boolean => true],
] as const)("%s does not store %s", (cast, value) => {
  const code = typeof value === "function" ? "E_INVALID_QUERY" : "E_INVALID_INPUT";
  expect(() => toDatabase(cast, "c", value)).toThrow(expect.objectContaining({ code }));
});

test("sameness", () => {
  expect(sameValue("json", '{"a":1,"b":2}', '{"b":2,"a":1}')).toBe(true);
  expect(sameValue("json", "[1,2]", "[2,1]")).toBe(false);
  expect(sameValue(undefined, '{"a":1,"b":2}', '{"b":2,"a":1}')).toBe(false);
  expect(sameValue(undefined, new Uint8Array([1]), new Uint8Array([1]))).toBe(true);
  expect(sameValue(undefined, new Uint8Array([1]), new Uint8Array([2]))).toBe(false);
  expect(sameValue(undefined, new Uint8Array([1]), "1")).toBe(false);
  expect(sameValue(undefined, "1", new Uint8Array([1]))).toBe(false);
  expect(sameValue(undefined, 1, "1")).toBe(false);
  expect(sameValue(undefined, null, undefined)).toBe(false);
});

test("a value that cannot be stored differs from every value that can", () => {
  expect(differs("datetime", "c", "not a time", "2026-01-31T12:00:00.000Z")).toBe(true);
  expect(differs("datetime", "c", "2026-01-31T12:00:00.000Z", "2026-01-31 12:00:00")).toBe(false);
});

test("only values of one kind can be the same", () => {
  const time = new Date(0);
  expect([sameValue(undefined, time, new Date(0)), sameValue(undefined, time, new Date(1))]).toEqual([true, false]);
  for (const [a, b] of [
    [time, 0],
    ["null", null],
  ]) {
    for (const cast of [undefined, "json"] as const) {
      expect([sameValue(cast, a, b), sameValue(cast, b, a)]).toEqual([false, false]);
    }
  }
});

test("a missing value of a row has no stored form", () => {
  for (const cast of ["datetime", "boolean", "json", "integer", undefined] as const) {
    expect(storedForm(cast, "c", undefined)).toBe(undefined);
  }
  expect(storedForm(undefined, "c", "as it is")).toBe("as it is");
});

test("a large integer in JSON is text", () => {
  expect(plainForm(9007199254740993n)).toBe("9007199254740993");
});
