import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { languageOfClient, languageOfUser, negotiateLanguage, textDirection } from "./languages.ts";

const OFFERED = ["en", "de", "fr-CA"];

test.each([
  ["de", "de"],
  ["de-CH", "de"],
  ["DE-ch-1996, en;q=0.5", "de"],
  ["en;q=0.4, de;q=0.5", "de"],
  ["de;q=0.5, en;q=0.5", "de"],
  ["es, de;q=0.1", "de"],
  ["fr", "fr-CA"],
  ["fr-FR, de;q=0.9", "de"],
  ["*", "en"],
  ["*, en;q=0", "de"],
  ["es;q=1, *;q=0.1", "en"],
  ["de;q=0", null],
  ["de-AT;q=0", null],
  ["*;q=0", null],
  ["de-AT;q=0, de", "de"],
  ["de;q=0, de-AT", null],
  ["*, en;q=0, de;q=0, fr;q=0", null],
  ["es", null],
  ["d", null],
  ["", null],
  ["de;q=2", null],
  ["de;q=0.1234, fr", "fr-CA"],
  ["de_DE, x y, fr;level=1", null],
  ["zh-Hant-x-de", null],
  ["fr-CA-x-fr", "fr-CA"],
  ["de-a-b-c", "de"],
  ["x-de", null],
  [`de-${"abcdefgh-".repeat(3)}abcde`, "de"],
  [`de-${"abcdefgh-".repeat(3)}abcdef, en;q=0.1`, "en"],
  [`${"es, ".repeat(31)}de`, "de"],
  [`${"es, ".repeat(32)}de`, null],
])("%j selects %j", (header, language) => {
  expect(negotiateLanguage(header, OFFERED)).toBe(language);
});

test("without the header, no language is selected", () => {
  expect(negotiateLanguage(null, OFFERED)).toBeNull();
});

test("any header results in an offered language or none, quickly", () => {
  const part = fc.constantFrom("de", "-", "*", ";q=", "0.5", "1", ",", " ", "en", "x", "é");
  fc.assert(
    fc.property(fc.array(part, { maxLength: 200 }), (parts) => {
      expect([...OFFERED, null]).toContain(negotiateLanguage(parts.join(""), OFFERED));
    }),
  );
});

test.each([
  ["many subtags", "a-".repeat(7999)],
  ["many ranges", "b-c, ".repeat(3199)],
])("a header with %s costs no more comparisons than one that a browser could send", (_, start) => {
  const comparisons = vi.spyOn(String.prototype, "toLowerCase");
  onTestFinished(() => comparisons.mockRestore());
  expect(negotiateLanguage(`${start}d`, OFFERED)).toBeNull();
  // The 32 ranges have two subtags each. Each is compared with three languages, and then with those that it may be a
  // prefix of.
  expect(comparisons.mock.calls.length).toBeLessThanOrEqual(32 * (1 + 3 * OFFERED.length));
});

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

const TWO_OFFERED = ["en", "de"];

test("a user's language is their own, if it is offered", () => {
  const of = (language: unknown) => languageOfUser({ language }, TWO_OFFERED);
  expect([of("de"), of("de-CH"), of("fr"), of(""), of(null), of(7)]).toEqual(["de", "de", null, null, null, null]);
  expect([languageOfUser({}, TWO_OFFERED), languageOfUser(null, TWO_OFFERED)]).toEqual([null, null]);
  expect([of(`de-${"a-".repeat(5000)}b`), of(`${"es,".repeat(5000)}de`)]).toEqual([null, null]);
});

test("a client's language is the best match by Accept-Language, or the default one if none of its languages is offered", () => {
  const of = (header: string | null) => languageOfClient(header, TWO_OFFERED);
  expect([of("fr, de;q=0.5"), of("de-CH"), of("fr"), of(""), of(null)]).toEqual(["de", "de", "en", "en", "en"]);
});
