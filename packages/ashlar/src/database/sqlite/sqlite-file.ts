import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, realpathSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";

/** The path of a database in memory. */
export const IN_MEMORY = ":memory:";

/**
 * Creates a SQLite file that only its owner can read, and its folder if necessary. SQLite gives the log and index next
 * to the file the same mode. An existing file keeps its mode.
 *
 * @returns whether the file was created
 */
export function createPrivately(path: string): boolean {
  mkdirSync(dirname(path), { recursive: true });
  // An existing file must not even be opened, because closing it would release this process's locks on it.
  if (existsSync(path)) return false;
  closeSync(openSync(path, "a", 0o600));
  return true;
}

/**
 * Why a SQLite file cannot be opened, and what to do about it.
 *
 * @returns `null` if the reason is something other than a directory, a missing permission, or a read-only disk
 */
export function obstacle(path: string): string | null {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    return "it is a directory. Correct the path in config/database.ts.";
  }
  // The folder must be writable too, because the log is created next to the file.
  const place = [path, dirname(path)].find((each) => existsSync(each) && refusalOf(each) !== null);
  if (place === undefined) return null;
  if (refusalOf(place) === "EROFS") return `${place} is on a disk that is read-only. Mount it for writing.`;
  const user = currentUser();
  const owner = "Run the application as the owner, or change it:";
  return `${user} has no permission to read and write ${place}. ${owner} chown -R ${user} "${dirname(path)}"`;
}

/** The system's error code if a file or folder can't be read and written; `null` if it can. */
function refusalOf(place: string): string | null {
  try {
    accessSync(place, constants.R_OK | constants.W_OK);
    return null;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}

/** The name of this process's user, or its number, because in a container it often has no name. */
function currentUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}

/**
 * Returns whether a file is in a folder, or would be once it is created, after resolving all links.
 *
 * @param path absolute
 * @param folder absolute; it may not exist
 */
export function isInFolder(path: string, folder: string): boolean {
  const way = relative(actualPath(folder), actualPath(path));
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** The path with links resolved, as far as it exists. */
function actualPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(actualPath(parent), basename(path));
  }
}
