import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";

/** A test file that a change reaches. */
export interface ReachedTest {
  /** Relative to the repository's root. */
  readonly file: string;
  /** How many imports are between it and a changed file; 0 if the test file itself has changed. */
  readonly distance: number;
}

const CODE = [
  "packages/*/{bin,src,test}/**/*.{ts,js}",
  "packages/*/*.ts",
  "{scripts,bench}/**/*.ts",
  "docs/.vitepress/*.ts",
  "*.ts",
];
/** `from "…"`, `import "…"`, `import("…")`, unless only types are imported. */
const IMPORT = /^(?:import|export) (?!type )[^;]*?from "([^"]+)"|\bimport\(?\s*"([^"]+)"/gm;
/** `builtModule("…")`: a module of the built package, for a program in a separate process. */
const BUILT = /\bbuiltModule\("(\w+)"\)/g;
const PUBLIC = "packages/ashlar/src/public";
/** The modules that a package's commands import from the package's bundle. */
const BUNDLED: Readonly<Record<string, string>> = {
  "packages/ashlar/dist/cli.js": "packages/ashlar/src/cli/main.ts",
  "packages/create-ashlar/dist/main.js": "packages/create-ashlar/src/main.ts",
};

/**
 * The files that differ from a commit, including untracked ones.
 *
 * @param since a commit, or a branch's name, which stands for the common ancestor
 */
export function changedFiles(root: string, since: string): string[] {
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" });
  const base = git("merge-base", since, "HEAD").trim();
  const names = git("diff", "--name-only", "--no-renames", base) + git("ls-files", "--others", "--exclude-standard");
  return [...new Set(names.split("\n").filter(Boolean))];
}

/**
 * The test files that import changed files, directly or indirectly, nearest first. Pages, stubs, commands and other files
 * that no module imports count as imported by the code that names them.
 *
 * @param root the repository
 * @param changed paths relative to it
 */
export function reachedTests(root: string, changed: readonly string[]): ReachedTest[] {
  const files = globSync(CODE, {
    cwd: root,
    exclude: (name) => /^(?:node_modules|\.generated-.*)$/.test(basename(name)),
  });
  const texts = new Map(files.map((file) => [file.replaceAll("\\", "/"), readFileSync(join(root, file), "utf8")]));
  const importers = new Map<string, string[]>();
  for (const [file, text] of texts) {
    for (const target of importsOf(file, text)) importers.set(target, [...(importers.get(target) ?? []), file]);
  }
  const distances = new Map(changed.map((file) => [file, 0]));
  // The loop adds further entries, so the search is breadth-first.
  for (const [file, distance] of distances) {
    const next = importers.get(file) ?? (file.endsWith(".test.ts") ? [] : namedBy(file, texts));
    for (const one of next) if (!distances.has(one)) distances.set(one, distance + 1);
  }
  return [...distances]
    .filter(([file]) => file.endsWith(".test.ts") && texts.has(file))
    .map(([file, distance]) => ({ file, distance }))
    .sort((a, b) => a.distance - b.distance || (a.file < b.file ? -1 : 1));
}

/** The files that a module imports, relative to the repository. */
function importsOf(file: string, text: string): string[] {
  const built = [...text.matchAll(BUILT)].map(([, name]) => `${PUBLIC}/${name}.ts`);
  const imported = [...text.matchAll(IMPORT)].flatMap(([, from, dynamic]) => {
    const name = from ?? dynamic!;
    const path = posix.join(dirname(file), name);
    if (name.startsWith(".")) return [BUNDLED[path] ?? path];
    const [, feature = "index"] = /^ashlar(?:\/(\w+))?$/.exec(name) ?? [];
    return name.split("/")[0] === "ashlar" ? [`${PUBLIC}/${feature}.ts`] : [];
  });
  return [...built, ...imported];
}

/** If a name, such as `package.json`, occurs in more files than this, most of them mean a different file. */
const MANY = 20;

/** The code that names a non-code file by its path, its name, or the nearest folder's name. */
function namedBy(file: string, texts: ReadonlyMap<string, string>): string[] {
  const folders = dirname(file)
    .split("/")
    .filter((name) => name !== ".")
    .toReversed();
  for (const name of [file, basename(file), basename(file, ".stub"), ...folders]) {
    const forms = [`"${name}`, `${name}"`, `/${name}\``];
    const found = [...texts].filter(([, text]) => forms.some((form) => text.includes(form)));
    if (found.length > 0 && found.length <= MANY) return found.map(([one]) => one);
  }
  return [];
}

/** The estimated duration of a test file that hasn't run here yet, in seconds. It is longer if the file starts processes. */
const [SLOW_SECONDS, QUICK_SECONDS] = [8, 0.4];

/**
 * The first tests that fit into a time limit; at least one.
 *
 * @param seconds the limit for their total duration
 * @param durations their earlier durations, in seconds
 */
export function fitting(
  tests: readonly ReachedTest[],
  seconds: number,
  durations: Readonly<Record<string, number>>,
): string[] {
  let left = seconds;
  const files = tests.map(({ file }) => file);
  const fit = files.filter((file) => {
    const takes = durations[file] ?? (/^packages\/\w+\/src\//.test(file) ? QUICK_SECONDS : SLOW_SECONDS);
    if (takes > left) return false;
    left -= takes;
    return true;
  });
  return fit.length > 0 ? fit : files.slice(0, 1);
}

/** How long each test file took in its last run here, in seconds, as Vitest recorded it. */
export function lastDurations(root: string): Record<string, number> {
  const durations: Record<string, number> = {};
  for (const file of globSync("node_modules/.vite/vitest/*/results.json", { cwd: root })) {
    const { projects } = JSON.parse(readFileSync(join(root, file), "utf8")) as {
      projects: Record<string, { files: Record<string, { duration: number }> }>;
    };
    for (const { files } of Object.values(projects)) {
      for (const [name, { duration }] of Object.entries(files)) durations[name] = duration / 1000;
    }
  }
  return durations;
}
