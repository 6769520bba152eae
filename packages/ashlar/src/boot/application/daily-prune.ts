import { randomInt } from "node:crypto";
import type { Logger } from "../../kernel/index.ts";
import { now } from "../../support/index.ts";
import { ProcessTaskClaim, type TaskClaim } from "../process/task-claim.ts";

const DAY_MS = 24 * 60 * 60_000;
const MINUTE_MS = 60_000;
/**
 * Delayed, so that a starting server isn't busy with it, and random, so that several servers don't prune at the same
 * time.
 */
const FIRST_LOOK_MINUTES = [1, 15] as const;
const NEXT_LOOK_MINUTES = [45, 75] as const;

/** The dependencies of a {@link DailyPrune}. */
export interface DailyPruneDependencies {
  /** Deletes expired data, and stops between two batches when the signal is aborted. */
  readonly prune: (signal: AbortSignal) => Promise<Readonly<Record<string, number>>>;
  readonly logger: Logger;
}

/**
 * Prunes once a day while the application listens. About once an hour, each process checks whether pruning is due, and one of
 * them does it. Failures are logged, and retried after about an hour.
 */
export class DailyPrune {
  /** Decides which process prunes. Without a shared database, each one does. */
  claim: TaskClaim = new ProcessTaskClaim();
  /** Whether only `ashlar prune` deletes expired data. */
  isOff = false;
  /** When this process last pruned without a failure, in milliseconds since 1970; `null` if it hasn't. */
  succeededAt: number | null = null;
  readonly #dependencies: DailyPruneDependencies;
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #underway: Promise<void> = Promise.resolve();

  constructor(dependencies: DailyPruneDependencies) {
    this.#dependencies = dependencies;
  }

  /** Starts checking, unless it is off. */
  start(): void {
    if (!this.isOff && this.#timer === undefined) this.#lookIn(randomInt(...FIRST_LOOK_MINUTES) * MINUTE_MS);
  }

  /** Prunes if it is due and no other process is doing it. Never rejects. */
  look(): Promise<void> {
    this.#underway = this.#underway.then(() => this.#look());
    return this.#underway;
  }

  /** Stops pruning, and waits for the batch that is being deleted. Another process may then delete the rest. */
  async stop(): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#timer);
    await this.#underway;
  }

  #lookIn(delayMs: number): void {
    // The timer doesn't keep the process alive.
    this.#timer = setTimeout(async () => {
      await this.look();
      if (!this.#stop.signal.aborted) this.#lookIn(randomInt(...NEXT_LOOK_MINUTES) * MINUTE_MS);
    }, delayMs).unref();
  }

  async #look(): Promise<void> {
    const { prune, logger } = this.#dependencies;
    const { claim } = this;
    const { signal } = this.#stop;
    if (signal.aborted) return;
    try {
      const claimed = await claim.take();
      if (claimed === null) return;
      const deleted = await prune(signal);
      if (Object.keys(deleted).length > 0) logger.info({ deleted }, "Deleted expired data.");
      await claim.finish(claimed, signal.aborted ? claimed.claimedAt : claimed.claimedAt + DAY_MS);
      if (!signal.aborted) this.succeededAt = now();
    } catch (error) {
      logger.error({ err: error }, "Expired data could not be deleted. The next attempt is in about an hour.");
    }
  }
}
