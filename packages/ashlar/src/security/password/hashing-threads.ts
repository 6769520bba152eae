import { readdirSync, readFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";

/** How much nicer than the event loop: ten steps leave a thread about a tenth of the weight. */
const STEPS = 10;
const NICEST = 19;
const TASKS = "/proc/self/task";
/** What libuv names the threads of its pool. */
const POOL_THREAD = "libuv-worker\n";

/**
 * Has the threads that hash give way to the event loop: on Linux, where each thread has a priority of its own, those of
 * libuv's pool are made nicer. With equal rights, a hash keeps its processor for milliseconds while requests that need
 * no hash wait for it. Where nobody waits, a hash is as quick as before.
 *
 * The pool's threads are there once something has run on them. Anywhere else, nothing changes.
 */
export function lowerHashingPriority(): void {
  try {
    const priority = Math.min(getPriority() + STEPS, NICEST);
    for (const thread of readdirSync(TASKS)) {
      if (readFileSync(`${TASKS}/${thread}/comm`, "utf8") === POOL_THREAD) setPriority(Number(thread), priority);
    }
  } catch {
    // No such folder, or no right to: then the threads keep the priority they have.
  }
}
