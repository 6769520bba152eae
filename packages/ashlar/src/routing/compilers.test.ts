import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CompilerProblem, compilerNamed, compilerSet } from "./compilers.ts";
import { ownCompilers } from "./own-compilers.ts";
import type { ValueSigner } from "./value-signer.ts";

/** Signs by turning the value round, so that a test sees what is signed. */
const mirror: ValueSigner = {
  sign: (value) => `~${[...value].reverse().join("")}`,
  verify: (token) => (token.startsWith("~") ? [...token.slice(1)].reverse().join("") : null),
};

const refuse = ({ name, problem }: CompilerProblem): never => {
  throw new Error(`${name}: ${problem}`);
};

const own = await ownCompilers({ year: /(?:19|20)\d\d/, name: /[\p{L} ]+/u, loud: /[A-Z]+/i });
const compilers = compilerSet(own, mirror, refuse);
const write = (name: string | null, value: string) => compilerNamed(name, compilers).write(value);
const read = (name: string | null, value: string) => compilerNamed(name, compilers).read?.(value);

describe("what a parameter may be", () => {
  test.each([
    [null, ["a", "1", " ", "a/b", "é"], []],
    ["int", ["0", "007", "12345678901234567890"], ["", "-1", "1.0", "1e3", "a", " 1", "1\n", "٣"]],
    ["integer", ["42"], ["4 2"]],
    ["string", ["a", "Z"], ["", "a1", "a-b", "é", "a\n"]],
    ["slug", ["a", "1", "a-1-b"], ["", "-", "a-", "-a", "a--b", "A", "a_b", "a\n"]],
    ["uuid", ["00000000-0000-0000-0000-000000000000", "ABCDEF01-2345-6789-abcd-ef0123456789"], ["", "0", "x"]],
    ["any", ["a", "a/b", "a.b/...", "..a"], ["", "/a", "a/", "a//b", "..", "a/..", "./a", "a/./b", "a\\..\\b", ".\\a"]],
    ["year", ["1999", "2026"], ["1899", "20260", "x2026"]],
    ["name", ["Zoë K"], ["Zoë1", ""]],
    ["loud", ["aB"], ["1"]],
  ])("%s", (name, fitting, others) => {
    for (const value of fitting) expect([value, write(name, value)]).toEqual([value, value]);
    for (const value of others) expect([value, write(name, value)]).toEqual([value, null]);
  });

  test("what is read is what was written, for those that look at decoded text", () => {
    for (const [name, value] of [
      ["any", "a/b"],
      ["year", "2026"],
      ["name", "Zoë K"],
      ["loud", "aB"],
    ] as const) {
      expect(read(name, value)).toBe(value);
      expect(read(name, "..")).toBeNull();
    }
    expect(read("int", "1")).toBeUndefined();
  });

  test("an own expression is held against the whole, whichever choice comes first", async () => {
    const set = compilerSet(await ownCompilers({ either: /a|ab/ }), null, refuse);
    expect(["a", "ab", "abb", "xa"].map((value) => compilerNamed("either", set).write(value))).toEqual([
      "a",
      "ab",
      null,
      null,
    ]);
  });

  test("an own expression sees at most 256 characters, however many it would take", () => {
    expect(write("loud", "a".repeat(256))).toHaveLength(256);
    expect(write("loud", "a".repeat(257))).toBeNull();
    expect(read("loud", "a".repeat(257))).toBeNull();
  });

  test("an own expression does not remember what it saw", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("1999", "19", "x")), (values) => {
        for (const value of values) expect(write("year", value)).toBe(value === "1999" ? value : null);
      }),
    );
  });
});

describe("signed", () => {
  test("what is signed says what it is for", () => {
    expect(write("signed", "7")).toBe(mirror.sign("parameter:7"));
    expect(read("signed", mirror.sign("parameter:7"))).toBe("7");
  });

  test("what was signed for something else, or not at all, is refused", () => {
    for (const token of [mirror.sign("url:7"), mirror.sign("7"), mirror.sign(""), "parameter:7", ""]) {
      expect(read("signed", token)).toBeNull();
    }
  });

  test("without a key there is no such compiler", () => {
    const none = compilerSet(new Map(), null, refuse);
    expect(none.has("signed")).toBe(false);
    expect(() => compilerNamed("signed", none)).toThrow("Set APP_KEY");
  });
});

test("a name that no compiler has is an error that names the near ones, own ones included", () => {
  expect(() => compilerNamed("yaer", compilers)).toThrow(
    expect.objectContaining({ code: "E_INVALID_ROUTE", message: 'unknown compiler "yaer". Did you mean "year"?' }),
  );
  for (const name of ["constructor", "__proto__", "toString"]) {
    expect(() => compilerNamed(name, compilers)).toThrow(`unknown compiler "${name}"`);
  }
});
