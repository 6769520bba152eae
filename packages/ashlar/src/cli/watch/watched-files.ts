import { basename, extname, sep } from "node:path";

/** Extensions of source files. Anything else, such as a database, a log or an upload, is data. */
const EXTENSIONS: ReadonlySet<string> = new Set(
  ".ts .mts .cts .js .mjs .cjs .json .edge .html .yaml .yml .toml .sql .graphql".split(" "),
);

/** Folders at the application's root that the server doesn't load from, or reads at each request. */
const OTHER_FOLDERS: ReadonlySet<string> = new Set(["public", "tests", "coverage", "storage", "tmp"]);

/** Files that editors and tools leave next to a `.env`, and the example, which is only copied. */
const OTHER_ENV_FILES = /\.(example|tmp|lock|bak|orig|sw[a-z])$|~$/;

/** Reports whether a folder may contain files that {@link isWatchedFile} accepts. @param path relative to the root */
export function isWatchedFolder(path: string): boolean {
  const parts = path.split(sep);
  return !OTHER_FOLDERS.has(parts[0]!) && !parts.some((part) => part === "node_modules" || part.startsWith("."));
}

/**
 * Reports whether the application may have to restart when a file changes. Checking the extension also excludes the
 * temporary files of editors: `4913`, `kernel.ts~`, `.kernel.ts.swp`, `sedx3Fq1`.
 *
 * @param path relative to the root, in a folder that {@link isWatchedFolder} accepts
 */
export function isWatchedFile(path: string): boolean {
  const name = basename(path);
  if (path === name && (name === ".env" || name.startsWith(".env."))) return !OTHER_ENV_FILES.test(name);
  return !name.startsWith(".") && EXTENSIONS.has(extname(name));
}
