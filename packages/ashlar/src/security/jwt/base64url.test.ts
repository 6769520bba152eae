import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../../test/support/any-text.ts";
import { decodeBase64url, decodeTransient, encodeBase64url } from "./encoding.ts";

/** Base64url by definition: only the alphabet, no length of 4n + 1, and no bits after the last byte. */
function isCanonical(segment: string): boolean {
  return (
    /^[A-Za-z0-9_-]*$/.test(segment) && Buffer.from(Buffer.from(segment, "base64url")).toString("base64url") === segment
  );
}

describe("decoding base64url", () => {
  test("encoded bytes decode to themselves", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const segment = encodeBase64url(bytes);
        expect(segment).toBe(Buffer.from(bytes).toString("base64url"));
        expect(decodeBase64url(segment)).toEqual(Buffer.from(bytes));
      }),
    );
  });

  test("text is decoded if and only if it is canonical", () => {
    const nearly = fc.string({ unit: fc.constantFrom(..."ABCDgQwxyz019-_+/= \n\t.\u0141\u{1f600}"), maxLength: 24 });
    fc.assert(
      fc.property(fc.oneof(nearly, fc.string(), anyText()), (segment) => {
        const expected = isCanonical(segment) ? Buffer.from(segment, "base64url") : null;
        expect(decodeBase64url(segment)).toEqual(expected);
      }),
      { numRuns: 5000 },
    );
  });

  test("S6 a last character is accepted only without stray bits", () => {
    const accepted = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"].filter(
      (last) => decodeBase64url(`Z${last}`) !== null,
    );
    expect(accepted).toEqual(["A", "Q", "g", "w"]);
  });

  test.each([
    ["padding", "Zm8="],
    ["a space before", " Zm9v"],
    ["a line break inside", "Zm\n9v"],
    ["a plus", "Zm+v"],
    ["a slash", "Zm/v"],
    ["a character whose low byte is in the alphabet", "Zm9\u0176"],
    ["a length of one over", "Zm9vA"],
    ["stray trailing bits", "YR"],
    ["a dot", "YWJj.YWJj"],
    ["white space at the end", "YWJj\n"],
    ["a lone surrogate", "Zm9\ud800"],
    ["a null character", "Zm9v\0"],
  ])("S6 %s is refused", (_, segment) => {
    expect(decodeBase64url(segment)).toBeNull();
  });

  test("empty text decodes to no bytes", () => {
    expect(decodeBase64url("")).toEqual(Buffer.alloc(0));
  });

  test("a segment longer than the shared buffer is decoded too", () => {
    const bytes = Buffer.alloc(20_000, 7);
    expect(decodeBase64url(bytes.toString("base64url"))).toEqual(bytes);
    expect(decodeBase64url(`${bytes.toString("base64url")}=`)).toBeNull();
  });

  test("decoded bytes do not change when another segment is decoded", () => {
    const first = decodeBase64url("Zm9v");
    decodeBase64url("YmFy");
    expect(first).toEqual(Buffer.from("foo"));
  });

  test("the transient form gives the number of valid bytes in its buffer", () => {
    const result = decodeTransient("Zm9v");
    expect(result?.buffer.toString("utf8", 0, result.length)).toBe("foo");
  });
});

describe("encoding base64url", () => {
  test("text is encoded as UTF-8, a view by its own bytes only", () => {
    expect(encodeBase64url("é")).toBe("w6k");
    expect(encodeBase64url(new Uint8Array([0, 102, 111, 111, 0]).subarray(1, 4))).toBe("Zm9v");
  });
});
