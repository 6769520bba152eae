import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DOCS } from "../../../../docs/.vitepress/contents.ts";
import { publicNames } from "../support/sample-modules.ts";

/** A page's code: its fences, and what is between backticks. */
function codeOf(markdown: string): string {
  return [...markdown.matchAll(/^ *(```+)[\s\S]*?^ *\1|`[^`\n]+`/gm)].map(([code]) => code).join("\n");
}

/** The pages for authors of applications, written by hand, by their path in `docs/`. */
async function handWrittenPages(): Promise<Map<string, string>> {
  const files = (await readdir(DOCS, { recursive: true })).map((file) => file.replaceAll("\\", "/"));
  const own = files.filter(
    (file) => /\.md$/.test(file) && !/^(?:node_modules|\.vitepress|reference\/api|decisions)\//.test(file),
  );
  const pages = new Map<string, string>();
  for (const file of own.sort()) pages.set(file, await readFile(join(DOCS, file), "utf8"));
  return pages;
}

test("every public name is mentioned, as code, on a page that was written by hand", async () => {
  const code = [...(await handWrittenPages()).values()].map(codeOf).join("\n");
  const mentioned = new Set([...code.matchAll(/[A-Za-z_$][\w$]*/g)].map(([name]) => name));
  const names = await publicNames();
  expect(names.size).toBeGreaterThan(200);
  const missing = [...names].filter(([name]) => !mentioned.has(name)).map(([name, { from }]) => `${from}: ${name}`);
  expect(missing.sort()).toEqual([]);
});

test("every name that a page imports from the package is exported there", async () => {
  const names = await publicNames();
  const wrong: string[] = [];
  let count = 0;
  for (const [page, text] of await handWrittenPages()) {
    const imports = codeOf(text).matchAll(/import (?:type )?\{([^}]*)\} from "(ashlar(?:\/[a-z]+)?)"/g);
    for (const [, list = "", from = ""] of imports) {
      for (const name of list.split(",").map((item) =>
        item
          .trim()
          .replace(/^type /, "")
          .replace(/ as .*$/, ""),
      )) {
        if (name === "") continue;
        count++;
        if (names.get(name)?.from !== from) wrong.push(`${page}: ${name} from ${from}`);
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(5);
});

test("every import path that a page names exists", async () => {
  const manifest = await readFile(join(DOCS, "../packages/ashlar/package.json"), "utf8");
  const { exports } = JSON.parse(manifest) as { readonly exports: Readonly<Record<string, unknown>> };
  const files = Object.keys(exports).flatMap((path) => (path.endsWith(".json") ? [path.replace(".", "ashlar")] : []));
  const paths = new Set([...files, ...[...(await publicNames()).values()].map(({ from }) => from)]);
  const wrong: string[] = [];
  for (const [page, text] of await handWrittenPages()) {
    for (const [, path = ""] of codeOf(text).matchAll(/["`](ashlar\/[\w./-]+)["`]/g)) {
      if (!paths.has(path)) wrong.push(`${page}: ${path}`);
    }
  }
  expect(wrong).toEqual([]);
});
