import { readdirSync, readFileSync } from "node:fs";

/** The process is stopped or about to end. */
const STOPPED = new Set(["T", "Z", "X"]);

/**
 * Freezes a process, as on a machine that swaps or is suspended: it keeps its connections, but doesn't respond. It
 * waits until the process has stopped, because on a busy machine, the signal takes effect later, and the process may
 * respond once more.
 *
 * @throws `ESRCH` if there is no such process
 */
export function freeze(pid: number): void {
  process.kill(pid, "SIGSTOP");
  // Other systems don't show the states of threads.
  if (process.platform !== "linux") return;
  while (threadStates(pid).some((state) => !STOPPED.has(state))) wait();
}

/** Resumes a frozen process, unless it has ended. */
export function thaw(pid: number): void {
  try {
    process.kill(pid, "SIGCONT");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function threadStates(pid: number): string[] {
  return entries(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      // The state follows the name, which is in parentheses and may itself contain parentheses.
      return /\) (\w)[^)]*$/.exec(readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8"))?.[1] ?? [];
    } catch {
      return [];
    }
  });
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function wait(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
}
