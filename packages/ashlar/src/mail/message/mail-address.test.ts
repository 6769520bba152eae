import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AshlarError } from "../../support/index.ts";
import { headerText, type MailRecipient, mailAddress, mailAddresses } from "./mail-address.ts";

const INVALID = expect.objectContaining({ code: "E_INVALID_MAIL" });

describe("an address", () => {
  test("S35 it is normalized, and kept separate from the name", () => {
    expect(mailAddress(" Jane@Shop.EXAMPLE ", "The recipient")).toEqual({ address: "jane@shop.example", name: null });
    expect(mailAddress({ address: "ＪANE@shop.example", name: " Jane Doe " }, "The recipient")).toEqual({
      address: "jane@shop.example",
      name: "Jane Doe",
    });
  });

  test.each(["", "  ", null])("the name %j counts as no name", (name) => {
    expect(mailAddress({ address: "jane@shop.example", name }, "The recipient").name).toBeNull();
  });

  test.each([
    ["a list", "jane@shop.example, joe@evil.example"],
    ["a list with semicolons", "jane@shop.example;joe@evil.example"],
    ["a name before it", "Jane <jane@shop.example>"],
    ["brackets", "<jane@shop.example>"],
    ["a header after it", "jane@shop.example\r\nBcc: joe@evil.example"],
    ["a line feed", "jane@shop.example\n"],
    ["a NUL", "jane\0@shop.example"],
    ["two at signs", "jane@shop.example@evil.example"],
    ["a quoted local part", '"jane joe"@shop.example'],
    ["a group", "friends:jane@shop.example"],
    ["no domain", "jane"],
    ["nothing", ""],
    ["255 bytes", `jane@${"a".repeat(250)}`],
  ])("S35 %s makes it invalid", (_, address) => {
    expect(() => mailAddress(address, "The recipient")).toThrow(INVALID);
    expect(() => mailAddress({ address, name: "Jane" }, "The recipient")).toThrow(INVALID);
  });

  test("S35 a value that is not text is not an address, and the error does not repeat the input", () => {
    for (const recipient of [7, {}, { address: ["jane@shop.example"] }] as unknown as MailRecipient[]) {
      expect(() => mailAddress(recipient, "The recipient")).toThrow(INVALID);
    }
    expect(() => mailAddress("jane secret", "The sender")).toThrow(/^The sender is not an email address\.$/);
  });

  test.each(["Jane\r\nBcc: joe@evil.example", "Jane\n", "Jane\u0000", "Jane\u2028Doe", "Jane\u0085Doe", "Jane\ud800"])(
    "S35 the name %j is refused",
    (name) => {
      expect(() => mailAddress({ address: "jane@shop.example", name }, "The recipient")).toThrow(
        "The name of the recipient contains a line break or another control character.",
      );
    },
  );

  test("a name may be in any script, and contain joined emoji", () => {
    for (const name of ["Jürgen Müller", "山田 太郎", "محمد", "👩‍💻", 'Jane "JD" Doe, <b>']) {
      expect(mailAddress({ address: "jane@shop.example", name }, "The recipient").name).toBe(name);
    }
  });

  test("one recipient becomes a list of one; every entry of a list is checked", () => {
    expect(mailAddresses("jane@shop.example", "The recipient")).toEqual([{ address: "jane@shop.example", name: null }]);
    expect(mailAddresses([], "The recipient")).toEqual([]);
    expect(mailAddresses(["a@b.example", { address: "c@d.example", name: "C" }], "The recipient")).toEqual([
      { address: "a@b.example", name: null },
      { address: "c@d.example", name: "C" },
    ]);
    expect(() => mailAddresses(["a@b.example", "no"], "The recipient")).toThrow(INVALID);
  });

  test("S35 no accepted address or name can end a header or add a second address", () => {
    const text = fc.string({ unit: fc.constantFrom(...'aB@.,;:<>()"\\ \r\n\t\0é😀\u2028'), maxLength: 40 });
    fc.assert(
      fc.property(text, text, (address, name) => {
        try {
          const made = mailAddress({ address: `a${address}@b.example`, name }, "The recipient");
          expect(made.address).toMatch(/^[^\s@,;:<>()"\\\p{Cc}]+@b\.example$/u);
          expect(made.name ?? "").not.toMatch(/[\p{Cc}\u2028]/u);
        } catch (error) {
          if (!(error instanceof AshlarError)) throw error;
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("text for a header", () => {
  test("S41 any kind of line break is refused", () => {
    for (const end of [
      "\r\n",
      "\n",
      "\r",
      "\u000b",
      "\u000c",
      "\u0085",
      "\u2028",
      "\u2029",
      "\0",
      "\u001b",
      "\u007f",
    ]) {
      expect(() => headerText(`Hello${end}Bcc: joe@evil.example`, "The subject")).toThrow(
        "The subject contains a line break or another control character.",
      );
    }
  });

  test("anything else is unchanged", () => {
    expect(headerText(" Grüße 👋 =?utf-8?Q?x?= ", "The subject")).toBe(" Grüße 👋 =?utf-8?Q?x?= ");
  });

  test("S36 a value that is not text is refused", () => {
    expect(() => headerText(["Hello"] as unknown as string, "The subject")).toThrow("The subject is not text.");
  });
});
