import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import type { Dictionary } from "../../support/index.ts";
import { decodeContents, encodeContents } from "./session-data.ts";

const isHarmless = (text: string): boolean => !/"(__proto__|constructor|prototype)":/.test(text);

const values: fc.Arbitrary<Dictionary> = fc
  .dictionary(anyText({ minLength: 1 }), fc.jsonValue({ maxDepth: 3 }))
  .filter((value) => isHarmless(JSON.stringify(value)));

describe("contents", () => {
  test("encoded contents decode unchanged", () => {
    fc.assert(
      fc.property(values, values, fc.boolean(), (data, flash, isIdentified) => {
        const text = encodeContents({ data, flash, isIdentified });
        if (text === null) {
          expect([data, flash, isIdentified]).toEqual([{}, {}, false]);
          return;
        }
        const decoded = decodeContents(text);
        expect(JSON.stringify(decoded)).toBe(JSON.stringify({ data, flash, isIdentified }));
        // Encoding it again returns the same text, which shows that a session is unchanged.
        expect(encodeContents(decoded!)).toBe(text);
      }),
    );
  });

  test("empty contents are null, and empty sections take no space", () => {
    expect(encodeContents({ data: {}, flash: {}, isIdentified: false })).toBe(null);
    expect(encodeContents({ data: {}, flash: {}, isIdentified: true })).toBe('{"i":1}');
    expect(encodeContents({ data: { a: 1 }, flash: {}, isIdentified: false })).toBe('{"d":{"a":1}}');
  });

  test("S25 any other text decodes to null or contents, and never throws", () => {
    const notContents = ["", "null", "[]", "7", '"d"', '{"d":[]}', '{"d":{},"f":7}', "{", '{"d":null}'];
    expect(notContents.map(decodeContents)).toEqual(notContents.map(() => null));
    fc.assert(fc.property(fc.oneof(anyText(), fc.json()), (text) => void decodeContents(text)));
  });

  test("S43 a key that could lead to a prototype is left out", () => {
    const decoded = decodeContents('{"d":{"__proto__":{"isAdmin":true},"constructor":1,"a":2}}');
    expect(Object.keys(decoded!.data)).toEqual(["a"]);
    expect({}).not.toHaveProperty("isAdmin");
  });
});
