import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeBase64Url, decodeUtf8 } from "./base64url.ts";

/** Any code points, lone surrogates among them. */
const anyText = fc.array(fc.nat(0x10ffff), { maxLength: 12 }).map((codes) => String.fromCodePoint(...codes));

describe("decodeBase64Url", () => {
  test("what was encoded is decoded to the same bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(decodeBase64Url(Buffer.from(bytes).toString("base64url"))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  test("any text that is decoded encodes to itself again", () => {
    const nearly = fc.string({ unit: fc.constantFrom(..."ABCDwxyz0189-_=+/. \n"), maxLength: 12 });
    fc.assert(
      fc.property(nearly, (text) => {
        const bytes = decodeBase64Url(text);
        expect(bytes === null ? text : bytes.toString("base64url")).toBe(text);
      }),
    );
  });

  test.each([
    ["padding", "YQ=="],
    ["stray trailing bits", "YR"],
    ["a length no encoding has", "YWJjZ"],
    ["the other alphabet", "+/+/"],
    ["white space inside", "YW Jj"],
    ["white space at the end", "YWJj\n"],
    ["a character beyond ASCII", "YWJjé"],
    ["a dot", "YWJj.YWJj"],
  ])("%s is refused", (_, text) => {
    expect(decodeBase64Url(text)).toBeNull();
  });

  test("the empty text is no bytes", () => {
    expect(decodeBase64Url("")).toEqual(Buffer.alloc(0));
  });
});

describe("decodeUtf8", () => {
  test("well-formed text comes back as it was, byte order mark included", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        fc.pre(text.isWellFormed());
        expect(decodeUtf8(Buffer.from(text))).toBe(text);
      }),
    );
    expect(decodeUtf8(Buffer.from("\ufeffa"))).toBe("\ufeffa");
  });

  test.each([
    ["a lone continuation byte", [0x80]],
    ["an overlong form", [0xc0, 0xaf]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["a sequence cut short", [0xe2, 0x82]],
  ])("%s is refused", (_, bytes) => {
    expect(decodeUtf8(Uint8Array.from(bytes))).toBeNull();
  });
});
