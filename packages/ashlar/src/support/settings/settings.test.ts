import { describe, expect, test } from "vitest";
import { ConfigurationError } from "../errors.ts";
import {
  derived,
  flag,
  fromText,
  integer,
  minutes,
  number,
  oneOf,
  type Setting,
  seconds,
  setting,
  shape,
  text,
  textLike,
} from "./setting-kinds.ts";
import { listOf, recordOf, settings } from "./settings.ts";

const WHERE = "config/x.ts: X.a";
const isDate = (value: unknown): value is Date => value instanceof Date;

/** The result of reading a setting, or its error. */
function read(one: Pick<Setting<unknown>, "read">, value: unknown): unknown {
  try {
    return one.read(value, WHERE);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
}

describe("missing settings", () => {
  test.each([[undefined], [null], [""]])("%j becomes the default", (value) => {
    const withDefaults = [text("b"), textLike("a letter", /^\w$/, "b"), integer({ from: 1, to: 5 }, 3), flag(true)];
    expect(withDefaults.map((one) => read(one, value))).toEqual(["b", "b", 3, true]);
    const optional = [text(null), minutes(null), flag(null), oneOf(["a"], null), shape("a date", isDate, null)];
    expect(optional.map((one) => read(one, value))).toEqual([null, null, null, null, null]);
    expect(read(listOf("a list", text(), []), value)).toEqual([]);
  });

  test.each([[undefined], [null], [""]])("%j is an error if there is no default", (value) => {
    expect(read(text(), value)).toBe(`${WHERE}: is missing. Write text in quotes: "…".`);
    expect(read(listOf("a list of names", text()), value)).toBe(`${WHERE}: is missing. Write a list of names.`);
    expect(read(settings<{ b: string }>()({ b: text() }), value)).toBe(
      `${WHERE}.b: is missing. Write text in quotes: "…".`,
    );
  });

  test("0 and false are not missing", () => {
    expect([read(integer({ from: 0, to: 5 }, 3), 0), read(flag(true), false)]).toEqual([0, false]);
  });

  test("null can have its own meaning", () => {
    const accept = (value: unknown) => (value === null || typeof value === "number" ? value : undefined);
    const one = setting<number | null>({ what: "a number, or null for no end", takesNull: true, accept, fallback: 60 });
    expect([null, undefined, "", 5].map((value) => read(one, value))).toEqual([null, 60, 60, 5]);
    expect(read(one, "soon")).toBe(`${WHERE}: is text. Write a number, or null for no end, or leave it out for 60.`);
  });
});

test("a number and a flag can be written as text, as in environment variables", () => {
  const [count, isOn] = [fromText(integer({ from: 0, to: 50 }, 3)), fromText(flag(null))];
  expect(["7", 7, "", null].map((value) => read(count, value))).toEqual([7, 7, 3, 3]);
  expect(["true", "false", true, ""].map((value) => read(isOn, value))).toEqual([true, false, true, null]);
  for (const value of ["1e1", "0x1", " 1", "-1", "1.0", "51"]) {
    expect(read(count, value)).toMatch(/Write a whole number from 0 to 50/);
  }
  expect(read(isOn, "yes")).toBe(`${WHERE}: is "yes". Write true or false, or leave it out.`);
});

test("a value can be converted after it is read", () => {
  const one = derived(minutes(2), (count, where) => `${where} ${count * 60}`);
  expect([undefined, 3, 0].map((value) => read(one, value))).toEqual([
    `${WHERE} 120`,
    `${WHERE} 180`,
    `${WHERE}: is 0. Write a whole number of minutes from 1 to 525600, or leave it out for 2.`,
  ]);
});

describe("one wording", () => {
  test.each<[Pick<Setting<unknown>, "read">, unknown, string]>([
    [minutes(120), "abc", 'is "abc". Write a whole number of minutes from 1 to 525600, or leave it out for 120.'],
    [seconds({ from: 0.1, to: 9 }, 1), 10, "is 10. Write a number of seconds from 0.1 to 9, or leave it out for 1."],
    [number({ from: 1, to: 5 }), Number.NaN, "is NaN. Write a number from 1 to 5."],
    [flag(null), "yes", 'is "yes". Write true or false, or leave it out.'],
    [
      oneOf(["one", "two", "six"], "one"),
      "eleven",
      'is "eleven". Write "one", "two" or "six", or leave it out for "one".',
    ],
    [oneOf(["a"]), ["b"], 'is ["b"]. Write "a".'],
    [textLike("a letter", /^\w$/), "ab", "is not valid. Write a letter."],
    [textLike("a letter", /^\w$/), 7, "is a number. Write a letter."],
    [oneOf(["cookie", "database"]), "cokie", 'is "cokie". Did you mean "cookie"? Write "cookie" or "database".'],
    [shape("a date", isDate), () => 1, "is a function. Write a date."],
    [recordOf(text()), [], "is a list. Write an object: { name: … }."],
    [listOf("a list of names", text(), []), {}, "is an object. Write a list of names, or leave it out."],
    [listOf("a list of names", text()), [], "is a list. Write a list of names."],
  ])("%# %j", (one, value, message) => {
    expect(read(one, value)).toBe(`${WHERE}: ${message}`);
  });

  test("S12 errors do not quote free text, which may be a secret, and shorten other values", () => {
    expect(read(text(), 12_345_678)).toBe(`${WHERE}: is a number. Write text in quotes: "…".`);
    expect(read(shape("a date", isDate), "hunter2")).toBe(`${WHERE}: is text. Write a date.`);
    expect(read(flag(), "x".repeat(10_000))).toBe(`${WHERE}: is "${"x".repeat(60)}…". Write true or false.`);
  });

  test("an error has the code that its setting specifies", () => {
    const one = setting({ what: "a key", accept: () => undefined, code: "E_MISSING_PACKAGE" });
    expect(() => one.read("a", WHERE)).toThrow(expect.objectContaining({ code: "E_MISSING_PACKAGE" }));
  });
});

test("a number may equal its bounds, but not exceed them", () => {
  const [fraction, count] = [number({ from: 1, to: 5 }), integer({ from: 1, to: 5 })];
  for (const value of [1, 5]) expect([read(fraction, value), read(count, value)]).toEqual([value, value]);
  expect(read(fraction, 2.5)).toBe(2.5);
  for (const value of [0.999, 5.001, Number.NaN, Number.POSITIVE_INFINITY, "3"]) {
    expect(read(fraction, value)).toMatch(/Write a number from 1 to 5\.$/);
    expect(read(count, value)).toMatch(/Write a whole number from 1 to 5\.$/);
  }
  expect(read(count, 2.5)).toMatch(/^config.* is 2\.5\. Write a whole number from 1 to 5\.$/);
});

describe("an object of settings", () => {
  interface Inner {
    readonly retrySeconds?: number;
  }
  interface Outer {
    readonly name?: string;
    readonly inner?: Inner;
    readonly limits?: Readonly<Record<string, Inner>>;
    readonly list?: readonly Inner[];
  }
  const inner = settings<Inner>()({ retrySeconds: seconds({ from: 1, to: 5 }, 2) });
  const outer = settings<Outer>()(
    { name: text("a"), inner, limits: recordOf(inner), list: listOf("a list", inner, []) },
    {
      check({ name, list }, refuse) {
        if (name === "b" && list.length > 0) throw refuse("list", "is of no use to b.", "Leave one of them out.");
      },
      former: { label: "Set name." },
    },
  );

  test("it is read to any depth, complete and frozen", () => {
    const complete = outer.read({ limits: { b: { retrySeconds: 3 } }, list: [null] }, WHERE);
    expect(complete).toEqual({
      name: "a",
      inner: { retrySeconds: 2 },
      limits: { b: { retrySeconds: 3 } },
      list: [{ retrySeconds: 2 }],
    });
    for (const part of [complete, complete.inner, complete.limits, complete.limits.b, complete.list]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  test.each([
    [{ limits: { b: { retrySeconds: 9 } } }, ".limits.b.retrySeconds: is 9."],
    [{ list: [{}, { retrySeconds: 9 }] }, ".list[1].retrySeconds: is 9."],
    [{ inner: [] }, ".inner: is a list. Write an object: { retrySeconds: … }."],
    [{ nmae: "b" }, '.nmae: is not a known setting. Did you mean "name"?'],
    [{ toString: "b" }, ".toString: is not a known setting."],
    [{ constructor: "b" }, ".constructor: is not a known setting."],
    [{ inner: { retry_seconds: 1 } }, '.inner.retry_seconds: is not a known setting. Did you mean "retrySeconds"?'],
    [{ label: "b" }, ".label: is no longer a setting. Set name."],
    [{ name: "b", list: [{}] }, ".list: is of no use to b. Leave one of them out."],
  ])("%j is refused, with its location", (value, message) => {
    expect(read(outer, value)).toContain(`${WHERE}${message}`);
  });

  test("a record's entry named __proto__ is an ordinary entry", () => {
    const record = recordOf(text()).read(JSON.parse('{"__proto__": "a"}'), WHERE);
    expect([Object.keys(record), Object.getPrototypeOf(record)]).toEqual([["__proto__"], Object.prototype]);
  });

  test("a schema that differs from its interface does not compile", () => {
    // @ts-expect-error a name is missing
    settings<Outer>()({ name: text("a"), inner, limits: recordOf(inner) });
    // @ts-expect-error an unknown name
    settings<Inner>()({ retrySeconds: seconds({ from: 1, to: 5 }, 2), retry: flag(true) });
    // @ts-expect-error another type
    settings<Inner>()({ retrySeconds: text("2") });
    // @ts-expect-error a word that authors may write is missing
    settings<{ word?: "a" | "b" }>()({ word: oneOf(["a"], "a") });
    // @ts-expect-error a word that authors may not write
    settings<{ word?: "a" | "b" }>()({ word: oneOf(["a", "b", "c"], "a") });
  });
});
