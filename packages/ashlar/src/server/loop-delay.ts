import { performance } from "node:perf_hooks";

/** The event loop's delay is looked at this many times within the longest one that is allowed. */
const LOOKS = 5;
const LONGEST_INTERVAL_MS = 100;
/** So many requests of a turn are accepted, however long it has taken, unless the last turn was too long as well. */
const FEW_REQUESTS = 16;

/**
 * Decides whether requests are accepted, or refused because the event loop is overloaded: because requests keep it busy for
 * longer than it may be late, turn after turn, or a great many in one turn. A single long turn with few requests, such as a
 * computation or a paused process, is not an overload: what waits behind it is soon done.
 *
 * It costs a timer and, for a busy server, a look at the clock for each request.
 */
export class LoopDelay {
  readonly #maxMs: number;
  readonly #intervalMs: number;
  readonly #timer: NodeJS.Timeout;
  #lookedAt = performance.now();
  #wasLate = false;
  #accepted = 0;

  /** @param maxMs how late the event loop may be, in milliseconds */
  constructor(maxMs: number) {
    this.#maxMs = maxMs;
    this.#intervalMs = Math.min(LONGEST_INTERVAL_MS, Math.ceil(maxMs / LOOKS));
    this.#timer = setInterval(() => this.#look(), this.#intervalMs).unref();
  }

  /**
   * Reports whether a request that has just been read is to be handled. Each turn handles requests until it has taken too
   * long, so an overloaded server still does as much work as it can.
   */
  accepts(): boolean {
    const mayBeLate = this.#wasLate || this.#accepted >= FEW_REQUESTS;
    if (mayBeLate && this.currentMs > this.#maxMs) return false;
    this.#accepted++;
    return true;
  }

  /** How late the event loop is at this moment, in milliseconds. */
  get currentMs(): number {
    return performance.now() - this.#lookedAt - this.#intervalMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    this.#wasLate = this.currentMs > this.#maxMs;
    this.#accepted = 0;
    this.#lookedAt = performance.now();
  }
}
