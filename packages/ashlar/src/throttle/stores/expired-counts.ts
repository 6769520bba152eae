import { randomInt } from "node:crypto";
import type { Logger } from "../../kernel/index.ts";

const MINUTE_MS = 60_000;
/** Not in all processes at the same time. */
const PAUSE_MINUTES = [2, 5] as const;

/**
 * Lets a server delete expired counts every few minutes, since each address that is counted is a row: a storm of them would
 * fill the table until the daily pruning. Each process does it; there is mostly nothing left to delete. Failures are logged.
 */
export class ExpiredCounts {
  readonly #prune: () => Promise<unknown>;
  readonly #logger: Pick<Logger, "warn">;
  #timer: NodeJS.Timeout | undefined;
  #underway: Promise<void> = Promise.resolve();
  #isStopped = false;

  /** @param prune deletes them */
  constructor(prune: () => Promise<unknown>, logger: Pick<Logger, "warn">) {
    this.#prune = prune;
    this.#logger = logger;
  }

  /** Begins to delete from time to time. It does not keep the process alive. */
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

  /** Stops it, and waits for what is being deleted. */
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
