// A thread that only hashes passwords, one job after another, in the order of their arrival.
import { getPriority, setPriority } from "node:os";
import { type MessagePort, workerData } from "node:worker_threads";
import { AshlarError } from "../../support/index.ts";
import { type Argon2, loadArgon2 } from "./argon2.ts";
import type { HashingJob, HashingResult } from "./hashing-threads.ts";
import { makeHash, matchesHash } from "./password-hashes.ts";

/** Added to the event loop's niceness. With twelve steps, a thread gets about a fifteenth of the weight. */
const STEPS = 12;
const NICEST = 19;

/**
 * Lowers the thread's priority. Otherwise, hashing would delay requests that need no hash by milliseconds. If nothing
 * else is running, hashing is as fast as before. Only Linux has priorities per thread. On other systems, it would apply
 * to the process.
 */
function giveWay(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(Math.min(getPriority() + STEPS, NICEST));
  } catch {
    // If this isn't permitted, the priority stays as it is.
  }
}

function failure(error: unknown): HashingResult {
  return { code: error instanceof AshlarError ? error.code : "E_INTERNAL", error };
}

function perform(argon2: Argon2, { hash, plain, parameters, imported }: HashingJob): HashingResult {
  try {
    if (hash === null) return { result: makeHash(argon2, plain, parameters) };
    return { result: matchesHash(argon2, hash, plain, parameters, imported) };
  } catch (error) {
    return failure(error);
  }
}

giveWay();
const port = workerData as MessagePort;
const loaded = await loadArgon2().catch(failure);
port.on("message", (job: HashingJob) => {
  port.postMessage(typeof loaded === "function" ? perform(loaded, job) : loaded);
});
