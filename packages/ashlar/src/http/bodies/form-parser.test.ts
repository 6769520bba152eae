import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuTimeOf } from "../../../test/support/cpu-time.ts";
import { AshlarError } from "../../support/index.ts";
import { nestFields, parseForm } from "./form-parser.ts";

const parse = (text: string) => parseForm(text, 1000, "E_INVALID_BODY");

describe("parseForm", () => {
  test.each<[string, unknown]>([
    ["", {}],
    ["&&&", {}],
    ["hello=you&goodbye=me", { hello: "you", goodbye: "me" }],
    ["a=1&a=2", { a: "2" }],
    ["a", { a: "" }],
    ["a=", { a: "" }],
    ["a=b=c", { a: "b=c" }],
    ["=x&[]=y", { "[]": "y" }],
    ["a+b=c+d&e=%2B%26%3D", { "a b": "c d", e: "+&=" }],
    ["na%C3%AFve=%F0%9F%98%80", { naïve: "😀" }],
    ["a[]=1", { a: ["1"] }],
    ["a[]=1&a[]=2", { a: ["1", "2"] }],
    ["a%5B%5D=1&a%5B%5D=2", { a: ["1", "2"] }],
    ["a[]=", { a: [""] }],
    ["user[]=user1&user[]=user2", { user: ["user1", "user2"] }],
    ["filter[name]=Joe&filter[last]=Bill", { filter: { name: "Joe", last: "Bill" } }],
    ["a[x][y][z]=1", { a: { x: { y: { z: "1" } } } }],
    ["a[1][2][3][4][5]=x", { a: { 1: { 2: { 3: { 4: { 5: "x" } } } } } }],
    ["a[0]=x&a[1]=y", { a: ["x", "y"] }],
    ["a[1]=y&a[0]=x", { a: ["x", "y"] }],
    ["a[0][n]=x&a[1][n]=y", { a: [{ n: "x" }, { n: "y" }] }],
    ["a[1]=x", { a: { 1: "x" } }],
    ["a[01]=x", { a: { "01": "x" } }],
    ["a[1000000]=x", { a: { 1000000: "x" } }],
    ["a[1000000]=x&a[]=y", { a: { 1000000: "x", 1000001: "y" } }],
    ["a[99999999999999999999]=x&a[]=y", { a: { "99999999999999999999": "x", 0: "y" } }],
    ["a[]=1&a[x]=2", { a: { 0: "1", x: "2" } }],
    ["a.b=1", { "a.b": "1" }],
    ["a[b.c]=1", { a: { "b.c": "1" } }],
    ["a[b=1", { "a[b": "1" }],
    ["a]=1", { "a]": "1" }],
    ["a[b]c=1", { "a[b]c": "1" }],
    ["a[b]c]=1", { "a[b]c]": "1" }],
    ["a[[b]]=1", { "a[[b]]": "1" }],
  ])("reads %j as %j", (text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  test.each<[string, unknown]>([
    ["user[][name]=J&user[][email]=x", { user: [{ name: "J" }, { email: "x" }] }],
    ["user[0][name]=J&user[0][email]=x", { user: [{ name: "J", email: "x" }] }],
    ["u[][n]=J&u[][n]=K", { u: [{ n: "J" }, { n: "K" }] }],
    ["u[][n]=J&u[]=z&u[][e]=x", { u: [{ n: "J" }, "z", { e: "x" }] }],
    ["u[][]=1&u[][]=2", { u: [["1"], ["2"]] }],
    ["u[0][]=1&u[0][]=2", { u: [["1", "2"]] }],
    ["u[][a][x]=1&u[][a][y]=2", { u: [{ a: { x: "1" } }, { a: { y: "2" } }] }],
    ["u[][x]=1&u[0]=2&u[][y]=3", { u: ["2", { y: "3" }] }],
    ["u[][x]=1&u[0][y]=2", { u: [{ x: "1", y: "2" }] }],
  ])("each [] is a separate element: %j is %j", (text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  test.each<[string, unknown]>([
    ["a=1&a[x]=2", { a: { x: "2" } }],
    ["a[x]=2&a=1", { a: "1" }],
    ["a=1&a[]=2", { a: ["2"] }],
    ["a[]=2&a=1", { a: "1" }],
    ["a[x]=1&a[x][y]=2", { a: { x: { y: "2" } } }],
  ])("if a field is both text and an object, the later one wins: %j is %j", (text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  test.each(["a=%", "a=%zz", "a=%1", "%E0%A4%A=1", "a=%80", "a=%C0%AF", "a=%ED%A0%80", "a=%FF"])(
    "S42 malformed %s is refused",
    (text) => {
      expect(() => parse(text)).toThrow(
        new AshlarError("E_INVALID_BODY", "The percent-encoding is malformed or is not UTF-8."),
      );
    },
  );

  test("S42 six pairs of brackets are refused with a message that explains the limit", () => {
    expect(() => parse("a[1][2][3][4][5][6]=x")).toThrow(
      new AshlarError("E_INVALID_BODY", "The name of a field has more than 5 pairs of brackets."),
    );
  });

  test("S42 the allowed number of fields is read, one more is refused", () => {
    expect(Object.keys(parseForm("a=1&b=2&&c=3", 3, "E_BAD_REQUEST"))).toEqual(["a", "b", "c"]);
    expect(() => parseForm("a=1&b=2&c=3&d=4", 3, "E_BAD_REQUEST")).toThrow(
      expect.objectContaining({ code: "E_BAD_REQUEST", message: "There are more than 3 fields." }),
    );
  });

  test("S42 a megabyte of separators, brackets or one repeated name is read quickly", () => {
    const time = cpuTimeOf(() => {
      parse("&".repeat(1_000_000));
      expect(() => parse(`a${"[]".repeat(500_000)}=1`)).toThrow("5 pairs of brackets");
      parseForm("a[][b]=1&".repeat(100_000), 100_000, "E_INVALID_BODY");
    });
    expect(time).toBeLessThan(5000);
  });

  test.each(["__proto__", "constructor", "prototype"])("S43 %s is stored at no level", (name) => {
    const result = parse(`${name}=1&${name}[x]=1&a[${name}]=1&a[${name}][x]=1&a[b][][${name}]=1&ok=1`);
    expect(result).toEqual({ ok: "1" });
    expect(Object.getPrototypeOf(result)).toBeNull();
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  test("S43 no object at any level has a prototype", () => {
    const { a } = parse("a[b][c]=1") as { a: { b: object } };
    expect([Object.getPrototypeOf(a), Object.getPrototypeOf(a.b)]).toEqual([null, null]);
  });
});

describe("any form", () => {
  const name = fc
    .string({ minLength: 1 })
    .filter((text) => !/[[\]]/.test(text) && !/^(__proto__|constructor|prototype)$/.test(text));

  test("flat fields are read like URLSearchParams reads them", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.string({ unit: "grapheme" }))), (pairs) => {
        const encoded = new URLSearchParams(pairs).toString();
        expect(parse(encoded)).toEqual(
          Object.assign(Object.create(null), Object.fromEntries(new URLSearchParams(encoded))),
        );
      }),
    );
  });

  test("a tree of objects and lists survives being written with brackets", () => {
    const key = fc.stringMatching(/^[a-z]{1,4}$/);
    const leaf = fc.string();
    // A form can't represent empty lists and objects.
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4, depthSize: "small" },
        leaf,
        fc.array(tie("tree"), { minLength: 1, maxLength: 3 }),
        fc.dictionary(key, tie("tree"), { minKeys: 1, maxKeys: 3 }),
      ),
    }));
    const write = (value: unknown, path: string): [string, string][] =>
      typeof value === "string"
        ? [[path, value]]
        : Object.entries(value as object).flatMap(([member, child]) => write(child, `${path}[${member}]`));
    fc.assert(
      fc.property(tree, (value) => {
        expect(nestFields(write(value, "root"), "E_INVALID_BODY")).toEqual({ root: value });
      }),
    );
  });

  test("S42 S43 any text results in a dictionary or a 400, and no prototype changes", () => {
    const piece = fc.oneof(
      fc.constantFrom("[", "]", "[]", "=", "&", "%", "%5B", "%5D", "+", ".", "0", "1", "a", "__proto__", "constructor"),
      fc.string(),
    );
    const before = Object.getOwnPropertyNames(Object.prototype);
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        try {
          expect(Object.getPrototypeOf(parse(pieces.join("")))).toBeNull();
        } catch (error) {
          expect(error).toMatchObject({ name: "AshlarError", status: 400 });
        }
      }),
      { numRuns: 1000 },
    );
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  });
});
