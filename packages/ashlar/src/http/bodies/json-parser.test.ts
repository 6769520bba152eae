import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AshlarError } from "../../support/index.ts";
import { parseJson } from "./json-parser.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const parse = (text: string, maxDepth = 64, maxValues = 10_000) => parseJson(encode(text), maxDepth, maxValues);

/** The value without the members that the parser omits. */
function stripped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stripped);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !["__proto__", "constructor", "prototype"].includes(name));
  return Object.fromEntries(kept.map(([name, member]) => [name, stripped(member)]));
}

function objectsIn(value: unknown): object[] {
  if (typeof value !== "object" || value === null) return [];
  const nested = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? nested : [value, ...nested];
}

/** The number of members and elements in a value, at any depth. */
function valuesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, one) => sum + 1 + valuesIn(one), 0);
}

describe("the number of values in JSON", () => {
  const message = "The JSON body has more than 10,000 values.";

  test.each([
    ["a list of 400,000 numbers", `[${"1,".repeat(399_999)}1]`],
    ["an object of 90,000 names", `{${Array.from({ length: 90_000 }, (_, index) => `"k${index}":1`).join()}}`],
    ["lists in lists", `[${"[1],".repeat(5000)}[1]]`],
    ["empty lists", `[${"[],".repeat(10_000)}[]]`],
    // The parser isn't given anything that it would refuse.
    ["a list that never ends", `[${"1,".repeat(10_001)}`],
  ])("S61 %s is refused before it is parsed", (_, text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: "E_INVALID_BODY", status: 400, message }));
  });

  test("S61 the contents of strings are not counted", () => {
    const text = JSON.stringify({ text: '[{,"\\'.repeat(20_000), list: Array.from({ length: 9_997 }, () => 1) });
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  test("S61 is exactly the number of members and elements, at any depth and with any whitespace", () => {
    const indent = fc.constantFrom(0, 2);
    fc.assert(
      fc.property(
        fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue())),
        indent,
        (value, by) => {
          // Long enough for the count to apply, whatever the limit.
          const text = `${JSON.stringify(value, null, by)}${" ".repeat(5000)}`;
          const values = valuesIn(value);
          fc.pre(values < 2000);
          expect(() => parse(text, 64, values)).not.toThrow();
          if (values > 0) expect(() => parse(text, 64, values - 1)).toThrow(`more than ${values - 1} values`);
        },
      ),
    );
  });
});

describe("parseJson", () => {
  test.each<[string, unknown]>([
    ["", {}],
    ["{}", {}],
    ["[]", []],
    ['{"key":"val","a":{"b":{"c":1}}}', { key: "val", a: { b: { c: 1 } } }],
    ['[{"foo":"x"}]', [{ foo: "x" }]],
    ['{"pi":2.7315926}', { pi: 2.7315926 }],
    [
      '{"big":9007199254740993,"huge":1e400,"n":null,"t":true}',
      { big: 9007199254740992, huge: Infinity, n: null, t: true },
    ],
    ['{"a":1,"a":2}', { a: 2 }],
    [' \r\n\t{"a":"\\u00e9\\ud83d\\ude00"} ', { a: "é😀" }],
    ["\uFEFF{}", {}],
  ])("reads %j as %j", (text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  test.each(["{", "[1,]", "{a:1}", "'a'", '{"a":1}x', " ", "undefined", "NaN", '{"a":01}', '["\u0001"]'])(
    "S42 malformed %j is refused without being quoted",
    (text) => {
      expect(() => parse(text)).toThrow(new AshlarError("E_INVALID_BODY", "The body is not valid JSON."));
    },
  );

  test.each(["1", '"text"', "true", "null"])("S42 a top level of %s is refused", (text) => {
    expect(() => parse(text)).toThrow(
      new AshlarError("E_INVALID_BODY", "The top level of a JSON body must be an object or a list."),
    );
  });

  test("S42 bad UTF-8 is refused", () => {
    expect(() => parseJson(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d), 64, 100)).toThrow(
      new AshlarError("E_INVALID_BODY", "The body is not valid UTF-8."),
    );
  });

  test("S42 nesting counts from the outermost level and ends at the limit", () => {
    expect(parse('{"a":[{"b":1}]}', 3)).toEqual({ a: [{ b: 1 }] });
    const refused = new AshlarError("E_INVALID_BODY", "The JSON body is nested too deeply.");
    expect(() => parse('{"a":[{"b":[]}]}', 3)).toThrow(refused);
    expect(() => parse("[[[[]]]]", 3)).toThrow(refused);
  });

  test.each([
    ["lists", "[".repeat(500_000) + "]".repeat(500_000)],
    ["objects", `${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}`],
    ["lists that never close", "[".repeat(1_000_000)],
  ])("S42 a megabyte of nested %s is a 400", (_, text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: "E_INVALID_BODY" }));
  });

  test.each(["__proto__", "constructor", "prototype", "\\u005f_proto__", "c\\u006fnstructor"])(
    "S43 a member named %s is left out at every level",
    (name) => {
      const result = parse(`{"${name}":{"x":1},"ok":[{"${name}":1,"deep":{"${name}":{"y":1},"z":1}}]}`);
      expect(result).toEqual({ ok: [{ deep: { z: 1 } }] });
      expect(({} as { x?: unknown }).x).toBeUndefined();
    },
  );

  test("S43 a string value with such a name is kept", () => {
    expect(parse('{"a":"__proto__","b":["constructor"]}')).toEqual({ a: "__proto__", b: ["constructor"] });
  });
});

describe("any JSON", () => {
  test("S43 results equal those of JSON.parse, except for dropped names and prototypes", () => {
    const names = fc.constantFrom("a", "b", "__proto__", "constructor", "prototype", "0");
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.jsonValue({ maxDepth: 1 }),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.array(fc.tuple(names, tie("value")), { maxLength: 4 }).map((members) => Object.fromEntries(members)),
      ),
    }));
    fc.assert(
      fc.property(fc.oneof(fc.array(value), fc.dictionary(fc.string(), value)), (body) => {
        const text = JSON.stringify(body);
        const result = parse(text);
        expect(result).toEqual(stripped(JSON.parse(text)));
        expect(objectsIn(result).every((object) => Object.getPrototypeOf(object) === null)).toBe(true);
      }),
    );
  });

  test("S42 any bytes result in an object, a list or a 400, in agreement with JSON.parse", () => {
    const bytes = fc.oneof(
      fc.uint8Array(),
      fc.json().map(encode),
      fc.json().map((text) => encode(text.slice(1))),
    );
    fc.assert(
      fc.property(bytes, (body) => {
        let reference: unknown = {};
        try {
          if (body.length > 0) reference = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
        } catch {
          reference = undefined;
        }
        if (typeof reference === "object" && reference !== null)
          expect(parseJson(body, 64, 10_000)).toEqual(stripped(reference));
        else expect(() => parseJson(body, 64, 10_000)).toThrow(expect.objectContaining({ code: "E_INVALID_BODY" }));
      }),
      { numRuns: 500 },
    );
  });
});
