import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Html, html, linked } from "./html.ts";

describe("html", () => {
  test("text is escaped in elements and attributes, but markup and lists of markup are not", () => {
    const item = html`<b title="${`"'`}">${"<&>"}</b>`;
    expect(String(html`<p>${item}${[item, html`${7}`]}</p>`)).toBe(
      '<p><b title="&quot;&#39;">&lt;&amp;&gt;</b><b title="&quot;&#39;">&lt;&amp;&gt;</b>7</p>',
    );
  });

  test("a backslash in a template keeps its meaning", () => {
    expect(String(html`a\tb${new Html("<i>")}`)).toBe("a\tb<i>");
  });
});

describe("linked", () => {
  test("web addresses become links, without the period after them", () => {
    const text = 'See https://shop.example/verify?a=1&b="2" and (http://x.example/y). Not javascript:alert(1).';
    expect(linked(text).join("")).toBe(
      'See <a href="https://shop.example/verify?a=1&amp;b=">https://shop.example/verify?a=1&amp;b=</a>&quot;2&quot; and ' +
        '(<a href="http://x.example/y">http://x.example/y</a>). Not javascript:alert(1).',
    );
  });

  test("S41 no part of a text becomes markup or is lost", () => {
    const unit = fc.constantFrom(..."<>&\"' .:/a", "https://x.example/", "javascript:", "\n");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), (text) => {
        const markup = linked(text).join("");
        const plain = markup.replaceAll(/<a href="https:\/\/[^"<>]*">|<\/a>/g, "");
        expect(plain).not.toMatch(/[<>"']/);
        const back = plain.replaceAll(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => {
          return { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" }[name]!;
        });
        expect(back).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });
});
