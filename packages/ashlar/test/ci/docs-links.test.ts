import { expect, test } from "vitest";
import { brokenMarkdownLinks, brokenSiteLinks } from "../../../../scripts/docs-links.ts";
import { folderWith } from "../support/temporary-folder.ts";

test("a site's links to missing pages, files and anchors are found", async () => {
  const folder = folderWith({
    "index.html": '<a href="/guides/routing.html#resources">a</a> <a href="#top">b</a> <img src="/gone.png">',
    "guides/routing.html":
      '<h2 id="resources">x</h2> <a href="./pages.html">a</a> <a href="../#top">b</a> <a href="/#end">c</a>',
    "guides/other.html": '<p id="top"> <a href="routing.html#patterns">a</a> <a href="https://example.com/#x">b</a>',
  });
  expect((await brokenSiteLinks(folder)).sort()).toEqual([
    "guides/other.html: routing.html#patterns",
    "guides/routing.html: ../#top",
    "guides/routing.html: ./pages.html",
    "guides/routing.html: /#end",
    "index.html: #top",
    "index.html: /gone.png",
  ]);
});

test("links of Markdown files to missing files and headings are found, and code is no link", async () => {
  const folder = folderWith({
    "README.md":
      "# It's `here`\n\n[a](#its-here) [b](#gone) [c](docs/page.md#two-words) [d](docs/page.md#one) [e](docs/gone.md)",
    "docs/page.md": "# Page\n\n## Two words\n\n[a](../README.md) `[b](gone.md)`\n\n```md\n[c](gone.md)\n```\n",
  });
  expect(await brokenMarkdownLinks(folder, ["README.md", "docs/page.md"])).toEqual([
    "README.md: #gone",
    "README.md: docs/page.md#one",
    "README.md: docs/gone.md",
  ]);
});
