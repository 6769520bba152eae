import { now } from "../../support/index.ts";

/** How long a process may take for a task that it has claimed, in milliseconds, before it counts as crashed. */
export const LEASE_MS: number = 60 * 60_000;

/** A claim to a task: this process, and no other, must do it now. */
export interface Claim {
  readonly claimedAt: number;
  /** The value that other processes see while the claim is valid; `null` if they see none. */
  readonly leasedUntil: Date | null;
}

/** Decides which of several processes does a task, and when. */
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

/** Lets every process do the task, for processes that share nothing. */
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
