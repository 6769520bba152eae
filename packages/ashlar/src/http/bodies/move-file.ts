import { randomUUID } from "node:crypto";
import { chmod, copyFile, link, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AshlarError } from "../../support/index.ts";
import "../errors.ts";

/** Options for moving a file. */
export interface MoveOptions {
  /** Whether to replace an existing file of the same name; if not set, that is an error. */
  readonly overwrite?: boolean;
}

/** A file's content: bytes in pieces, or another file on disk. */
export type Content = AsyncIterable<Uint8Array> | { readonly path: string; readonly mayBeLinked: boolean };

/**
 * Writes a file that appears under its name only once it is complete. Until then, the content is in a hidden file next
 * to it. Creates missing folders.
 *
 * @param name the file's name if the target is a folder, or ends in a slash
 * @returns the path written, and whether a file on disk got a second name there instead of being copied
 * @throws `E_FILE_EXISTS`, `E_DISK_FULL`
 */
export async function writeWhole(
  target: string,
  name: string,
  content: Content,
  { overwrite = false }: MoveOptions,
): Promise<{ readonly path: string; readonly isLinked: boolean }> {
  const path = (await isFolder(target)) ? join(target, name) : target;
  await mkdir(dirname(path), { recursive: true });
  const part = join(dirname(path), `.${randomUUID()}.part`);
  try {
    const isLinked = await fill(part, content);
    await publish(part, path, overwrite);
    return { path, isLinked };
  } catch (error) {
    throw asDiskFull(error);
  } finally {
    await rm(part, { force: true });
  }
}

async function fill(part: string, content: Content): Promise<boolean> {
  const handle = await open(part, "wx");
  try {
    if ("path" in content) {
      // Uses the permissions of any new file, because other users may need to read it.
      const { mode } = await handle.stat();
      if (content.mayBeLinked && (await linked(content.path, part, mode))) return true;
      await copyFile(content.path, part);
      // The copy has the original file's permissions.
      await handle.chmod(mode & 0o777);
    } else {
      for await (const piece of content) await handle.writeFile(piece);
    }
    return false;
  } finally {
    await handle.close();
  }
}

/**
 * Gives a file a second name, replacing the empty file there. Not every file system supports this, and none does across
 * file systems.
 */
async function linked(path: string, part: string, mode: number): Promise<boolean> {
  const second = `${part}.link`;
  try {
    await link(path, second);
  } catch {
    return false;
  }
  await chmod(second, mode & 0o777);
  await rename(second, part);
  return true;
}

async function publish(part: string, path: string, overwrite: boolean): Promise<void> {
  if (overwrite) return rename(part, path);
  try {
    // Unlike rename, this never replaces a file, even one that appears at the same moment.
    await link(part, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw fileExists(path);
    if (code === "ENOSPC" || code === "EDQUOT" || code === "ENOENT") throw error;
    await renameToNew(part, path);
  }
}

/** Does the same on file systems without links. */
async function renameToNew(part: string, path: string): Promise<void> {
  try {
    await (await open(path, "wx")).close();
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "EEXIST" ? fileExists(path) : error;
  }
  await rename(part, path);
}

function fileExists(path: string): AshlarError {
  const remedy = "Pass { overwrite: true } to replace it.";
  return new AshlarError("E_FILE_EXISTS", `A file already exists at "${path}". ${remedy}`);
}

/** Converts the system's errors about a full disk or quota into the framework's. */
export function asDiskFull(error: unknown): unknown {
  const { code } = Object(error) as { readonly code?: unknown };
  if (code !== "ENOSPC" && code !== "EDQUOT") return error;
  return new AshlarError("E_DISK_FULL", `There is no room left on the disk: ${(error as Error).message}`, {
    cause: error,
    headers: { connection: "close" },
  });
}

async function isFolder(target: string): Promise<boolean> {
  if (target.endsWith("/") || target.endsWith("\\")) return true;
  const found = await stat(target).catch(() => null);
  return found?.isDirectory() === true;
}
