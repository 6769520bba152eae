import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/** The path of a database that is in memory. */
export const IN_MEMORY = ":memory:";

/**
 * Makes a SQLite file that only its owner can read, and its folder. SQLite gives the log and the index beside it the
 * same mode. A file that is there keeps its mode.
 */
export function createPrivately(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  // A file that is there must not even be opened: closing it would end the locks that this process has on it.
  if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
}
