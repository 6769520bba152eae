import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RUN_FOLDER } from "./run-processes.ts";

const PACKAGE = join(import.meta.dirname, "../..");
/** The prefix of a folder's name, followed by a number. */
const PREFIX = ".generated-application-";
/** The folder in that of a run with a file for each of its application folders. */
const LISTED = "applications";

/** The numbers that this process has used, however often its tests load this module. */
const shared = globalThis as { applicationNumbers?: Set<number> };
shared.applicationNumbers ??= new Set();
const used = shared.applicationNumbers;

/** A folder that nothing else uses until it is removed. */
export interface ApplicationFolder {
  readonly folder: string;
  readonly remove: () => Promise<void>;
}

/**
 * Creates an empty folder for an application. It is inside the package, so that a separate process resolves `ashlar` as an
 * installed application would.
 *
 * Its path is the first that is free: Node's compile cache goes by path, and what other tests had there is mostly the same.
 * In one process, no path comes twice, because a module that was loaded stays.
 */
export async function makeApplicationFolder(): Promise<ApplicationFolder> {
  for (let number = 1; ; number++) {
    const folder = join(PACKAGE, `${PREFIX}${number}`);
    if (used.has(number) || !(await created(folder))) continue;
    used.add(number);
    const listed = await list(number);
    const remove = async (): Promise<void> => {
      // First, because the folder may be another run's as soon as it is gone.
      if (listed !== null) await rm(listed, { force: true });
      await rm(folder, { recursive: true, force: true });
    };
    return { folder, remove };
  }
}

async function created(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Lists a folder among those of the run, which removes it if it is interrupted. */
async function list(number: number): Promise<string | null> {
  const run = process.env[RUN_FOLDER];
  if (run === undefined) return null;
  await mkdir(join(run, LISTED), { recursive: true });
  const file = join(run, LISTED, String(number));
  await writeFile(file, "");
  return file;
}

/**
 * Removes the application folders that a run has left.
 *
 * @param run the run's folder
 */
export async function removeApplicationFolders(run: string): Promise<void> {
  const numbers = await readdir(join(run, LISTED)).catch(() => []);
  for (const number of numbers) await rm(join(PACKAGE, PREFIX + number), { recursive: true, force: true });
}
