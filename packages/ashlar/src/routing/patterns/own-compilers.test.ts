import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuTimeOf } from "../../../test/support/cpu-time.ts";
import { ownCompilers, type ValueTest } from "./own-compilers.ts";

async function prepared(expression: RegExp): Promise<ValueTest | string | undefined> {
  return (await ownCompilers({ own: expression })).get("own");
}

async function testOf(expression: RegExp): Promise<ValueTest> {
  const test = await prepared(expression);
  if (typeof test !== "function") throw new Error(`${expression}: ${test}`);
  return test;
}

describe("an expression matches what JavaScript matches with the u flag and anchored at both ends", () => {
  const VALUES = [
    ..."ab1-_.;xyvAZ é\u00dfßſKk中ж٣😀]\\[",
    ...[
      "",
      "ab",
      "ba",
      "aab",
      "abab",
      "aa",
      "aaa",
      "2026",
      "123456",
      "a-b",
      "a-1-b",
      "a--b",
      "v1.2.3",
      "AB-7",
      "x.pdf",
    ],
    ...["foo bar", "word", "a;b", "Ωω", "漢字", "acabc", "yyz", "\n", "\t", "A\0"],
  ];

  test.each([
    /\d{4}/,
    /[a-z]+/,
    /[a-z0-9]+(?:-[a-z0-9]+)*/,
    /v\d+(?:\.\d+){0,2}/,
    /(?:[a-z]+\.)+[a-z]+/,
    /(?<name>[A-Z]{2})-\d+/,
    /(?:\d{3}){2,}/,
    /(?:ab|cd)+/,
    /(?:ab?c)+/,
    /[\p{L}\p{N} ]+/u,
    /\p{Lu}/u,
    /\P{L}/u,
    /\p{Script=Greek}+/u,
    /[\p{sc=Han}x]+/u,
    /\u{1F600}+/u,
    /[a-z]+/i,
    /[a-z]+/iu,
    /(?i:a)b/,
    /.+\.pdf/,
    /a.b/s,
    /[^a]/,
    /\W/iu,
    /\bword\b|a\Bb/,
    /\w+\d+/,
    /(?:a|a)/,
    /a|ab/,
    /^(?:x|y)$/,
    /a{2}|b{3,}/,
    /[\]\-[]+/,
    /(?:)/,
    /\x41\cA?\0/,
    /(a)?b/,
    /[^;]+?(?:;[^;]+)*?/,
    /(?:\w+\s?)*/,
    /x?(?:(?:y+)z?)+/,
    /(?:é|\u00e9|ж)+/,
    /(?:😀|\p{Emoji})+/u,
  ])("%s", async (expression) => {
    const fits = await testOf(expression);
    const flags = expression.flags.includes("u") ? expression.flags : `${expression.flags}u`;
    const whole = new RegExp(`^(?:${expression.source})$`, flags);
    expect(VALUES.filter(fits)).toEqual(VALUES.filter((value) => whole.test(value)));
    expect(VALUES.some(fits)).toBe(true);
  });
});

describe("an expression that cannot be used is refused with the reason", () => {
  test.each([
    [/a(?=b)/, "RE2 cannot match it (invalid or unsupported Perl syntax: `(?=`)"],
    [/a(?!b)/, "(invalid or unsupported Perl syntax: `(?!`)"],
    [/(?<=a)b/, "(?<=a)b"],
    [/(?<!a)b/, "(?<!a)b"],
    [
      /(a)\1/,
      "(invalid escape sequence: `\\1`); assertions such as (?=…) and references such as \\1 are not supported",
    ],
    [/(?<x>a)\k<x>/, "it refers back to a group by name"],
    [/(?<x>a)\\\k<x>/, "it refers back to a group by name"],
    [/a{1,2000}/, "(invalid repeat count: `{1,2000}`)"],
    [/[[:alpha:]]/, "/[[:alpha:]]/u: Lone quantifier brackets"],
    [/a{,3}/, "/a{,3}/u: Incomplete quantifier"],
    [/a/g, "the flags g and y"],
    [/a/y, "the flags g and y"],
    [/[a--b]/v, "the flag v"],
    ["a" as never, "it is not a regular expression"],
  ])("%s", async (expression, reason) => {
    expect(await prepared(expression)).toContain(reason);
  });
});

describe("no text takes long to match", () => {
  /** The longest time that any hostile text of the allowed length takes, in milliseconds. */
  function longest(fits: ValueTest): number {
    const units = ["a", "b", "x", "y", "ab", "a-", "1", "-", "aab"];
    return Math.max(...units.map((unit) => cpuTimeOf(() => void fits(`${unit.repeat(255).slice(0, 255)}!`))));
  }

  test.each([
    /(a+)+/,
    /(a*)*/,
    /(a|a)*/,
    /(a|ab?)+b/,
    /(?:a?){20,}/,
    /(?:a|b?)+/,
    /(?:\d+,?)+/,
    /(?:[a-z]+|\w+)*/,
    /x(?:(?:y+)z?)+/,
    /(?:.*a){3,}/,
    /([a-z]+)*\d/i,
    /(?:[a-z]|[A-Z])+/i,
    /\d+\d+\d+/,
    /.*.*.*/,
    /\w*\d*\w*x/,
    /a+b?a+b?a+/,
    /a{1,200}a{1,200}a{1,200}/,
    /.*a.*b?.*/,
  ])("with %s", async (expression) => {
    expect(longest(await testOf(expression))).toBeLessThan(200);
  });

  test("with any expression", async () => {
    const atom = fc.constantFrom("a", "b", "[ab]", "\\w", "\\d", ".", "-", "[^-]");
    const quantifier = fc.constantFrom("", "", "*", "+", "?", "{2}", "{1,2}", "{2,}");
    const { expression } = fc.letrec<{ expression: string; group: string }>((tie) => ({
      expression: fc
        .array(fc.tuple(fc.oneof({ depthSize: "small", maxDepth: 3 }, atom, tie("group")), quantifier), {
          minLength: 1,
          maxLength: 3,
        })
        .map((parts) => parts.map((part) => part.join("")).join("")),
      group: fc.array(tie("expression"), { minLength: 1, maxLength: 2 }).map((choices) => `(?:${choices.join("|")})`),
    }));
    await fc.assert(
      fc.asyncProperty(expression, async (source) => {
        expect(longest(await testOf(new RegExp(source))), source).toBeLessThan(200);
      }),
      { numRuns: 300 },
    );
  });
});
