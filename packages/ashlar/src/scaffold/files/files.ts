import { randomBytes } from "node:crypto";
import type { Stats } from "node:fs";
import {
  type FileHandle,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { AshlarError } from "../../support/index.ts";

/** A file to be written: its path relative to the application's root, and its text. */
export interface NewFile {
  readonly path: string;
  readonly text: string;
}

/** Returns the text with the line endings of the text that it replaces. */
export function withLineEndsOf(before: string | null, text: string): string {
  return before?.includes("\r\n") ? text.replaceAll("\n", "\r\n") : text;
}

/**
 * Writes a file that must not exist yet.
 *
 * @returns whether the file was written; `false` if it exists, in which case it isn't changed
 */
export async function writeNewFile(root: string, file: NewFile): Promise<boolean> {
  return await write(root, file, () => {});
}

/**
 * Replaces a file in one step: readers find either the old text or the new one, even if the machine crashes in between.
 * A symbolic link remains a link, even if its target doesn't exist yet. The owner and group are kept if this process
 * may set them.
 *
 * @param mode the file's permissions, unless the replaced file had none for others, and its group can be kept; default:
 * those of the replaced file
 */
export async function replaceFile(path: string, text: string, mode?: number): Promise<void> {
  const target = await targetOf(path);
  const before = await stat(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" && mode !== undefined) return null;
    throw error;
  });
  const draft = `${target}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(text);
      // Security: uses the handle, because another user who may write to the folder could replace the draft with a
      // link.
      const isKept = before !== null && (await keptGroup(file, before));
      // The process's umask must not affect the permissions of a file that existed before.
      await file.chmod(modeOf(before, isKept, mode));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** The file to which a path leads, even if it doesn't exist yet. */
async function targetOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const link = await readlink(path).catch(() => null);
    return link === null ? path : await targetOf(resolve(await realpath(dirname(path)), link));
  }
}

/**
 * Gives a new file the owner and group of the file that it replaces, or else only the group. Returns whether the group
 * could be set.
 */
async function keptGroup(file: FileHandle, { uid, gid }: Stats): Promise<boolean> {
  const made = await file.stat();
  if (made.uid === uid && made.gid === gid) return true;
  // Only root may change a file's owner.
  for (const owner of [uid, made.uid]) {
    try {
      await file.chown(owner, gid);
      return true;
    } catch {
      // The file belongs to this process's user then.
    }
  }
  return made.gid === gid;
}

function modeOf(before: Stats | null, isKept: boolean, mode: number | undefined): number {
  if (mode === undefined) return before!.mode & 0o7777;
  const isClosed = before !== null && (before.mode & 0o007) === 0;
  return isClosed && isKept ? before.mode & 0o777 : mode;
}

/** Writes a file, and returns the topmost folder that was created for it. */
async function write(root: string, { path, text }: NewFile, made: (folder: string) => void): Promise<boolean> {
  const target = join(root, path);
  const folder = await mkdir(dirname(target), { recursive: true });
  if (folder !== undefined) made(folder);
  try {
    await writeFile(target, text, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    // Part of the file may have been written, for example if the disk has become full.
    await rm(target, { force: true }).catch(() => {});
    throw error;
  }
}

/**
 * Writes files that must not exist yet. If anything fails, removes those that were written.
 *
 * @param finish a final step, which has to succeed too
 * @param finished the files that the final step creates
 * @param interruption aborts before the next file
 * @throws `E_COMMAND` with the system's message if a file operation fails; the signal's reason; the errors of `finish`
 */
export async function writeAllOrNone(
  root: string,
  files: readonly NewFile[],
  finish: () => Promise<unknown>,
  finished: readonly string[] = [],
  interruption?: AbortSignal,
): Promise<void> {
  const written: string[] = [];
  const folders: string[] = [];
  try {
    for (const file of files) {
      interruption?.throwIfAborted();
      if (await write(root, file, (folder) => void folders.push(folder))) written.push(file.path);
    }
    interruption?.throwIfAborted();
    written.push(...finished);
    await finish();
  } catch (error) {
    for (const path of written) await rm(join(root, path), { force: true });
    for (const folder of folders.toReversed()) await removeIfEmpty(folder);
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof AshlarError || code === undefined) throw error;
    throw new AshlarError("E_COMMAND", `${message}. Nothing was written to ${root}.`, { cause: error });
  }
}

/** Removes a folder if it contains only empty folders. */
async function removeIfEmpty(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeIfEmpty(join(folder, entry.name));
  }
  await rmdir(folder).catch(() => {});
}

/**
 * Checks that a new application can be created in a folder.
 *
 * @throws `E_COMMAND` if it or a folder on the way to it is a file, if it cannot be read or written, or if it contains
 * anything but a repository's own files
 */
export async function requireEmptyFolder(folder: string): Promise<void> {
  const link = await danglingLink(folder);
  if (link !== null) {
    const problem = `${link} is a symbolic link to a folder that doesn't exist.`;
    throw new AshlarError("E_COMMAND", `${problem} Nothing was written. Choose another folder, or create that one.`);
  }
  const existing = await nearestExisting(folder);
  await requireWritable(existing);
  const harmless = new Set([".git", ".gitkeep", ".DS_Store", "LICENSE", "README.md"]);
  const entries = existing === folder ? await readdir(folder).catch(refuse) : [];
  const others = entries.filter((entry) => !harmless.has(entry));
  if (others.length > 0) {
    throw new AshlarError(
      "E_COMMAND",
      `The folder ${folder} is not empty (${others.slice(0, 3).join(", ")}${others.length > 3 ? ", …" : ""}). ` +
        `Nothing was written. Choose another folder, or empty this one.${isCutOff(entries) ? CUT_OFF : ""}`,
    );
  }
}

const CUT_OFF = " If it is a new application whose creation was cut off, delete it and run this again.";

/** Whether an application may have been created here only partially. */
function isCutOff(entries: readonly string[]): boolean {
  return entries.includes("package.json") && !entries.includes(".env");
}

/** The dangling symbolic link in a path; `null` if there isn't one. */
async function danglingLink(path: string): Promise<string | null> {
  const ifPresent = (error: NodeJS.ErrnoException): null => {
    // If there is a file in the path, another check reports it.
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
    throw error;
  };
  if ((await stat(path).catch(ifPresent)) !== null) return null;
  if ((await lstat(path).catch(ifPresent)) !== null) return path;
  return path === dirname(path) ? null : await danglingLink(dirname(path));
}

/** The folder itself, or the nearest existing folder above it. */
async function nearestExisting(folder: string): Promise<string> {
  for (let path = folder; ; path = dirname(path)) {
    const entry = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
      return refuse(error);
    });
    if (entry?.isDirectory()) return path;
    if (entry !== null) refuse(new Error(`${path} is a file, not a folder`));
    // The root of a drive that doesn't exist.
    if (path === dirname(path)) refuse(new Error(`${path} doesn't exist`));
  }
}

/**
 * Creates a folder in another one and removes it. Permissions alone don't show whether that is possible (`/proc`,
 * read-only file systems), and Node's recursive `mkdir` may try forever.
 */
async function requireWritable(folder: string): Promise<void> {
  const probe = await mkdtemp(join(folder, ".ashlar-")).catch((error: NodeJS.ErrnoException) =>
    refuse(new Error(`The folder ${folder} cannot be written (${error.code})`, { cause: error })),
  );
  await rmdir(probe);
}

function refuse(cause: Error): never {
  throw new AshlarError("E_COMMAND", `${cause.message}. Nothing was written. Choose another folder.`, { cause });
}
