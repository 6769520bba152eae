import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parts } from "../../../../docs/.vitepress/contents.ts";
import { copiedText } from "../../../../docs/.vitepress/markdown-copy.ts";
import { brokenMarkdownLinks } from "../../../../scripts/docs-links.ts";
import { execute } from "../support/generated-application.ts";
import { packedPackages } from "../support/packed-packages.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The built package as npm publishes it, unpacked. */
async function unpacked(): Promise<string> {
  const folder = await temporaryFolder();
  const { file } = packedPackages().find(({ name }) => name === "ashlar")!;
  await execute(folder, "tar", ["-xzf", file]);
  return join(folder, "package");
}

test("the package has the manual as Markdown, listed in llms.txt, and its links lead to existing files", async () => {
  const root = await unpacked();
  const list = await readFile(join(root, "llms.txt"), "utf8");
  expect(list).toMatch(/^# Ashlar\n\n> [^\n]+\n\n/);
  const links = [...list.matchAll(/^- \[[^\]]+\]\(([^)]+)\)(?:: \S.*)?$/gm)].map(([, path]) => path!);
  const groups = parts().flatMap((part) => part.groups);
  const pages = groups.filter(({ isInternal }) => !isInternal).flatMap((group) => group.pages);
  expect(links).toEqual(pages.map((page) => `docs/${page}.md`));
  expect(links.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  expect(await brokenMarkdownLinks(root, links)).toEqual([]);
  const types = /`node_modules\/ashlar\/(dist\/types\/public)`/.exec(list)?.[1];
  expect(await readdir(join(root, types!))).toContain("auth.d.ts");
});

test("a copied page keeps its code, and links to pages that are not copied become text", () => {
  const page = [
    "![The page](/screenshots/login.png)",
    "",
    "See [Routing](routing.md#resources), [`why`](../decisions/001-own-listener.md) and [a standard](https://example.com).",
    "A link is `[why](../decisions/001-own-listener.md)`.",
    "",
    "```md",
    "[why](../decisions/001-own-listener.md)",
    "```",
    "",
  ].join("\n");
  const copy = [
    "See [Routing](routing.md#resources), `why` and [a standard](https://example.com).",
    "A link is `[why](../decisions/001-own-listener.md)`.",
    "",
    "```md",
    "[why](../decisions/001-own-listener.md)",
    "```",
    "",
  ].join("\n");
  expect(copiedText(page, "guides/pages", new Set(["guides/routing", "guides/pages"]))).toBe(copy);
});
