import { closeSync, existsSync, mkdirSync, openSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";

/** The path of a database in memory. */
export const IN_MEMORY = ":memory:";

/**
 * Creates a SQLite file that only its owner can read, and its folder. SQLite uses the same mode for the log and the
 * index next to it. An existing file keeps its mode.
 */
export function createPrivately(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  // An existing file must not even be opened: closing it would release the locks that this process has on it.
  if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
}

/**
 * Reports whether a file is in a folder, or would be if it were created there, whatever links lead to it.
 *
 * @param path absolute
 * @param folder absolute; it need not exist
 */
export function isInFolder(path: string, folder: string): boolean {
  const way = relative(actualPath(folder), actualPath(path));
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** The path without links, as far as it exists. */
function actualPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(actualPath(parent), basename(path));
  }
}
