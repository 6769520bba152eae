// A thread that hashes passwords, and does nothing else: one job after the other, in the order in which they come.
import { getPriority, setPriority } from "node:os";
import { type MessagePort, workerData } from "node:worker_threads";
import { AshlarError } from "../../support/index.ts";
import { type Argon2, loadArgon2 } from "./argon2.ts";
import type { HashingAnswer, HashingJob } from "./hashing-threads.ts";
import { makeHash, matchesHash } from "./password-hashes.ts";

/** How much nicer than the event loop: twelve steps leave a thread about a fifteenth of the weight. */
const STEPS = 12;
const NICEST = 19;

/**
 * Gives way to the event loop, where requests that need no hash would otherwise wait for milliseconds. Where nobody waits,
 * a hash is as quick as before. Only Linux has a priority for each thread; elsewhere it would be the whole process's.
 */
function giveWay(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(Math.min(getPriority() + STEPS, NICEST));
  } catch {
    // No right to: then it keeps the priority it has.
  }
}

function failure(error: unknown): HashingAnswer {
  return { code: error instanceof AshlarError ? error.code : "E_INTERNAL", error };
}

function answer(argon2: Argon2, { hash, plain, parameters }: HashingJob): HashingAnswer {
  try {
    if (hash === null) return { result: makeHash(argon2, plain, parameters) };
    return { result: matchesHash(argon2, hash, plain, parameters) };
  } catch (error) {
    return failure(error);
  }
}

giveWay();
const port = workerData as MessagePort;
const loaded = await loadArgon2().catch(failure);
port.on("message", (job: HashingJob) => {
  port.postMessage(typeof loaded === "function" ? answer(loaded, job) : loaded);
});
