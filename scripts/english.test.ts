import { describe, expect, test } from "vitest";
import { type Baseline, lowered, problemsOf } from "./english/baseline.ts";
import { findingsIn } from "./english/findings.ts";

const texts = (path: string, source: string) => findingsIn(path, source).map(({ line, text }) => `${line} ${text}`);
const found = (files: Readonly<Record<string, number>>) => {
  return new Map(
    Object.entries(files).map(([path, count]) => {
      return [path, Array.from({ length: count }, (_, at) => ({ line: at + 1, text: "Anew", instead: "again" }))];
    }),
  );
};
const baseline = (files: Readonly<Record<string, number>>, justified: Baseline["justified"] = []): Baseline => {
  return { justified, files };
};

describe("marked phrases", () => {
  test("are found in comments and in sentences of strings, across lines", () => {
    const source = `
/**
 * Is asked anew, and is
 * told.
 */
export const meanwhile = "The mail is given up by then."; // Nobody asks.
`;
    expect(texts("a.ts", source)).toEqual(["3 anew", "3 is told", "6 is given up", "6 Nobody"]);
  });

  test("are found between the values of a template", () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source that is checked
    expect(texts("a.ts", "throw new Error(`${name} goes on without ${other} and the rest`);")).toEqual(["1 goes on"]);
  });

  test("aren't found in names, examples, code in comments, and keys", () => {
    const source = `
/**
 * Calls \`whoever()\` and {@link meanwhile}.
 *
 * @example
 * nobody.anew();
 */
export const anew = nobody(meanwhile, "whoever");
`;
    expect(texts("a.ts", source)).toEqual([]);
  });

  test("are found in the text of Markdown and of stubs, not in its code", () => {
    const source = "Asked anew.\n\n```ts\n// nobody\n```\n\n    $ whoever\n\n`meanwhile` [mends](whoever.md)\n";
    expect(texts("a.md", source)).toEqual(["1 anew", "9 mends"]);
    expect(texts("a.edge.stub", "<p>\n{{-- Nobody asks. --}}\n</p>")).toEqual(["2 Nobody"]);
  });

  test("are whole words, and negate a noun rather than a sentence", () => {
    const source = "Amends. There is no user. It is no longer needed. It is no user. The server is away.";
    expect(texts("a.md", source)).toEqual(["1 is no user", "1 is away"]);
  });
});

describe("the baseline", () => {
  test("allows as many phrases as a file has, and not one more", () => {
    expect(problemsOf(baseline({ "a.ts": 2 }), found({ "a.ts": 2 }))).toEqual([]);
    expect(problemsOf(baseline({ "a.ts": 1 }), found({ "a.ts": 2, "b.ts": 1 }))).toEqual([
      'a.ts:1: reads as translated: "Anew". Write: again.',
      'a.ts:2: reads as translated: "Anew". Write: again.',
      'b.ts:1: reads as translated: "Anew". Write: again.',
    ]);
  });

  test("doesn't count a phrase that is justified, as long as it is there", () => {
    const justified = baseline({}, [{ file: "a.ts", phrase: "anew", reason: "A quotation." }]);
    expect(problemsOf(justified, found({ "a.ts": 2 }))).toEqual([]);
    expect(problemsOf(justified, found({}))).toEqual(['baseline.json justifies "anew" in a.ts, where it is gone.']);
  });

  test("is only lowered", () => {
    expect(lowered(baseline({ "a.ts": 3, "b.ts": 1, "c.ts": 1 }), found({ "a.ts": 2, "b.ts": 4, "d.ts": 1 }))).toEqual(
      baseline({ "a.ts": 2, "b.ts": 1 }),
    );
  });

  test("follows a file that is moved", () => {
    expect(lowered(baseline({ "old/a.ts": 3 }), found({ "new/a.ts": 2 }))).toEqual(baseline({ "new/a.ts": 2 }));
  });
});
