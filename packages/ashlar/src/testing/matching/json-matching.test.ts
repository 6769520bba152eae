import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asJson, missingPart, NOWHERE, valueAt } from "./json-matching.ts";

const DATA = { data: [{ name: "a", tags: ["x"] }, { name: "b" }], meta: { total: 2, next: null } };

describe("paths", () => {
  test.each([
    ["", DATA],
    ["data.0.name", "a"],
    ["data.*.name", ["a", "b"]],
    ["data.*.tags", [["x"]]],
    ["data.*.tags.*", [["x"]]],
    ["meta.*", [2, null]],
    ["meta.next", null],
    ["data.length", 2],
    ["meta.next.x", NOWHERE],
    ["data.2", NOWHERE],
    ["data.0.name.0", NOWHERE],
    ["meta.toString", NOWHERE],
    ["meta.__proto__", NOWHERE],
    ["none.*", NOWHERE],
  ])("%s", (path, value) => {
    expect(valueAt(DATA, path)).toEqual(value);
  });
});

describe("parts", () => {
  test.each([
    [{}, null],
    [{ meta: { total: 2 } }, null],
    [{ data: [{ name: "a" }, {}] }, null],
    [{ meta: { total: 3 } }, '"meta.total" is 2 instead of 3.'],
    [{ meta: { total: "2" } }, '"meta.total" is 2 instead of "2".'],
    [{ meta: { totals: 2 } }, 'There is nothing at "meta.totals".'],
    [{ data: [{ name: "a" }] }, '"data" has 2 elements instead of 1.'],
    [{ data: [{ name: "a" }, { name: "c" }] }, '"data.1.name" is "b" instead of "c".'],
    [{ data: {} }, `"data" is ${JSON.stringify(DATA.data)} instead of an object.`],
    [{ meta: [] }, `"meta" is ${JSON.stringify(DATA.meta)} instead of a list.`],
    [{ meta: { next: {} } }, '"meta.next" is null instead of an object.'],
    [{ toString: 1 }, 'There is nothing at "toString".'],
    [[], `The value is ${JSON.stringify(DATA)} instead of a list.`],
    [1, `The value is ${JSON.stringify(DATA)} instead of 1.`],
  ])("%j", (expected, problem) => {
    expect(missingPart(DATA, expected)).toBe(problem);
  });

  test("every value contains itself", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = asJson(value);
        expect(missingPart(json, json)).toBeNull();
      }),
    );
  });
});

test("a value after a round trip through JSON", () => {
  expect(asJson({ at: new Date(0), model: { toJSON: () => ({ id: 1 }) }, none: undefined })).toEqual({
    at: "1970-01-01T00:00:00.000Z",
    model: { id: 1 },
  });
  expect(asJson(undefined)).toBeUndefined();
});
