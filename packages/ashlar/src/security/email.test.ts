import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuTimeOf } from "../../test/support/cpu-time.ts";
import { normalizeEmail } from "./email.ts";

/** Any code points, lone surrogates among them. */
const anyText = fc.array(fc.nat(0x10ffff), { maxLength: 12 }).map((codes) => String.fromCodePoint(...codes));

describe("one form", () => {
  test.each([
    ["an address as it is stored", "jane@example.com", "jane@example.com"],
    ["upper case", "Jane.DOE@Example.COM", "jane.doe@example.com"],
    ["spaces around it", "  jane@example.com ", "jane@example.com"],
    ["full-width letters and sign", "ｊａｎｅ＠ｅｘａｍｐｌｅ．ｃｏｍ", "jane@example.com"],
    ["a decomposed letter", "jose\u0301@example.com", "jos\u00e9@example.com"],
    ["a ligature", "ﬁona@example.com", "fiona@example.com"],
    ["the Kelvin sign", "\u212aate@example.com", "kate@example.com"],
    ["a capital whose small letter has a form of its own", "J\u030cane@example.com", "\u01f0ane@example.com"],
    ["a sign that is short for capitals", "\u2121@example.com", "tel@example.com"],
    ["a tag and a dotless domain", "jane+tag@localhost", "jane+tag@localhost"],
    [
      "every character of an unquoted local part",
      "a!#$%&'*+-/=?^_`|~.9@example.com",
      "a!#$%&'*+-/=?^_`|~.9@example.com",
    ],
    ["another script", "用户@例え.jp", "用户@例え.jp"],
  ])("S35 %s", (_, input, expected) => {
    expect(normalizeEmail(input)).toBe(expected);
  });

  test("S35 every accepted address is in canonical form, and contains nothing that mail or a header could misread", () => {
    const input = fc.oneof(
      fc.emailAddress(),
      fc.tuple(anyText, fc.domain()).map((t) => t.join("@")),
      fc.string({ unit: fc.constantFrom(...'aZ.@-+ ,<>"\\\n\u00a0\u200bİΣ＠é'), maxLength: 20 }),
    );
    let accepted = 0;
    fc.assert(
      fc.property(input, (text) => {
        const address = normalizeEmail(text);
        if (address === null) return;
        accepted++;
        expect(normalizeEmail(address)).toBe(address);
        expect(address).toBe(address.normalize("NFKC"));
        expect(address).toBe(address.toLowerCase());
        expect(address).toMatch(/^[^\p{C}\p{Z}()<>[\]{}:;\\,"@]+@[^\p{C}\p{Z}()<>[\]{}:;\\,"@]+$/u);
        expect(Buffer.byteLength(address)).toBeLessThanOrEqual(254);
      }),
      { numRuns: 3000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });

  test("S35 every common address is accepted", () => {
    fc.assert(
      fc.property(fc.emailAddress(), (address) => {
        // RFC 5322 allows braces, but real addresses don't contain them, and templates do.
        fc.pre(!/[{}]/.test(address) && address.indexOf("@") <= 64 && address.length <= 254);
        expect(normalizeEmail(address)).toBe(address.toLowerCase());
      }),
    );
  });
});

describe("refused", () => {
  test.each([
    ["the empty text", ""],
    ["no sign", "jane.example.com"],
    ["two signs", "jane@x@example.com"],
    ["two signs, one of them full-width", "jane＠x@example.com"],
    ["nothing before the sign", "@example.com"],
    ["nothing after the sign", "jane@"],
    ["a line feed inside", "jane\n@example.com"],
    ["a line feed at the end", "jane@example.com\n"],
    ["a header of its own", "jane@example.com\r\nBcc: all@example.com"],
    ["a NUL", "jane\0@example.com"],
    ["a DEL", "jane\x7f@example.com"],
    ["a C1 control", "jane\x85@example.com"],
    ["a line separator", "jane\u2028@example.com"],
    ["a zero-width space", "ja\u200bne@example.com"],
    ["a direction override", "jane\u202e@example.com"],
    ["a lone surrogate", "jane\ud800@example.com"],
    ["a space inside", "ja ne@example.com"],
    ["a no-break space inside", "ja\u00a0ne@example.com"],
    ["a tab", "\tjane@example.com"],
    ["a comma", "jane,joe@example.com"],
    ["a comma after the sign", "jane@example.com,joe"],
    ["a full-width comma", "jane，joe@example.com"],
    ["a semicolon", "jane;joe@example.com"],
    ["a colon", "group:jane@example.com"],
    ["a display name", "Jane <jane@example.com>"],
    ["angle brackets", "<jane@example.com>"],
    ["full-width angle brackets", "＜jane@example.com＞"],
    ["a comment", "jane(comment)@example.com"],
    ["braces", "{{jane}}@example.com"],
    ["an address literal", "jane@[127.0.0.1]"],
    ["a quoted local part", '"jane doe"@example.com'],
    ["a backslash", "jane\\@example.com"],
    ["a dot at the end of the domain, which would be a second spelling", "jane@example.com."],
    ["a dot at the start of the domain", "jane@.example.com"],
    ["two dots in the domain", "jane@example..com"],
    ["a path in the domain", "jane@example.com/x"],
    ["a port", "jane@example.com:25"],
  ])("S35 %s", (_, input) => {
    expect(normalizeEmail(input)).toBeNull();
  });

  test("S35 254 bytes are accepted, 255 are not, counted in UTF-8 after normalization", () => {
    const domain = (length: number) => `${`${"a".repeat(49)}.`.repeat(5)}${"b".repeat(length - 250)}`;
    expect(normalizeEmail(`j@${domain(252)}`)).toBe(`j@${domain(252)}`);
    expect(normalizeEmail(`j@${domain(253)}`)).toBeNull();
    expect(normalizeEmail(`é@${domain(252)}`)).toBeNull();
    // One ligature that is eighteen characters afterwards.
    expect(normalizeEmail(`${"\ufdfa".repeat(20)}@example.com`)).toBeNull();
  });

  test("S35 64 bytes before the @ are accepted, 65 are not (RFC 5321 §4.5.3.1.1)", () => {
    expect(normalizeEmail(`${"a".repeat(64)}@example.com`)).toBe(`${"a".repeat(64)}@example.com`);
    expect(normalizeEmail(`${"a".repeat(65)}@example.com`)).toBeNull();
  });

  test("a megabyte is refused quickly", () => {
    const texts = ["@".repeat(1e6), " ".repeat(1e6), "a.".repeat(5e5)];
    const time = cpuTimeOf(() => {
      for (let i = 0; i < 1000; i++) for (const text of texts) expect(normalizeEmail(text)).toBeNull();
    });
    // Reading each of them once takes several seconds.
    expect(time).toBeLessThan(1000);
  });
});
