import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeUtf8 } from "./encoding.ts";

/** Any code points, including lone surrogates. */
const anyText = fc.array(fc.nat(0x10ffff), { maxLength: 12 }).map((codes) => String.fromCodePoint(...codes));

describe("decodeUtf8", () => {
  test("well-formed text is decoded unchanged, including a byte order mark", () => {
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
