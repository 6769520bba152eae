import { lstatSync, mkdirSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Makes Node keep compiled code for the next start, in a folder that only this user can write to; if there is no such
 * folder, nothing is kept. `NODE_COMPILE_CACHE` names another folder.
 *
 * Security: Node runs the code that it finds there. Its own default is a fixed name in the system's folder for temporary
 * files, and belongs to the first user who creates it.
 */
export function keepCompiledCode() {
  const uid = process.getuid?.();
  const folder = join(tmpdir(), uid === undefined ? "ashlar-compile-cache" : `ashlar-compile-cache-${uid}`);
  if (isPrivate(folder, uid)) enableCompileCache(folder);
}

/** Creates the folder if it doesn't exist. Windows has no user ids: each user has their own folder for temporary files. */
function isPrivate(folder, uid) {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (error.code !== "EEXIST") return false;
  }
  const status = lstatSync(folder, { throwIfNoEntry: false });
  if (status === undefined || !status.isDirectory()) return false;
  return uid === undefined || (status.uid === uid && (status.mode & 0o077) === 0);
}
