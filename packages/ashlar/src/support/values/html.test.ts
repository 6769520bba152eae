import fc from "fast-check";
import { expect, test } from "vitest";
import { escapeHtml } from "./text.ts";

test("escaped text never opens a tag or ends an attribute, and is displayed as the original", () => {
  const read = (text: string) =>
    text
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&quot;", '"')
      .replaceAll("&#39;", "'")
      .replaceAll("&amp;", "&");
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("<", ">", "&", '"', "'", "a", ";", "l", "t") }), (text) => {
      const escaped = escapeHtml(text);
      expect(escaped).not.toMatch(/[<>"']/);
      expect(read(escaped)).toBe(text);
    }),
  );
});
