import { Worker } from "node:worker_threads";
import { AshlarError } from "../../support/index.ts";

/** Salt (22 characters) and hash (31) in bcrypt's alphabet; the cost in two digits. */
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
const MIN_COST = 4;
/** Each step doubles the work; 14 is seconds already, and a planted 31 would be days. */
const MAX_COST = 14;

/** Tells whether a text is a bcrypt hash of a cost from 4 to 14: `$2a$`, `$2b$` or `$2y$`. */
export function isBcrypt(hash: string): boolean {
  const cost = Number(BCRYPT.exec(hash)?.[1]);
  return cost >= MIN_COST && cost <= MAX_COST;
}

/** The source runs as it is, or compiled: the worker stands beside this file either way. */
const WORKER = new URL(import.meta.url.endsWith(".ts") ? "./bcrypt-worker.ts" : "./bcrypt-worker.js", import.meta.url);

/**
 * Verifies a password against a bcrypt hash that was brought from elsewhere, in a thread of its own: the library is
 * JavaScript, and on the loop it would hold up every other request.
 *
 * Security: bcrypt sees the first 72 bytes of a password and no more, so any text that begins with them is accepted.
 * That ends with the first login, which hashes the whole password anew.
 *
 * @param hash one that {@link isBcrypt} accepts
 * @throws `E_INTERNAL` where the thread could not do its work
 */
export function verifyBcrypt(hash: string, plain: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(WORKER, { workerData: { hash, plain } });
    worker.once("message", (matches: boolean) => resolve(matches));
    worker.once("error", (cause) => reject(failure(cause)));
    worker.once("exit", () => reject(failure(null)));
  });
}

function failure(cause: unknown): AshlarError {
  return new AshlarError("E_INTERNAL", "A bcrypt hash could not be verified: its thread ended without an answer.", {
    cause,
  });
}
