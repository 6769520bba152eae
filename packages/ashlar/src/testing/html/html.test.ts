import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuTimeOf } from "../../../test/support/cpu-time.ts";
import { pageText } from "./html-document.ts";
import { formsOf } from "./html-forms.ts";

describe("a page", () => {
  test("is parsed as in browsers: references, any quotes or none, comments, scripts, a lone <", () => {
    expect(pageText("&amp;&lt;&#x27;&#128512;&hellip;&unknown; &;")).toBe("&<'😀…&unknown; &;");
    expect(pageText('<!doctype html>a<!-- <p> > -- -->b<?xml version="1"?>c<script>"<p>d"</script > <3 <')).toBe(
      "abc <3 <",
    );
    const [form] = formsOf(`<FORM><INPUT Name="a &quot;b&quot;" value='c"d>e' data-x=1/2 name=no disabled/></form>`);
    expect(Object.fromEntries(form!.controls[0]!.attributes)).toEqual({
      name: 'a "b"',
      value: 'c"d>e',
      "data-x": "1/2",
      disabled: "",
    });
  });

  test("that breaks off ends there", () => {
    expect(formsOf('<form><input name=a><input name="b')[0]!.fields).toEqual(["a"]);
    expect(pageText("<p>a<script>b")).toBe("a");
  });

  test("has the content for visitors without scripts", () => {
    expect(pageText("<noscript><p>Turn scripts on</p></noscript>")).toBe("Turn scripts on");
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
    ["unterminated comments", "<!--".repeat(100_000)],
    ["unterminated quotes", `<a b="${'c="'.repeat(100_000)}`],
    ["unterminated scripts", "<script>".repeat(100_000)],
    ["equals signs", `<a ${"=".repeat(200_000)}`],
    ["nested elements", "<div>".repeat(100_000)],
    ["adjacent elements", `<form>${"<input>".repeat(200_000)}`],
  ])("a page of %s does not take long", (_what, page) => {
    expect(cpuTimeOf(() => void formsOf(page))).toBeLessThan(2000);
  });
});

describe("the text of a page", () => {
  test("contains the text that a visitor reads, with words separated as on the page", () => {
    const page = `<!doctype html><html><head><title>Shop</title><style>p { color: red }</style>
      <script>const a = "<p>b</p>";</script></head>
      <body><h1>Order&nbsp;7</h1><p>He<b>l</b>lo,<br>A&amp;B <template><p>later</p></template></p><ul><li>a</li><li>b</li></ul>
      <textarea>typed &lt;b&gt;</textarea></body></html>`;
    expect(pageText(page)).toBe("Order 7 Hello, A&B a b typed <b>");
  });
});
