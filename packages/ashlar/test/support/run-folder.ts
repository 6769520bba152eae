import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";

/** The variable that names the folder. */
export const RUN_FOLDER = "ASHLAR_TEST_FOLDER";

/**
 * Makes a folder for one run of the tests, for what all files of a process use: no file knows whether it is the last.
 * It is inside the package, where what is generated finds the framework by name.
 *
 * @returns what removes it after the run
 */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[RUN_FOLDER] !== undefined) return undefined;
  const folder = await mkdtemp(join(import.meta.dirname, "../..", ".generated-"));
  process.env[RUN_FOLDER] = folder;
  return async () => {
    delete process.env[RUN_FOLDER];
    await rm(folder, { recursive: true, force: true });
  };
}
