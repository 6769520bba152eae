import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { attachment } from "./content-disposition.ts";

describe("Content-Disposition", () => {
  test.each([
    ["report.pdf", 'attachment; filename="report.pdf"'],
    ["my report (1).pdf", 'attachment; filename="my report (1).pdf"'],
    ["naïve.txt", "attachment; filename=\"na_ve.txt\"; filename*=UTF-8''na%C3%AFve.txt"],
    ["€ rates.csv", "attachment; filename=\"_ rates.csv\"; filename*=UTF-8''%E2%82%AC%20rates.csv"],
    ["100%.txt", "attachment; filename=\"100_.txt\"; filename*=UTF-8''100%25.txt"],
    ["é'()!.txt", "attachment; filename=\"_'()!.txt\"; filename*=UTF-8''%C3%A9%27%28%29!.txt"],
  ])("%s is %s", (name, expected) => {
    expect(attachment(name)).toBe(expected);
  });

  test.each([
    ['a"b.txt', "a_b.txt"],
    ["a\\b.txt", "a_b.txt"],
    ["../../etc/passwd", ".._.._etc_passwd"],
    ["a\r\nX: y", "a__X_ y"],
    ["a\u202etxt.exe", "a_txt.exe"],
    ["..", "_"],
    ["", "download"],
    ["   ", "download"],
    ["\ud800", "_"],
  ])("S46 %j is saved as %s", (name, expected) => {
    expect(attachment(name)).toBe(`attachment; filename="${expected}"`);
  });

  test("S46 any name gives a header that is one line of ASCII with balanced quotes, and comes back", () => {
    fc.assert(
      fc.property(anyText({ maxLength: 40 }), (name) => {
        const header = attachment(name);
        expect(header).toMatch(
          /^attachment; filename="[\x20\x21\x23-\x5b\x5d-\x7e]+"(; filename\*=UTF-8''[\w!#$&+\-.^`|~%]+)?$/,
        );
        const whole = /filename\*=UTF-8''(.*)$/.exec(header)?.[1];
        if (whole !== undefined)
          expect(decodeURIComponent(whole)).toHaveLength(/filename="(.*?)"/.exec(header)![1]!.length);
      }),
      { numRuns: 500 },
    );
  });
});
