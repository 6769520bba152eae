import type { ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";

/** How long a finished response may be held back, to be sent together with others, in milliseconds. */
const LONGEST_WAIT_MS = 0.25;
/** Handlers count as slow after this many in a row have taken longer. A single one may just have been preempted. */
const SLOW_IN_A_ROW = 2;
/** After that, this many responses are sent separately. */
const ALONE_AFTER_SLOW = 64;
/** The latest handler's weight in the average, which takes into account slow handlers between quick ones. */
const WEIGHT_OF_LATEST = 1 / 32;

/** A response ready to be sent. `request` is `null` if no other response can replace it. */
export type FinishedResponse = readonly [target: ServerResponse, response: Response, request: Request | null];

/**
 * Sends all responses of one turn of the event loop together, so that the system wakes the receiver only once instead
 * of for each response.
 *
 * While handlers are quick, a response waits at most 0.25 ms. After two handlers in a row took longer, and while recent
 * handlers take longer on average, responses are sent at once, because another slow handler is likely to follow and
 * would delay them. Even so, a response that is waiting when a slow handler starts has to wait until it ends.
 */
export class ResponseBatch {
  readonly #send: (finished: FinishedResponse) => void;
  readonly #clock: () => number;
  readonly #endTurn = (): void => {
    this.#isScheduled = false;
    if (this.#isHandling) this.#measure(this.#clock());
    this.#isHandling = false;
    this.#steppedAt = null;
    this.#flush();
  };
  #waiting: FinishedResponse[] = [];
  /** When the response that has waited longest was finished. */
  #waitingSince = 0;
  /** When a handler in this turn last started or ended, or responses were last sent; `null` between turns. */
  #steppedAt: number | null = null;
  /**
   * Whether a handler has started and nothing has happened since, in which case the time until the next step is the
   * handler's.
   */
  #isHandling = false;
  #alone = 0;
  #slowInARow = 0;
  #averageMs = 0;
  #isScheduled = false;

  /**
   * @param send sends one response; must not throw
   * @param clock returns a monotonic time in milliseconds
   */
  constructor(send: (finished: FinishedResponse) => void, clock: () => number = () => performance.now()) {
    this.#send = send;
    this.#clock = clock;
  }

  /**
   * Records that a handler starts.
   *
   * @returns the time by the clock
   */
  begin(): number {
    const now = this.#clock();
    // The previous handler is still running, and continues in a later turn.
    if (this.#isHandling) this.#measure(now);
    this.#isHandling = true;
    this.#steppedAt = now;
    this.#schedule();
    if (now - this.#waitingSince > LONGEST_WAIT_MS) this.#flush();
    return now;
  }

  /** Sends a response now, or at the end of the turn. */
  add(finished: FinishedResponse): void {
    const now = this.#clock();
    this.#measure(now);
    this.#isHandling = false;
    this.#steppedAt = now;
    this.#schedule();
    if (this.#waiting.push(finished) === 1) this.#waitingSince = now;
    if (this.#alone > 0) this.#alone--;
    else if (this.#averageMs <= LONGEST_WAIT_MS && now - this.#waitingSince <= LONGEST_WAIT_MS) return;
    this.#flush();
  }

  /** Measures the time since the last step of this turn. */
  #measure(now: number): void {
    if (this.#steppedAt === null) return;
    const tookMs = now - this.#steppedAt;
    this.#averageMs += (tookMs - this.#averageMs) * WEIGHT_OF_LATEST;
    this.#slowInARow = tookMs > LONGEST_WAIT_MS ? this.#slowInARow + 1 : 0;
    if (this.#slowInARow >= SLOW_IN_A_ROW) this.#alone = ALONE_AFTER_SLOW;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#endTurn);
  }

  #flush(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    for (const one of waiting) this.#send(one);
    // The time for sending isn't part of a handler's time.
    if (this.#steppedAt !== null) this.#steppedAt = this.#clock();
  }
}
