import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { removeApplicationFolders } from "./application-folder.ts";
import { KeptDatabases } from "./kept-databases.ts";
import { mariadbServer } from "./mariadb-databases.ts";
import { postgresServer } from "./postgres-databases.ts";
import { RUN_FOLDER } from "./run-processes.ts";

const PACKAGE = join(import.meta.dirname, "../..");
/** The prefix of the folder's name, followed by the process id of the run. */
const PREFIX = ".generated-run-";

/**
 * Creates a folder for one test run, for data shared by files that cannot know which of them is the last. It is inside
 * the package, so that generated code finds the framework by name. A separate process removes it and the run's
 * databases at the end. After an interruption, it also ends leftover processes.
 *
 * @returns a function that waits for that process
 */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[RUN_FOLDER] !== undefined) return undefined;
  await sweep();
  const folder = await mkdtemp(join(PACKAGE, `${PREFIX}${process.pid}-`));
  // Detached, so that Ctrl+C does not end it.
  const janitor = spawn(process.execPath, [join(import.meta.dirname, "run-janitor.ts"), folder], {
    detached: true,
    stdio: ["pipe", "ignore", "inherit"],
  });
  janitor.unref();
  process.env[RUN_FOLDER] = folder;
  return async () => {
    delete process.env[RUN_FOLDER];
    const ended = once(janitor, "exit");
    janitor.stdin.end("over");
    await ended;
  };
}

/** Cleans up after runs that were ended together with their janitor, such as when the machine was turned off. */
async function sweep(): Promise<void> {
  for (const name of await readdir(PACKAGE)) {
    const pid = name.startsWith(PREFIX) ? Number.parseInt(name.slice(PREFIX.length), 10) : 0;
    // A missing server must not keep a run from starting.
    if (pid > 0 && !isRunning(pid)) await removeRun(join(PACKAGE, name)).catch(() => {});
  }
}

/** Drops a run's databases, and removes the run's folder and those of its applications. */
export async function removeRun(folder: string): Promise<void> {
  for (const server of [postgresServer, mariadbServer]) await new KeptDatabases(server, folder).drop();
  await removeApplicationFolders(folder);
  await rm(folder, { recursive: true, force: true });
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
