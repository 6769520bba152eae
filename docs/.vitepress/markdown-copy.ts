// Copies the manual as Markdown, for programs and people that read it without the site: into the package and into the
// site itself, each with an llms.txt (https://llmstxt.org) that lists the pages.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { DOCS, parts, readPage } from "./contents.ts";

const SUMMARY = "A web-application framework for TypeScript on Node.js, with complete authentication built in.";
const NOTES = [
  "Applications import from `ashlar` and from paths such as `ashlar/auth`. The package's types, with a comment on each",
  "public name, are in `node_modules/ashlar/dist/types/public`, one file for each import path.",
].join("\n");

/** A link or an image, whose label may have code in it; or else code, in which nothing is a link. */
const LINK = /(!?)\[((?:`[^`\n]+`|[^\]`])*)\]\(([^)\s]+)\)|`[^`\n]+`/g;

/** The pages that a copy contains: all but those about the framework's own code. */
function copiedPages(): string[] {
  return parts().flatMap(({ groups }) => groups.filter(({ isInternal }) => !isInternal).flatMap(({ pages }) => pages));
}

/**
 * The text of a page as it is in a copy. Links to pages that a copy doesn't contain are plain text there, and pictures
 * are left out.
 *
 * @param page the page: `guides/routing`
 * @param copied the pages of the copy
 */
export function copiedText(text: string, page: string, copied: ReadonlySet<string>): string {
  // Code stays as it is.
  const pieces = text.split(/(^ *```[\s\S]*?^ *```)/m);
  return pieces.map((piece, index) => (index % 2 === 1 ? piece : relinked(piece, page, copied))).join("");
}

function relinked(text: string, page: string, copied: ReadonlySet<string>): string {
  return text
    .replaceAll(/^!\[[^\]]*\]\([^)]+\)\n\n?/gm, "")
    .replaceAll(LINK, (link, image?: string, label?: string, target?: string) => {
      if (target === undefined || label === undefined) return link;
      if (image !== "") return label;
      if (/^(?:[a-z]+:|#)/.test(target)) return link;
      const path = posix.join(posix.dirname(page), target.replace(/#.*$/, ""));
      return copied.has(path.replace(/\.md$/, "")) ? link : label;
    });
}

/**
 * Writes the pages into a folder, and `llms.txt`.
 *
 * @param root the folder of `llms.txt`
 * @param under where the pages are in it: `docs`; default: next to `llms.txt`
 */
export async function writeMarkdownCopy(root: string, under = ""): Promise<void> {
  const pages = copiedPages();
  const copied = new Set(pages);
  for (const page of pages) {
    const file = join(root, under, `${page}.md`);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, copiedText(await readFile(join(DOCS, `${page}.md`), "utf8"), page, copied));
  }
  await writeFile(join(root, "llms.txt"), llmsText(under));
}

/** The list of the pages, in the order of the sidebar, each with its description. */
function llmsText(under: string): string {
  const sections = parts().flatMap(({ title, groups }) =>
    groups
      .filter(({ isInternal }) => !isInternal)
      .map((group) => {
        const heading = group.title === title ? title : `${title}: ${group.title}`;
        return `## ${heading}\n\n${group.pages.map((page) => `${lineOf(page, under)}\n`).join("")}`;
      }),
  );
  return `${[`# Ashlar\n`, `> ${SUMMARY}\n`, `${NOTES}\n`, ...sections].join("\n")}`;
}

function lineOf(page: string, under: string): string {
  const { file, title, description } = readPage(page);
  const line = `- [${title}](${posix.join(under, file)})`;
  return description === "" ? line : `${line}: ${description}`;
}
