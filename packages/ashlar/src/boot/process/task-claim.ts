import { now } from "../../support/index.ts";

/** A process that claimed a task and has not finished it after this time counts as crashed. */
export const LEASE_MS: number = 60 * 60_000;

/** The right, and the duty, of this process alone to do a task now. */
export interface Claim {
  readonly claimedAt: number;
  /** What the other processes see as long as the claim is valid; `null` if they see nothing. */
  readonly leasedUntil: Date | null;
}

/** Decides which of several processes does a task, and when. */
export interface TaskClaim {
  /** Claims the task, if it is due and no other process has claimed it. An unfinished task is due again in an hour. */
  take(): Promise<Claim | null>;
  /**
   * Sets when a claimed task is due again. If it took so long that another process has claimed it, nothing changes.
   *
   * @param dueAt at most 48 hours from now
   */
  finish(claim: Claim, dueAt: number): Promise<void>;
}

/** Lets each process do the task, because they share nothing. */
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
