import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresDatabases } from "./postgres-databases.ts";

/** The variable that names the folder. */
export const RUN_FOLDER = "ASHLAR_TEST_FOLDER";

/**
 * Makes a folder for one run of the tests, for what several files use, of which none knows whether it is the last.
 * It is inside the package, where what is generated finds the framework by name.
 *
 * @returns what removes it after the run
 */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[RUN_FOLDER] !== undefined) return undefined;
  const folder = await mkdtemp(join(import.meta.dirname, "../..", ".generated-"));
  process.env[RUN_FOLDER] = folder;
  // What Node makes of the framework's source, the processes that tests start share as well.
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), "node-compile-cache");
  return async () => {
    delete process.env[RUN_FOLDER];
    await new PostgresDatabases(folder).drop();
    await rm(folder, { recursive: true, force: true });
  };
}
