// Finds broken links in the built site and in Markdown files.
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, posix, relative, resolve } from "node:path";
import { slugOf } from "../docs/.vitepress/slug.ts";

/** A URL of another site, or one that isn't a page. */
const ELSEWHERE = /^(?:[a-z][a-z+.-]*:|\/\/)/i;

/**
 * The links in a built site whose target file or element doesn't exist: `guides/routing.html: #resources`.
 *
 * @param folder the site
 */
export async function brokenSiteLinks(folder: string): Promise<string[]> {
  const files = new Set((await readdir(folder, { recursive: true })).map((file) => file.replaceAll("\\", "/")));
  const pages = new Map<string, { readonly ids: ReadonlySet<string>; readonly links: readonly string[] }>();
  for (const file of [...files].filter((name) => name.endsWith(".html")).sort()) {
    const html = (await readFile(join(folder, file), "utf8")).replaceAll(/<script\b[\s\S]*?<\/script>/g, "");
    pages.set(file, { ids: attributes(html, "id"), links: [...attributes(html, "href"), ...attributes(html, "src")] });
  }
  const broken: string[] = [];
  for (const [page, { links }] of pages) {
    for (const link of links) {
      if (ELSEWHERE.test(link)) continue;
      const [path = "", hash = ""] = partsOf(link);
      const from = path.startsWith("/") ? path.slice(1) : posix.join(posix.dirname(page), path);
      const target = path === "" ? page : from.replace(/(^|\/)$/, "$1index.html");
      const found = pages.get(target);
      const isThere = found === undefined ? files.has(target) : hash === "" || found.ids.has(hash);
      if (!isThere) broken.push(`${page}: ${link}`);
    }
  }
  return broken;
}

/** The parts of a link before and after its `#`, percent-decoded. A malformed part stays as it is. */
function partsOf(link: string): string[] {
  return link.split("#").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

/** The values of an attribute in a page. */
function attributes(html: string, name: string): Set<string> {
  const found = html.matchAll(new RegExp(`\\s${name}="([^"]*)"`, "g"));
  return new Set([...found].map(([, value = ""]) => value.replaceAll("&amp;", "&")));
}

/**
 * The relative links in Markdown files whose target file or heading doesn't exist.
 *
 * @param root the folder that the result's paths are relative to
 * @param files the Markdown files, relative to it
 */
export async function brokenMarkdownLinks(root: string, files: readonly string[]): Promise<string[]> {
  const broken: string[] = [];
  for (const file of files) {
    const text = withoutCode(await readFile(join(root, file), "utf8"));
    for (const [, link = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (ELSEWHERE.test(link) || link.startsWith("/")) continue;
      const [path = "", hash = ""] = partsOf(link);
      const target = path === "" ? join(root, file) : resolve(root, dirname(file), path);
      const isThere =
        existsSync(target) && (hash === "" || !target.endsWith(".md") || (await anchors(target)).has(hash));
      if (!isThere) broken.push(`${relative(root, join(root, file)).replaceAll("\\", "/")}: ${link}`);
    }
  }
  return broken;
}

function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^ *```[\s\S]*?^ *```/gm, "").replaceAll(/`[^`\n]+`/g, "");
}

/** The anchors of a Markdown file's headings, as code hosts and the site generate them. */
async function anchors(file: string): Promise<Set<string>> {
  const text = (await readFile(file, "utf8")).replaceAll(/^ *```[\s\S]*?^ *```/gm, "");
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    slugOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")),
  );
  return new Set(headings);
}
