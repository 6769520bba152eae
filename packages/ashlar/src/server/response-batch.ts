import type { ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";

/** The longest that a finished response is held back to be sent with others, in milliseconds. */
const LONGEST_WAIT_MS = 0.25;
/** After this many handlers in a row took longer, handlers count as slow; a single one may just have lost the CPU. */
const SLOW_IN_A_ROW = 2;
/** After that, this many responses are sent separately. */
const ALONE_AFTER_SLOW = 64;

/** A response ready to be sent. `request` is `null` if no other response can replace it. */
export type FinishedResponse = readonly [target: ServerResponse, response: Response, request: Request | null];

/**
 * Sends all responses of one turn of the event loop together: the system then wakes the receiver once, not once for each.
 *
 * While handlers are quick, a response waits for at most 0.25 ms. After two handlers took longer, responses are sent at
 * once, since the next handler is likely to be slow too and would delay them. Until then, a response that is waiting when
 * a slow handler starts waits for its end.
 */
export class ResponseBatch {
  readonly #send: (finished: FinishedResponse) => void;
  readonly #clock: () => number;
  readonly #endTurn = (): void => {
    this.#isScheduled = false;
    this.#steppedAt = null;
    this.#flush();
  };
  #waiting: FinishedResponse[] = [];
  /** When the response that has waited longest was finished. */
  #waitingSince = 0;
  /** When a handler of this turn last started or ended; `null` between turns. */
  #steppedAt: number | null = null;
  #alone = 0;
  #slowInARow = 0;
  #isScheduled = false;

  /**
   * @param send sends one response; must not throw
   * @param clock a monotonic time in milliseconds
   */
  constructor(send: (finished: FinishedResponse) => void, clock: () => number = () => performance.now()) {
    this.#send = send;
    this.#clock = clock;
  }

  /** Records that a handler starts. */
  begin(): void {
    this.#steppedAt = this.#clock();
    this.#schedule();
    if (this.#steppedAt - this.#waitingSince > LONGEST_WAIT_MS) this.#flush();
  }

  /** Sends a response, now or at the end of the turn. */
  add(finished: FinishedResponse): void {
    const now = this.#clock();
    const isSlow = this.#steppedAt !== null && now - this.#steppedAt > LONGEST_WAIT_MS;
    this.#steppedAt = now;
    this.#schedule();
    this.#slowInARow = isSlow ? this.#slowInARow + 1 : 0;
    if (this.#slowInARow >= SLOW_IN_A_ROW) this.#alone = ALONE_AFTER_SLOW;
    if (this.#waiting.push(finished) === 1) this.#waitingSince = now;
    if (this.#alone > 0) this.#alone--;
    else if (now - this.#waitingSince <= LONGEST_WAIT_MS) return;
    this.#flush();
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
  }
}
