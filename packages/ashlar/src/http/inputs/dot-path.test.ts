import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ABSENT, getPath, removePath } from "./typed-inputs.ts";

const inputs = {
  key: "val",
  none: null,
  a: {
    b: [
      { i: 1, c: 2 },
      { i: 6, c: 8 },
    ],
    c: { d: 1 },
  },
  orders: [{ lines: [{ sku: "x" }, { sku: "y" }] }, { lines: [] }, { lines: [{ sku: "z" }] }],
  people: { ann: { age: 1 }, bob: { age: 2 }, eve: {} },
  matrix: [[1, 2], [3]],
  tags: [["a"], ["b"]].map((list) => ({ list })),
  empty: [],
  "x.y": "literal",
  x: { y: "nested" },
  "": { "": "blank" },
};

describe("getPath", () => {
  test.each<[string, unknown]>([
    ["key", "val"],
    ["none", null],
    ["a.c", { d: 1 }],
    ["a.c.d", 1],
    ["a.b.0.c", 2],
    ["a.b.1", { i: 6, c: 8 }],
    ["a.b.*.i", [1, 6]],
    ["orders.*.lines.*.sku", ["x", "y", "z"]],
    ["orders.0.lines.*.sku", ["x", "y"]],
    ["people.*.age", [1, 2]],
    ["matrix.*", [[1, 2], [3]]],
    ["matrix.*.0", [1, 3]],
    ["matrix.*.*", [1, 2, 3]],
    ["tags.*.list", [["a"], ["b"]]],
    ["tags.*.list.*", ["a", "b"]],
    ["a.c.*", [1]],
    ["empty.*", []],
    ["empty.*.id", []],
    ["x.y", "literal"],
    [".", "blank"],
  ])("%s finds %j", (path, expected) => {
    expect(getPath(inputs, path)).toEqual(expected);
  });

  test.each([
    "missing",
    "missing.deeper",
    "key.0",
    "key.length",
    "none.x",
    "a.b.9",
    "a.b.9.c",
    "a.b.-1",
    "a.b.01",
    "a.b.1.5",
    "a.b.length",
    "a.b.at",
    "a.b.*.zzz",
    "key.*",
    "none.*",
    "toString",
    "a.toString",
    "a..c",
  ])("%s finds nothing", (path) => {
    expect(getPath(inputs, path)).toBe(ABSENT);
  });

  test("* alone returns all values at the start of the path", () => {
    expect(getPath(["x", { y: 1 }], "*")).toEqual(["x", { y: 1 }]);
    expect(getPath([{ y: 1 }, { y: 2 }], "*.y")).toEqual([1, 2]);
    expect(getPath({ a: 1, b: 2 }, "*")).toEqual([1, 2]);
  });

  test.each([
    "__proto__",
    "constructor",
    "prototype",
    "a.__proto__",
    "a.constructor.name",
    "a.b.constructor",
    "people.*.__proto__",
  ])("S43 %s is never followed", (path) => {
    expect(getPath(inputs, path)).toBe(ABSENT);
  });

  test("S43 an object's own property with such a name is not followed either", () => {
    const hostile = JSON.parse('{"__proto__":{"x":1},"a":{"constructor":{"x":1}}}');
    expect([getPath(hostile, "__proto__.x"), getPath(hostile, "a.constructor.x")]).toEqual([ABSENT, ABSENT]);
  });

  test("a path never enters an instance of a class", () => {
    expect(getPath({ at: new Date(0), file: new File([], "x") }, "at.getTime")).toBe(ABSENT);
    expect(getPath({ file: new File([], "x") }, "file.name")).toBe(ABSENT);
  });
});

describe("any path", () => {
  const path = fc
    .array(fc.oneof(fc.constantFrom("a", "b", "*", "0", "1", "", "__proto__", "length"), fc.string()))
    .map((keys) => keys.join("."));
  const value = fc.oneof(
    fc.object({ key: fc.constantFrom("a", "b", "0", "*", "x.y"), maxDepth: 4 }),
    fc.array(fc.object()),
  );

  test("S43 finds a value in the tree, a list of such values, or nothing, and never throws", () => {
    fc.assert(
      fc.property(value, path, (root, way) => {
        const found = getPath(root as never, way);
        expect(found === Object.prototype || found === Array.prototype || typeof found === "function").toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  test("finds the leaf that it leads to", () => {
    const tree = fc.object({
      key: fc.stringMatching(/^[a-z]{1,3}$/),
      values: [fc.integer(), fc.string(), fc.constant(null)],
      maxDepth: 4,
    });
    const leaves = (node: unknown, way: string[]): [string, unknown][] =>
      typeof node === "object" && node !== null && Object.keys(node).length > 0
        ? Object.entries(node).flatMap(([key, child]) => leaves(child, [...way, key]))
        : [[way.join("."), node]];
    fc.assert(
      fc.property(tree, (root) => {
        fc.pre(Object.keys(root).length > 0);
        for (const [way, leaf] of leaves(root, [])) expect(getPath(root as never, way)).toBe(leaf);
      }),
    );
  });
});

describe("removePath", () => {
  test.each<[string, unknown]>([
    ["a", { l: [1, 2, 3], o: [{ s: 1, t: 1 }, { s: 2 }] }],
    ["a.b", { a: { c: 2 }, l: [1, 2, 3], o: [{ s: 1, t: 1 }, { s: 2 }] }],
    ["a.*", { a: {}, l: [1, 2, 3], o: [{ s: 1, t: 1 }, { s: 2 }] }],
    ["l.1", { a: { b: 1, c: 2 }, l: [1, 3], o: [{ s: 1, t: 1 }, { s: 2 }] }],
    ["l.*", { a: { b: 1, c: 2 }, l: [], o: [{ s: 1, t: 1 }, { s: 2 }] }],
    ["o.*.s", { a: { b: 1, c: 2 }, l: [1, 2, 3], o: [{ t: 1 }, {}] }],
    ["*", {}],
  ])("without %s, the rest is %j", (path, expected) => {
    const root = { a: { b: 1, c: 2 }, l: [1, 2, 3], o: [{ s: 1, t: 1 }, { s: 2 }] };
    removePath(root, path);
    expect(root).toEqual(expected);
  });

  test.each(["nowhere", "a.x.y", "l.9", "l.length", "a.b.c", "__proto__.x", "constructor", "l.constructor"])(
    "%s removes nothing",
    (path) => {
      const root = { a: { b: 1 }, l: [1] };
      removePath(root, path);
      expect(root).toEqual({ a: { b: 1 }, l: [1] });
    },
  );
});
