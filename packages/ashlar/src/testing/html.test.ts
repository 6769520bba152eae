import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuTimeOf } from "../../test/support/cpu-time.ts";
import { decodeEntities } from "./html-entities.ts";
import { formsOf } from "./html-forms.ts";
import { pageText } from "./html-text.ts";
import { type HtmlToken, tokensOf } from "./html-tokens.ts";

/** A page's tags and texts in a short form. */
function tokens(html: string): unknown[] {
  return [...tokensOf(html)].map((token: HtmlToken) => {
    if (token.kind === "text") return token.text;
    return token.kind === "close" ? `/${token.name}` : [token.name, Object.fromEntries(token.attributes)];
  });
}

describe("references", () => {
  test.each([
    ["&amp;&lt;&gt;&quot;&apos;&#39;&#x27;&#X41;", `&<>"'''A`],
    ["&amp;amp;", "&amp;"],
    ["a & b &unknown; &toString; &;", "a & b &unknown; &toString; &;"],
    ["&#128512;&#x1F600;", "😀😀"],
    ["&#0;&#xD800;&#x110000;&#9999999;", "\ufffd\ufffd\ufffd\ufffd"],
    ["&nbsp;", "\u00a0"],
  ])("%s", (text, decoded) => {
    expect(decodeEntities(text)).toBe(decoded);
  });
});

describe("tags", () => {
  test("names and attributes in any case, with any quotes or none", () => {
    expect(tokens(`<INPUT Name="a &quot;b&quot;" value='c"d' checked data-x=1/2 disabled/>`)).toEqual([
      ["input", { name: 'a "b"', value: 'c"d', checked: "", "data-x": "1/2", disabled: "" }],
    ]);
  });

  test("white space around the equals sign, and line breaks", () => {
    expect(tokens('<a\n href\t=\n"/x"\n>y</a\n>')).toEqual([["a", { href: "/x" }], "y", "/a"]);
  });

  test("of two attributes of a name the first counts", () => {
    expect(tokens('<a b="1" B="2">')).toEqual([["a", { b: "1" }]]);
  });

  test("a > in quotes ends nothing", () => {
    expect(tokens('<a b="1>2">3')).toEqual([["a", { b: "1>2" }], "3"]);
  });

  test("comments and declarations are left out, whatever is in them", () => {
    expect(tokens('<!doctype html>a<!-- <form> > -- --->b<?xml version="1"?>c<!-- open')).toEqual(["a", "b", "c"]);
  });

  test("what stands in a script is no markup", () => {
    expect(tokens("<script>if (a<b) '<form>'</script ><p>")).toEqual([
      ["script", {}],
      "if (a<b) '<form>'",
      "/script",
      ["p", {}],
    ]);
  });

  test("in a textarea and a title stand references, and no markup", () => {
    expect(tokens("<textarea><b>&lt;</textarea><title>a &amp; <i></title>")).toEqual([
      ["textarea", {}],
      "<b><",
      "/textarea",
      ["title", {}],
      "a & <i>",
      "/title",
    ]);
  });

  test("a lone < is text", () => {
    expect(tokens("a < b <3 <")).toEqual(["a ", "<", " b ", "<", "3 ", "<"]);
  });

  test("a page that breaks off ends there", () => {
    expect(tokens('<p>a<input name="b')).toEqual([["p", {}], "a", ["input", { name: "", b: "" }]]);
    expect(tokens("<script>a")).toEqual([["script", {}], "a"]);
  });

  test("no page makes it throw, or lose a word outside of tags", () => {
    fc.assert(fc.property(fc.string(), (text) => void formsOf(text)));
    const piece = fc.constantFrom(
      "<",
      ">",
      "a",
      "form",
      "/",
      '"',
      "'",
      "=",
      " ",
      "<!--",
      "-->",
      "&lt;",
      "<input ",
      "<select>",
    );
    fc.assert(fc.property(fc.array(piece), (pieces) => void [formsOf(pieces.join("")), pageText(pieces.join(""))]));
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z]{1,8}$/)), (words) => {
        const page = words.map((word, index) => `<p class=w${index}>${word}</p>`).join("<!-- - -->");
        expect(pageText(page)).toBe(words.join(" "));
      }),
    );
  });

  test.each([
    ["spaces in a tag", `<a ${" ".repeat(200_000)}`],
    ["openings", "<a ".repeat(100_000)],
    ["comments that do not end", "<!--".repeat(100_000)],
    ["quotes that do not end", `<a b="${'c="'.repeat(100_000)}`],
    ["scripts that do not end", "<script>".repeat(100_000)],
    ["equals signs", `<a ${"=".repeat(200_000)}`],
  ])("a page of %s takes no long time", (_what, page) => {
    expect(cpuTimeOf(() => void formsOf(page))).toBeLessThan(2000);
  });
});

describe("the text of a page", () => {
  test("is what a visitor reads, words parted where the page parts them", () => {
    const page = `<!doctype html><html><head><title>Shop</title><style>p { color: red }</style>
      <script>const a = "<p>b</p>";</script></head>
      <body><h1>Order&nbsp;7</h1><p>He<b>l</b>lo,<br>A&amp;B <template><p>later</p></template></p><ul><li>a</li><li>b</li></ul>
      <textarea>typed &lt;b&gt;</textarea></body></html>`;
    expect(pageText(page)).toBe("Order 7 Hello, A&B a b typed <b>");
  });
});
