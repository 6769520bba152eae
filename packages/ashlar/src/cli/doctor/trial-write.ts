import { randomUUID } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { reasonOf } from "../../support/index.ts";

/** Enough for SQLite's log to start with. A full disk often has a block or two left. */
const BYTES = 64 * 1024;

/** Why a file can't be written to a folder, and what to do about it. */
export interface WriteObstacle {
  /** The end of a sentence that begins with the folder: `can't be written: its disk is full.` */
  readonly problem: string;
  readonly note: string;
}

/**
 * Writes a small file into a folder, and removes it. Permissions alone don't reveal a full disk.
 *
 * @param folder the absolute path of an existing folder
 * @param permit the advice if the process's user lacks permission
 * @returns `null` if writing works
 */
export async function trialWrite(folder: string, permit: string): Promise<WriteObstacle | null> {
  const path = join(folder, `.ashlar-doctor-${randomUUID()}`);
  let handle: FileHandle | null = null;
  try {
    handle = await open(path, "wx", 0o600);
    await handle.writeFile(Buffer.alloc(BYTES));
    // Some file systems report this only on closing.
    await handle.sync();
    return null;
  } catch (thrown) {
    return obstacleOf(thrown, permit);
  } finally {
    await handle?.close().catch(() => {});
    if (handle !== null) await rm(path, { force: true });
  }
}

function obstacleOf(thrown: unknown, permit: string): WriteObstacle {
  switch ((thrown as NodeJS.ErrnoException).code) {
    case "ENOSPC":
      return {
        problem: "can't be written: its disk is full.",
        note: "Make room there: df -h and df -i show what is left.",
      };
    case "EDQUOT":
      return {
        problem: "can't be written: the user's quota is used up.",
        note: "Make room there, or raise the quota.",
      };
    case "EROFS":
      return {
        problem: "can't be written: its disk is read-only.",
        note: "Mount it for writing. A disk that became read-only by itself may be failing: check the system's log.",
      };
    default:
      return { problem: `can't be written: ${reasonOf(thrown)}`, note: permit };
  }
}
