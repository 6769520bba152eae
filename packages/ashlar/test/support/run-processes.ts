import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** The variable with the folder of a test run. What tests start inherits it. */
export const RUN_FOLDER = "ASHLAR_TEST_FOLDER";

/** How long processes have to end by themselves, in milliseconds. A PostgreSQL server removes its shared memory. */
const GRACE_MS = 2000;

/** How long the system has to end those that were killed, in milliseconds: on a busy machine, that isn't at once. */
const KILLED_MS = 30_000;

/**
 * Ends every process that a test run has started and that still runs. Only Linux says what a process has inherited.
 *
 * @param folder the run's folder
 */
export async function endProcessesOf(folder: string): Promise<void> {
  for (const pid of processesOf(folder)) signal(pid, "SIGTERM");
  await ended(folder, GRACE_MS);
  for (const pid of processesOf(folder)) signal(pid, "SIGKILL");
  await ended(folder, KILLED_MS);
}

/** Waits until no process of a run is left, but no longer than this. */
async function ended(folder: string, forMs: number): Promise<void> {
  for (const end = Date.now() + forMs; Date.now() < end && processesOf(folder).length > 0; ) await sleep(50);
}

/** The ids of the processes that a test run has started, except this one. */
export function processesOf(folder: string): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && environmentOf(pid).includes(`${RUN_FOLDER}=${folder}`));
}

/** The variables that a process was started with; none if it is another user's. */
function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return [];
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended since.
  }
}
