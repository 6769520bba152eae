import { randomInt } from "node:crypto";
import type { Logger } from "../../kernel/index.ts";

const MINUTE_MS = 60_000;
/** The range of the random pause, so that not all processes delete at the same time. */
const PAUSE_MINUTES = [2, 5] as const;

/**
 * Deletes expired counts every few minutes while the server runs. Each counted address is a row, so a flood of
 * addresses would otherwise fill the table until the daily pruning. Every process does this, but usually nothing is
 * left to delete. Failures are logged.
 */
export class ExpiredCounts {
  readonly #prune: () => Promise<unknown>;
  readonly #logger: Pick<Logger, "warn">;
  #timer: NodeJS.Timeout | undefined;
  #underway: Promise<void> = Promise.resolve();
  #isStopped = false;

  /** @param prune deletes expired counts */
  constructor(prune: () => Promise<unknown>, logger: Pick<Logger, "warn">) {
    this.#prune = prune;
    this.#logger = logger;
  }

  /** Starts the timer, which doesn't keep the process alive. */
  start(): void {
    this.#timer = setTimeout(
      async () => {
        this.#underway = this.#delete();
        await this.#underway;
        if (!this.#isStopped) this.start();
      },
      randomInt(PAUSE_MINUTES[0] * MINUTE_MS, PAUSE_MINUTES[1] * MINUTE_MS),
    ).unref();
  }

  /** Stops the timer, and waits for a deletion that is in progress. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#underway;
  }

  async #delete(): Promise<void> {
    try {
      await this.#prune();
    } catch (error) {
      this.#logger.warn(
        { err: error },
        "Expired counts of limits could not be deleted. The next attempt is in some minutes.",
      );
    }
  }
}
