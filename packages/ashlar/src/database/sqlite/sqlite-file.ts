import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

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
