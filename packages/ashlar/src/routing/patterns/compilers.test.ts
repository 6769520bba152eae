import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CompilerProblem, compilerNamed, compilerSet, type ValueSigner } from "./compilers.ts";
import { ownCompilers } from "./own-compilers.ts";

/** Signs by reversing the value, so that tests can see what was signed. */
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

describe("the values a parameter accepts", () => {
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

  test("compilers that check decoded text read back the value that was written", () => {
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

  test("an application's expression must match the whole value, whichever alternative comes first", async () => {
    const set = compilerSet(await ownCompilers({ either: /a|ab/ }), null, refuse);
    expect(["a", "ab", "abb", "xa"].map((value) => compilerNamed("either", set).write(value))).toEqual([
      "a",
      "ab",
      null,
      null,
    ]);
  });

  test("an application's expression accepts at most 256 characters", () => {
    expect(write("loud", "a".repeat(256))).toHaveLength(256);
    expect(write("loud", "a".repeat(257))).toBeNull();
    expect(read("loud", "a".repeat(257))).toBeNull();
  });

  test("an application's expression keeps no state between values", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("1999", "19", "x")), (values) => {
        for (const value of values) expect(write("year", value)).toBe(value === "1999" ? value : null);
      }),
    );
  });
});

describe("signed", () => {
  test("a signed value includes its purpose", () => {
    expect(write("signed", "7")).toBe(mirror.sign("parameter:7"));
    expect(read("signed", mirror.sign("parameter:7"))).toBe("7");
  });

  test("a value signed for another purpose, or not signed, is refused", () => {
    for (const token of [mirror.sign("url:7"), mirror.sign("7"), mirror.sign(""), "parameter:7", ""]) {
      expect(read("signed", token)).toBeNull();
    }
  });

  test("the compiler does not exist without a key", () => {
    const none = compilerSet(new Map(), null, refuse);
    expect(none.has("signed")).toBe(false);
    expect(() => compilerNamed("signed", none)).toThrow("Set APP_KEY");
  });
});

test("an unknown name causes an error that suggests similar names, including the application's own", () => {
  expect(() => compilerNamed("yaer", compilers)).toThrow(
    expect.objectContaining({ code: "E_INVALID_ROUTE", message: 'unknown compiler "yaer". Did you mean "year"?' }),
  );
  for (const name of ["constructor", "__proto__", "toString"]) {
    expect(() => compilerNamed(name, compilers)).toThrow(`unknown compiler "${name}"`);
  }
});
