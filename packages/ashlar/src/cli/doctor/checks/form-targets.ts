import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { SecurityHeadersMiddleware } from "../../../http/index.ts";
import { isOrExtends } from "../../../support/index.ts";
import { type Check, type Finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";

const MAX_FILES = 2000;
const SKIPPED = /^(?:\.|node_modules$|public$|dist$|tests?$)/;
/** A redirect out of the application, with its target if the code begins it with a literal origin. */
const AWAY = /\.away\(\s*(?:(?:new URL\(\s*)?["'`](https?:\/\/[^\s"'`/?#$]+)(?=["'`/?#]))?/g;
const DIRECTIVE = /["']form-action["']\s*:\s*(?:"[^"\n]*"|'[^'\n]*'|`[^`\n]*`),?/;

interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/**
 * Redirects that browsers block: they apply the `form-action` of a form's page to every redirect that follows. Only
 * literal targets in the source are visible, such as `response.away("https://pay.example")`.
 */
export const FORM_TARGETS: Check = {
  name: "Forms",
  needsBoot: false,
  async run(subject: Subject): Promise<Finding[]> {
    const sources = permittedTargets(subject);
    if (sources === null) return [];
    const files = await sourcesIn(subject.root);
    const blocked = files.flatMap((file) => redirectsIn(file).filter(({ origin }) => !isPermitted(origin, sources)));
    if (blocked.length === 0) return [];
    const places = blocked.map(({ path, line }) => `${subject.pathOf(path)}:${line}`).join(", ");
    const problem = `The pages' form-action is ${sources.join(" ")}, so browsers block redirects to other origins after a form: ${places}.`;
    const note = `Or list the other origins there: "form-action": "'self' https://pay.example".`;
    return [warning("pages.forms", { ...directiveIn(subject, files), problem, note })];
  },
};

/** The sources of `form-action`; `null` if forms may lead anywhere. */
function permittedTargets({ routeMiddleware }: Subject): readonly string[] | null {
  const entries = Object.values(routeMiddleware ?? {}).flat();
  const found = entries.find((entry) => isOrExtends(entry, SecurityHeadersMiddleware));
  const sources = (found as typeof SecurityHeadersMiddleware | undefined)?.policy["form-action"];
  return sources === undefined ? null : sources.trim().split(/\s+/);
}

/** @param origin `null` if the source doesn't show it */
function isPermitted(origin: string | null, sources: readonly string[]): boolean {
  if (sources.includes("*") || sources.includes("https:")) return true;
  return origin !== null && sources.some((source) => source.replace(/\/$/, "").toLowerCase() === origin.toLowerCase());
}

function redirectsIn({ path, text }: SourceFile) {
  return [...text.matchAll(AWAY)].map(({ index, 1: origin = null }) => {
    return { path, line: text.slice(0, index).split("\n").length, origin };
  });
}

/** The place of the directive, and the text to remove there. */
function directiveIn(subject: Subject, files: readonly SourceFile[]): Partial<Parameters<typeof warning>[1]> {
  for (const { path, text } of files) {
    const found = DIRECTIVE.exec(text);
    if (found === null) continue;
    const line = text.slice(0, found.index).split("\n").length;
    return { file: subject.pathOf(path), line, remove: found[0] };
  }
  return {};
}

/** The application's own modules. */
async function sourcesIn(root: string): Promise<SourceFile[]> {
  const folders = [root];
  const paths: string[] = [];
  for (const folder of folders) {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (SKIPPED.test(entry.name)) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile() && /\.[cm]?[jt]s$/.test(entry.name)) paths.push(path);
    }
    if (paths.length >= MAX_FILES) break;
  }
  return await Promise.all(
    paths.slice(0, MAX_FILES).map(async (path) => ({ path, text: await readFile(path, "utf8") })),
  );
}
