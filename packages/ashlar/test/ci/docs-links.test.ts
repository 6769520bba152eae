import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { brokenMarkdownLinks, brokenSiteLinks } from "../../../../scripts/docs-links.ts";
import { execute } from "../support/generated-application.ts";
import { REPOSITORY } from "../support/samples.ts";
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

test("Markdown links to missing files and headings are found, and code is not taken for links", async () => {
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

test("percent-encoded links lead to the files, ids and headings that they name", async () => {
  const folder = folderWith({
    "index.html":
      '<h2 id="größe">a</h2> <a href="#gr%C3%B6%C3%9Fe">a</a> <a href="/my%20page.html#l%C3%A4nge">b</a> <a href="#100%">c</a>',
    "my page.html": '<h2 id="länge">a</h2> <a href="index.html#gr%C3%B6sse">a</a> <a href="/my%20pages.html">b</a>',
    "README.md":
      "# Größe\n\n[a](#gr%C3%B6%C3%9Fe) [b](my%20notes.md#l%C3%A4nge) [c](my%20notes.md#l%C3%A4ngen) [d](#100%)\n",
    "my notes.md": "# Länge\n\n[a](READM%45.md) [b](READM%46.md)\n",
  });
  expect(await brokenSiteLinks(folder)).toEqual([
    "index.html: #100%",
    "my page.html: index.html#gr%C3%B6sse",
    "my page.html: /my%20pages.html",
  ]);
  expect(await brokenMarkdownLinks(folder, ["README.md", "my notes.md"])).toEqual([
    "README.md: my%20notes.md#l%C3%A4ngen",
    "README.md: #100%",
    "my notes.md: READM%46.md",
  ]);
});

test("a build of the site ends with an error if a link leads nowhere", async () => {
  // VitePress itself doesn't look at anchors.
  const folder = folderWith({ "pages/index.md": "# Begin\n\n[a](#begin) [b](#gone)\n" });
  await symlink(join(REPOSITORY, "node_modules"), join(folder, "pages/node_modules"), "junction");
  const args = ["scripts/docs.ts", "--from", join(folder, "pages"), "--out", join(folder, "site")];
  const { code, output } = await execute(REPOSITORY, process.execPath, args);
  expect([code, output]).toEqual([
    1,
    expect.stringContaining("These links of the site lead nowhere:\nindex.html: #gone\n"),
  ]);
});
