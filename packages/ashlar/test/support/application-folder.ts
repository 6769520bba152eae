import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RUN_FOLDER } from "./run-processes.ts";

const PACKAGE = join(import.meta.dirname, "../..");
/** The prefix of a folder's name, followed by a number. */
const PREFIX = ".generated-application-";
/** The folder, inside the run's folder, with a file for each of the run's application folders. */
const LISTED = "applications";

/** The numbers that this process has used, shared if tests load this module several times. */
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
 * It takes the first free path, because Node's compile cache goes by path, and other tests had mostly the same files
 * there. A process never uses a path twice, because loaded modules stay.
 */
export async function makeApplicationFolder(): Promise<ApplicationFolder> {
  for (let number = 1; ; number++) {
    const folder = join(PACKAGE, `${PREFIX}${number}`);
    if (used.has(number) || !(await created(folder))) continue;
    used.add(number);
    const listed = await list(number);
    const remove = async (): Promise<void> => {
      // First, because another run may take the folder as soon as it is gone.
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

/** Registers a folder, so that it is removed even if the run is interrupted. */
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
