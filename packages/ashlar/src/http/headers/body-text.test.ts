import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuTimeOf } from "../../../test/support/cpu-time.ts";
import { decodeBodyText, headerParameters, mediaType } from "./media-types.ts";

describe("decodeBodyText", () => {
  test("any well-formed text survives its encoding", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(decodeBodyText(new TextEncoder().encode(text))).toBe(text.replace(/^\uFEFF/, ""));
      }),
    );
  });

  test.each([
    ["a lone continuation byte", [0x80]],
    ["an overlong slash", [0xc0, 0xaf]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["a sequence cut off", [0xe2, 0x82]],
    ["a code point beyond Unicode", [0xf5, 0x80, 0x80, 0x80]],
  ])("S42 %s is refused", (_, bytes) => {
    expect(() => decodeBodyText(Uint8Array.from(bytes))).toThrow(
      expect.objectContaining({ code: "E_INVALID_BODY", status: 400 }),
    );
  });

  test("a byte order mark is dropped", () => {
    expect(decodeBodyText(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61))).toBe("a");
  });
});

describe("headerParameters", () => {
  test.each<[string, Record<string, string> | null]>([
    ["application/json", {}],
    ["application/json; charset=utf-8", { charset: "utf-8" }],
    ["application/json;CHARSET=UTF-8;", { charset: "UTF-8" }],
    ['multipart/form-data; boundary="a b"; x=1', { boundary: "a b", x: "1" }],
    ['form-data; name="a\\"b"; filename="C:\\\\x\\y.txt"', { name: 'a"b', filename: "C:\\x\\y.txt" }],
    ['form-data; name="a;b=c"', { name: "a;b=c" }],
    ['form-data; name=""', { name: "" }],
    ["form-data; name=plain text ; x=1", { name: "plain text", x: "1" }],
    ['form-data; name="open', null],
    ['form-data; name="a" b', null],
    ["form-data; name", null],
    ["form-data; a=1; A=2", null],
  ])("reads %j as %j", (value, expected) => {
    const parameters = headerParameters(value);
    expect(parameters === null ? null : Object.fromEntries(parameters)).toEqual(expected);
  });

  test("any quoted value is read back unchanged", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (first, second) => {
        const quote = (text: string) => `"${text.replaceAll(/[\\"]/g, "\\$&")}"`;
        fc.pre(!/[\n\r\u2028\u2029]/.test(first + second));
        const parameters = headerParameters(`x; first=${quote(first)}; second=${quote(second)}`);
        expect([parameters?.get("first"), parameters?.get("second")]).toEqual([first, second]);
      }),
    );
  });

  test("any text is parsed quickly and without throwing", () => {
    const hostile = [
      `;${" ".repeat(50_000)}x`,
      `;a="${"\\".repeat(50_001)}`,
      ";a=".repeat(20_000),
      `;${"a".repeat(50_000)}`,
    ];
    const time = cpuTimeOf(() => {
      for (const text of hostile) headerParameters(text);
    });
    expect(time).toBeLessThan(5000);
    fc.assert(fc.property(fc.string(), (text) => void headerParameters(text)));
  });
});

test("mediaType is lower-case and without parameters", () => {
  expect([mediaType("Application/JSON ; charset=utf-8"), mediaType("text/html"), mediaType("")]).toEqual([
    "application/json",
    "text/html",
    "",
  ]);
});
