import { existsSync } from "node:fs";
import { readdir, readFile, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import satisfies from "semver/functions/satisfies.js";
import gtr from "semver/ranges/gtr.js";
import validRange from "semver/ranges/valid.js";
import { NEWEST_NODE, nodeVersionProblem } from "../../../support/index.ts";
import { type Check, error, type Finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";

const PACKAGE = "ashlar";

/** The package managers' lockfiles, each with the commands that write it, and that merge duplicate packages. */
const LOCKFILES = [
  { file: "package-lock.json", install: "npm install", dedupe: "npm dedupe" },
  { file: "npm-shrinkwrap.json", install: "npm install", dedupe: "npm dedupe" },
  { file: "pnpm-lock.yaml", install: "pnpm install", dedupe: "pnpm dedupe" },
  { file: "yarn.lock", install: "yarn install", dedupe: "yarn dedupe" },
  { file: "bun.lock", install: "bun install", dedupe: "bun update ashlar" },
  { file: "bun.lockb", install: "bun install", dedupe: "bun update ashlar" },
] as const;

/** Checks Node's version, and the installed packages. */
export const PACKAGES: Check = {
  name: "Node.js and packages",
  needsBoot: false,
  async run({ root }: Subject): Promise<Finding[]> {
    return [...(await nodeFindings(root)), ...(await copyFindings(root)), ...lockfileFindings(root)];
  },
};

async function nodeFindings(root: string): Promise<Finding[]> {
  const problem = nodeVersionProblem() ?? enginesProblem(await enginesOf(root), process.versions.node);
  if (problem === null) return [];
  return [error("node.version", { file: "package.json", problem, run: `npm install --save-dev node@${NEWEST_NODE}` })];
}

async function enginesOf(root: string): Promise<string | null> {
  try {
    const text = await readFile(join(root, "package.json"), "utf8");
    const { engines } = JSON.parse(text) as { readonly engines?: { readonly node?: unknown } };
    return typeof engines?.node === "string" ? engines.node : null;
  } catch {
    return null;
  }
}

/** A nightly build of Node.js counts as the release with the same number. */
const AS_RELEASED = { includePrerelease: true } as const;

/**
 * Reports whether a version of Node.js is older than `engines.node` allows. A newer one may work, and npm complains
 * about an invalid range.
 *
 * @param engines the range, such as `>=24.7`
 */
export function enginesProblem(engines: string | null, version: string): string | null {
  if (engines === null || validRange(engines) === null) return null;
  if (satisfies(version, engines, AS_RELEASED) || gtr(version, engines, AS_RELEASED)) return null;
  return `package.json asks for Node.js ${engines.trim()}, and this is ${version}.`;
}

async function copyFindings(root: string): Promise<Finding[]> {
  const copies = await copiesIn(join(root, "node_modules"));
  if (copies.length < 2) return [];
  const places = copies.map((path) => path.slice(root.length + 1)).join(" and ");
  const problem = `${PACKAGE} is installed ${copies.length} times, in ${places}: objects that one copy creates aren't recognized by the other.`;
  const command = (LOCKFILES.find(({ file }) => existsSync(join(root, file))) ?? LOCKFILES[0]).dedupe;
  const note = "If the copies remain, a package depends on another version of ashlar: update that package.";
  return [error("package.copies", { file: "package.json", problem, run: command, note })];
}

/** The different copies of the framework in a folder of packages, including copies in nested packages, and pnpm's. */
async function copiesIn(folder: string): Promise<string[]> {
  const found = new Map<string, string>();
  const visit = async (packages: string, depth: number): Promise<void> => {
    if (depth > 4) return;
    const own = join(packages, PACKAGE);
    if (existsSync(join(own, "package.json"))) {
      const real = await realpath(own);
      if (!found.has(real)) found.set(real, own);
    }
    for (const nested of await nestedFolders(packages)) await visit(nested, depth + 1);
  };
  await visit(folder, 0);
  return [...found.values()];
}

async function nestedFolders(packages: string): Promise<string[]> {
  const names = await namesIn(packages);
  const scoped = await Promise.all(
    names
      .filter((name) => name.startsWith("@") || name === ".pnpm")
      .map(async (scope) => (await namesIn(join(packages, scope))).map((name) => join(scope, name))),
  );
  return [...names, ...scoped.flat()]
    .map((name) => join(packages, name, "node_modules"))
    .filter((path) => existsSync(path));
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  // Links are skipped, because their targets are found in their own places.
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

function lockfileFindings(root: string): Finding[] {
  if (!existsSync(join(root, "package.json"))) return [];
  // In a workspace, the folder is in a parent folder.
  for (let folder = root; ; folder = dirname(folder)) {
    if (LOCKFILES.some(({ file }) => existsSync(join(folder, file)))) return [];
    if (dirname(folder) === folder) break;
  }
  const problem = "There is no lockfile, so each installation may get other versions of the packages.";
  return [warning("package.lockfile", { file: "package.json", problem, run: LOCKFILES[0].install })];
}
