import type { Logger } from "../logger.ts";

/** How long after the first refusal the refusals are logged, with their number so far. In milliseconds. */
const FIRST_MS = 1000;
/** How long after the last refusal an episode is over, in milliseconds. */
const CALM_MS = 10_000;

/** The words for log lines about refused requests. */
export interface RefusalWords {
  /**
   * A sentence for the log that names the resource and the setting that is too small; `null` if the first refusal is
   * logged elsewhere.
   */
  readonly why: string | null;
  /** The fields of every line, such as the name of a connection. */
  readonly bindings?: Readonly<Record<string, unknown>>;
}

/**
 * Logs that requests are refused because there are too many, or because a service that they need is down. However many
 * there are, it logs one line when the refusals begin, and one with their number when they are over. A line for each
 * request, or even a stack, would cost as much as a response, and crowd out everything else in the log.
 */
export class RefusalLog {
  readonly #logger: Logger;
  readonly #words: RefusalWords;
  #timer: NodeJS.Timeout | null = null;
  #startedAt = 0;
  #refusedAt = 0;
  #refused = 0;
  #longestMs = 0;
  #isLogged = false;

  constructor(logger: Logger, words: RefusalWords) {
    this.#logger = logger;
    this.#words = words;
  }

  /**
   * Counts a request that is refused.
   *
   * @param waitedMs how long the request has waited, in milliseconds; default: 0
   * @returns whether it is the first refusal of an episode
   */
  count(waitedMs = 0): boolean {
    this.#refused++;
    this.#longestMs = Math.max(this.#longestMs, waitedMs);
    this.#refusedAt = performance.now();
    if (this.#timer !== null) return false;
    this.#startedAt = this.#refusedAt;
    this.#timer = setTimeout(() => this.#look(), FIRST_MS).unref();
    return true;
  }

  /** Logs an unfinished episode, because the process is about to end. */
  stop(): void {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#end();
  }

  #look(): void {
    const { why } = this.#words;
    if (!this.#isLogged && why !== null) this.#logger.warn(this.#line(), `Requests are refused with 503. ${why}`);
    this.#isLogged = true;
    const calmMs = performance.now() - this.#refusedAt;
    if (calmMs >= CALM_MS) this.#end();
    else this.#timer = setTimeout(() => this.#look(), CALM_MS - calmMs).unref();
  }

  #end(): void {
    const seconds = Math.round((this.#refusedAt - this.#startedAt) / 1000);
    const { why, bindings } = this.#words;
    const over = "Requests were refused with 503, because there were too many. That is over.";
    if (why !== null) this.#logger.warn({ ...this.#line(), seconds }, over);
    else if (this.#refused > 1) {
      const line = { ...bindings, refused: this.#refused, seconds };
      this.#logger.warn(line, "Requests were refused with 503. The log has only the first of them.");
    }
    this.#timer = null;
    this.#refused = 0;
    this.#longestMs = 0;
    this.#isLogged = false;
  }

  #line() {
    return { ...this.#words.bindings, refused: this.#refused, waitedMs: Math.round(this.#longestMs) };
  }
}
