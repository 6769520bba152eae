import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeptDatabases } from "./kept-databases.ts";
import { mariadbServer } from "./mariadb-databases.ts";
import { postgresServer } from "./postgres-databases.ts";

/** The variable with the folder's path. */
export const RUN_FOLDER = "ASHLAR_TEST_FOLDER";

const PACKAGE = join(import.meta.dirname, "../..");
/** The prefix of the folder's name, followed by the process id of the run. */
const PREFIX = ".generated-run-";

/**
 * Creates a folder for one test run, for data shared by files that cannot know which of them is the last. It is
 * inside the package, so that generated code finds the framework by name.
 *
 * @returns a function that removes it after the run
 */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[RUN_FOLDER] !== undefined) return undefined;
  await sweep();
  const folder = await mkdtemp(join(PACKAGE, `${PREFIX}${process.pid}-`));
  process.env[RUN_FOLDER] = folder;
  // Processes that tests start also share Node's compile cache of the framework's source.
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), "node-compile-cache");
  return async () => {
    delete process.env[RUN_FOLDER];
    await remove(folder);
  };
}

/** Removes what runs left behind whose process was killed. */
async function sweep(): Promise<void> {
  for (const name of await readdir(PACKAGE)) {
    const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : 0;
    // A missing server must not keep a run from starting.
    if (pid > 0 && !isRunning(pid)) await remove(join(PACKAGE, name)).catch(() => {});
  }
}

async function remove(folder: string): Promise<void> {
  for (const server of [postgresServer, mariadbServer]) await new KeptDatabases(server, folder).drop();
  await rm(folder, { recursive: true, force: true });
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
