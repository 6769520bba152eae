import type { Logger } from "../kernel/index.ts";
import type { AshlarError } from "../support/index.ts";

/**
 * After a failure, how long to wait before a successful write counts as the end of the outage, in milliseconds. A
 * single node of a cluster may still be down.
 */
const STEADY_MS = 1000;

/** The log's wording for a store whose Redis is unavailable. */
export interface OutageSentences {
  /** What happens during the outage. It is written after the reason. */
  readonly away: string;
  /** What happens once Redis is back. */
  readonly back: string;
}

/** Logs the beginning and the end of a Redis outage once each, however many requests arrive in between. */
export class Outage {
  readonly #logger: Logger;
  readonly #sentences: OutageSentences;
  #isAway = false;
  #failedAt = 0;

  constructor(logger: Logger, sentences: OutageSentences) {
    this.#logger = logger;
    this.#sentences = sentences;
  }

  /** Whether Redis was unavailable the last time it was used. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** Records that a command has failed. */
  failed({ message }: AshlarError): void {
    this.#failedAt = performance.now();
    if (this.#isAway) return;
    this.#isAway = true;
    this.#logger.warn(`${message} ${this.#sentences.away}`);
  }

  /**
   * Records that a write has succeeded. A read isn't enough, because a replica, or a server that is out of memory, can
   * be read too.
   */
  succeeded(): void {
    if (!this.#isAway || performance.now() - this.#failedAt < STEADY_MS) return;
    this.#isAway = false;
    this.#logger.info(`Redis can be used again. ${this.#sentences.back}`);
  }
}
