import type { Logger } from "../kernel/index.ts";
import type { AshlarError } from "../support/index.ts";

/** How long Redis must work before it counts as back, in milliseconds: a single node of a cluster may be down. */
const STEADY_MS = 1000;

/** The log's wording for a store whose Redis is unavailable. */
export interface OutageSentences {
  /** What happens in the meantime. It follows the reason. */
  readonly away: string;
  /** What happens again. */
  readonly back: string;
}

/**
 * Logs the beginning and the end of an outage of Redis once each, however many requests come in between.
 */
export class Outage {
  readonly #logger: Logger;
  readonly #sentences: OutageSentences;
  #isAway = false;
  #failedAt = 0;

  constructor(logger: Logger, sentences: OutageSentences) {
    this.#logger = logger;
    this.#sentences = sentences;
  }

  /** Whether Redis could not be used the last time. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** A command has failed. */
  failed({ message }: AshlarError): void {
    this.#failedAt = performance.now();
    if (this.#isAway) return;
    this.#isAway = true;
    this.#logger.warn(`${message} ${this.#sentences.away}`);
  }

  /** A write has succeeded. A read isn't enough: a replica, or a server that is out of memory, can be read too. */
  succeeded(): void {
    if (!this.#isAway || performance.now() - this.#failedAt < STEADY_MS) return;
    this.#isAway = false;
    this.#logger.info(`Redis can be used again. ${this.#sentences.back}`);
  }
}
