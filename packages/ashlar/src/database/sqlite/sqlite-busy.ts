import { setTimeout as sleep } from "node:timers/promises";

/** The primary result code, https://www.sqlite.org/rescode.html */
export const BUSY = 5;
/** A transaction that began with a read and can no longer write, because another process has written since. */
const BUSY_SNAPSHOT = 517;

/**
 * The longest wait before the next attempt. It is short, because a process with many writers unlocks the file only
 * briefly.
 */
const LONGEST_WAIT_MS = 5;

/** Whether another connection has the file locked, so that the same statement may succeed soon. */
export function isBusy(error: unknown): boolean {
  const { errcode } = error as { errcode?: number };
  return errcode !== undefined && (errcode & 0xff) === BUSY && errcode !== BUSY_SNAPSHOT;
}

/**
 * Retries until the file is free. SQLite's own busy timeout would block the whole process in the meantime.
 *
 * @param attempt runs the statement again; it has just failed because the file is locked
 * @throws the last attempt's error
 */
export async function retryWhileBusy<T>(attempt: () => T, timeoutMs: number): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (let wait = 1; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    const isLast = performance.now() + wait >= end;
    // Random, so that several processes don't stay in step.
    await sleep(isLast ? Math.max(0, end - performance.now()) : wait * (0.5 + Math.random() / 2));
    try {
      return attempt();
    } catch (error) {
      if (isLast || !isBusy(error)) throw error;
    }
  }
}
