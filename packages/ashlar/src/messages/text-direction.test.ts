import { expect, test } from "vitest";
import { textDirection } from "./text-direction.ts";

test.each(["ar", "ar-EG", "he", "fa", "ur", "yi", "ps", "ckb", "dv", "az-Arab", "pa-Arab-PK", "AR"])(
  "%s runs from right to left",
  (language) => {
    expect([textDirection(language), textDirection(language)]).toEqual(["rtl", "rtl"]);
  },
);

test.each(["en", "de-AT", "tr", "az", "zh-Hant", "ar-Latn", "", "not a language", "x-arab"])(
  "%j runs from left to right",
  (language) => {
    expect(textDirection(language)).toBe("ltr");
  },
);
