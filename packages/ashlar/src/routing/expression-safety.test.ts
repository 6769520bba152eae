import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuTimeOf } from "../../test/support/cpu-time.ts";
import { problemOfExpression } from "./expression-safety.ts";

const AMBIGUOUS = expect.stringContaining("can match one text in two ways");

describe("what an application's own compiler may be", () => {
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
    /\u{1F600}+/u,
    /[a-z]+/i,
    /.+\.pdf/,
    /\w+\d+/,
    /(?:a|a)/,
    /^(?:x|y)$/,
    /a{2}|b{3,}/,
    /[\]\-[]+/,
    /(?:)/,
    /a{,3}/,
    /\x41\cA\0/,
    /(a)?b/,
    /[^;]+?(?:;[^;]+)*?/,
  ])("%s", (expression) => {
    expect(problemOfExpression(expression)).toBeNull();
  });
});

describe("what it may not be", () => {
  test.each([
    /(a+)+/,
    /(a*)*/,
    /(a|a)*/,
    /(a|ab?)+b/,
    /(?:a?){20,}/,
    /(?:a|b?)+/,
    /(?:\w+\s?)*/,
    /(?:\d+,?)+/,
    /(?:[a-z]+|\w+)*/,
    /x(?:(?:y+)z?)+/,
    /(?:.*a){3,}/,
    /([a-z]+)*\d/i,
    /(?:[a-z]|[A-Z])+/i,
    /(?:é|\u00e9)+/,
    /(?:😀|\p{Emoji})+/u,
  ])("%s, which is read in two ways", (expression) => {
    expect(problemOfExpression(expression)).toEqual(AMBIGUOUS);
  });

  test.each([
    [/a(?=b)/, "looks ahead or behind"],
    [/a(?!b)/, "looks ahead or behind"],
    [/(?<=a)b/, "looks ahead or behind"],
    [/(?<!a)b/, "looks ahead or behind"],
    [/(a)\1/, "refers back to a group"],
    [/(?<x>a)\k<x>/, "refers back to a group"],
    [/\bword\b/, "asserts the edge of a word"],
    [/a\Bb/, "asserts the edge of a word"],
    [/(?i:a)b/, "changes flags inside"],
    [/a/g, "the flags g and y"],
    [/a/y, "the flags g and y"],
    [/[a--b]/v, "the flag v"],
  ])("%s, with a reason", (expression, reason) => {
    expect(problemOfExpression(expression)).toContain(reason);
  });
});

describe("what passes is quick", () => {
  const atom = fc.constantFrom("a", "b", "[ab]", "\\w", "\\d", ".", "-", "[^-]");
  const quantifier = fc.constantFrom("", "", "*", "+", "?", "{2}", "{1,2}", "{2,}");
  const { expression } = fc.letrec<{ expression: string; group: string }>((tie) => ({
    expression: fc
      .array(fc.tuple(fc.oneof({ depthSize: "small", maxDepth: 3 }, atom, tie("group")), quantifier), {
        minLength: 1,
        maxLength: 3,
      })
      .map((parts) => parts.map((part) => part.join("")).join("")),
    group: fc
      .array(tie("expression") as fc.Arbitrary<string>, { minLength: 1, maxLength: 2 })
      .map((choices) => `(?:${choices.join("|")})`),
  }));

  test.each([
    /\d+\d+\d+/,
    /.*.*.*/,
    /\w*\d*\w*x/,
    /a*(?:b|a*)a*/,
    /a+b?a+b?a+/,
    /a{1,200}a{1,200}a{1,200}/,
    /[a-z]+(?:-[a-z]+)*[a-z]*[a-z]*/,
    /.*a.*b?.*/,
  ])("%s, whose repetitions in a row share a character, is refused", (slow) => {
    expect(problemOfExpression(slow)).toMatch(/^more than 2 repetitions in a row share a character/);
  });

  test.each([
    /\d+\d+/,
    /[a-z]+\d*[a-z]*/,
    /[a-z]+-[a-z]+-[a-z]+-[a-z]+/,
    /a*b*c*d*/,
    /a?a?a?a?/,
    /(?:a*|b*|c*)a*/,
    /a+ba+ba+/,
  ])("%s passes", (quick) => {
    expect(problemOfExpression(quick)).toBeNull();
  });

  test("no expression that passes takes a second on any of many hostile texts of the allowed length", () => {
    let passed = 0;
    fc.assert(
      fc.property(expression as fc.Arbitrary<string>, (source) => {
        const plain = new RegExp(source);
        if (problemOfExpression(plain) !== null) return;
        passed++;
        const whole = new RegExp(`^(?:${source})$`);
        for (const unit of ["a", "b", "ab", "a-", "1", "-", "aab"]) {
          const text = `${unit.repeat(255).slice(0, 255)}!`;
          expect(
            cpuTimeOf(() => void whole.test(text)),
            source,
          ).toBeLessThan(1000);
        }
      }),
      { numRuns: 300 },
    );
    expect(passed).toBeGreaterThan(50);
  });
});
