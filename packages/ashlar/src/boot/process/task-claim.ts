import { now } from "../../support/index.ts";

/** How long a process may take to finish a claimed task before it counts as crashed, in milliseconds. */
export const LEASE_MS: number = 60 * 60_000;

/** A claim to a task, which only this process must run now. */
export interface Claim {
  readonly claimedAt: number;
  /** The value that other processes see while the claim is valid; `null` if they see none. */
  readonly leasedUntil: Date | null;
}

/** Decides which of several processes runs a task, and when. */
export interface TaskClaim {
  /** Claims the task if it is due and no other process has claimed it. An unfinished task is due again after an hour. */
  take(): Promise<Claim | null>;
  /**
   * Sets when a claimed task is due again. Does nothing if another process has claimed the task in the meantime.
   *
   * @param dueAt at most 48 hours from now
   */
  finish(claim: Claim, dueAt: number): Promise<void>;
}

/** Lets every process run the task, if processes don't share a database. */
export class ProcessTaskClaim implements TaskClaim {
  #dueAt = 0;

  async take(): Promise<Claim | null> {
    const claimedAt = now();
    if (this.#dueAt > claimedAt) return null;
    this.#dueAt = claimedAt + LEASE_MS;
    return { claimedAt, leasedUntil: null };
  }

  async finish(_claim: Claim, dueAt: number): Promise<void> {
    this.#dueAt = dueAt;
  }
}
