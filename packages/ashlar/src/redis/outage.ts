import type { Logger } from "../kernel/index.ts";
import type { AshlarError } from "../support/index.ts";

/** How long Redis has to work before it counts as back, in milliseconds: one node of a cluster may be away alone. */
const STEADY_MS = 1000;

/** What the log says of a store whose Redis can't be used. */
export interface OutageSentences {
  /** What happens meanwhile. It follows the reason. */
  readonly away: string;
  /** What happens again. */
  readonly back: string;
}

/** Tells once that a store can't use Redis, and once that it can again, however many requests there are meanwhile. */
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

  /** Something was stored. Reading isn't enough: a replica and a server without memory can be read too. */
  succeeded(): void {
    if (!this.#isAway || performance.now() - this.#failedAt < STEADY_MS) return;
    this.#isAway = false;
    this.#logger.info(`Redis can be used again. ${this.#sentences.back}`);
  }
}
