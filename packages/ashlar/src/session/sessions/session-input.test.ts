import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fittingInput, inputAt, refillableInput } from "./session-input.ts";

describe("inputs kept to fill in a form", () => {
  test("passwords, tokens and secrets are left out at any depth and in any spelling", () => {
    const input = {
      email: "ada@example.com",
      password: "1",
      password_confirmation: "2",
      newPassword: "3",
      PASSWORD: "4",
      api_token: "5",
      clientSecret: "6",
      passphrase: "7",
      passcode: "8",
      user: { name: "Ada", password: "9", keys: [{ secret: "10", label: "main" }] },
    };
    expect(refillableInput(input)).toEqual({
      email: "ada@example.com",
      user: { name: "Ada", keys: [{ label: "main" }] },
    });
  });

  test("no input with such a name is ever kept, at any depth", () => {
    const names = fc.constantFrom("password", "x_PassWord", "tokenValue", "my-secret", "a", "b");
    const tree = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 5 },
        fc.constant("kept"),
        fc.array(tie("node"), { maxLength: 3 }),
        fc.dictionary(names, tie("node")),
      ),
    })).node;
    fc.assert(
      fc.property(fc.dictionary(names, tree), (input) => {
        expect(JSON.stringify(refillableInput(input))).not.toMatch(/(password|token|secret)\w*":/i);
      }),
    );
  });

  test("the framework's own inputs, names that could reach a prototype and values that JSON cannot represent are left out", () => {
    const input: Record<string, unknown> = JSON.parse(
      '{"__note":"x","a":{"__proto__":{"isAdmin":true},"constructor":1}}',
    );
    Object.assign(input, { file: new Blob([]), big: 1n, number: Number.NaN, list: [new Date(0), "b"], empty: null });
    expect(refillableInput(input)).toEqual({ a: {}, list: [null, "b"], empty: null });
    expect({}).not.toHaveProperty("isAdmin");
  });

  test("16 levels of lists and objects are kept and no more, whatever a name ends in", () => {
    const nested = (levels: number, around: (value: unknown) => unknown): unknown =>
      levels === 0 ? "the innermost" : around(nested(levels - 1, around));
    const inAnObject = (value: unknown) => ({ value });
    const inAList = (value: unknown) => [value];
    // The inputs themselves are the first level.
    expect(refillableInput({ a__: nested(15, inAnObject) })).toEqual({ a__: nested(15, inAnObject) });
    expect(refillableInput({ a: nested(15, inAList) })).toEqual({ a: nested(15, inAList) });
    expect(JSON.stringify(refillableInput({ a: nested(16, inAnObject) }))).not.toContain("innermost");
    expect(JSON.stringify(refillableInput({ a: nested(16, inAList) }))).not.toContain("innermost");
    expect(Object.keys(refillableInput({ file: new Blob([]), inner: { file: new Blob([]) } }))).toEqual(["inner"]);
    expect(refillableInput({ inner: { file: new Blob([]) } }).inner).toStrictEqual({});
  });

  test("endless nesting is cut off", () => {
    const input: Record<string, unknown> = {};
    input.self = input;
    expect(JSON.stringify(refillableInput(input)).length).toBeLessThan(300);
  });
});

describe("size", () => {
  test("short inputs are kept first, and never more than fits", () => {
    const input = { text: "x".repeat(1000), name: "Ada", email: "ada@example.com" };
    expect(fittingInput(input, 100)).toEqual({ name: "Ada", email: "ada@example.com" });
    expect(fittingInput(input, 20)).toEqual({ name: "Ada" });
    expect(fittingInput(input, Buffer.byteLength('{"name":"Ada"}'))).toEqual({ name: "Ada" });
    expect(fittingInput(input, Buffer.byteLength('{"name":"Ada"}') - 1)).toEqual({});
    expect(fittingInput(input, 0)).toEqual({});
    expect(fittingInput(input, -5)).toEqual({});
    expect(fittingInput(input, 10_000)).toEqual(input);
  });

  test("the kept inputs always fit", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(400), (input, room) => {
        const kept = fittingInput(input, room);
        if (Object.keys(kept).length > 0) expect(Buffer.byteLength(JSON.stringify(kept))).toBeLessThanOrEqual(room);
      }),
    );
  });
});

describe("paths", () => {
  const items = Object.assign([{ name: "nut" }], { x0: "a member", "0x": "another" });
  const input = { name: "Ada", "a.b": "whole", items, empty: null };

  test.each<[string, unknown]>([
    ["name", "Ada"],
    ["items.0.name", "nut"],
    ["a.b", "whole"],
    ["empty", null],
    ["items.1.name", undefined],
    ["items.length", undefined],
    ["items.-1", undefined],
    ["items.1", undefined],
    ["items.x0", undefined],
    ["items.0x", undefined],
    ["name.length", undefined],
    ["empty.a", undefined],
    ["", undefined],
    ["toString", undefined],
    ["constructor.name", undefined],
    ["__proto__.toString", undefined],
  ])("%j finds %j", (path, expected) => {
    expect(inputAt(input, path)).toBe(expected);
  });

  test("a path through missing input finds nothing", () => {
    expect([null, undefined, "text", 7].map((none) => inputAt(none, "a"))).toEqual(Array(4).fill(undefined));
  });
});
