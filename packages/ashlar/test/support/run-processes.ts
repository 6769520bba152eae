import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** The variable with the test run's folder. Processes that tests start inherit it. */
export const RUN_FOLDER = "ASHLAR_TEST_FOLDER";

/** How long processes have to end by themselves, in milliseconds. A PostgreSQL server removes its shared memory. */
const GRACE_MS = 2000;

/** How long to wait for killed processes to end, in milliseconds; on a busy machine, it takes a while. */
const KILLED_MS = 30_000;

/**
 * Ends every process that a test run has started and that is still running. Only Linux shows the variables that a
 * process has inherited.
 *
 * @param folder the run's folder
 */
export async function endProcessesOf(folder: string): Promise<void> {
  for (const pid of processesOf(folder)) signal(pid, "SIGTERM");
  await ended(folder, GRACE_MS);
  for (const pid of processesOf(folder)) signal(pid, "SIGKILL");
  await ended(folder, KILLED_MS);
}

/** Waits, for this long at most, until no process of a run is left. */
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

/** The variables that a process was started with, or none if it belongs to another user. */
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
