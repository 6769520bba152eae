import type { ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";

/** The longest that a finished answer is kept back for others, in milliseconds. */
const LONGEST_WAIT_MS = 0.25;
/** So many handlers in a row that took longer than that are slow; one may merely have lost the processor for a moment. */
const SLOW_IN_A_ROW = 2;
/** After these, so many answers go out by themselves. */
const ALONE_AFTER_SLOW = 64;

/** An answer that is ready to be sent. `request` is `null` if no other answer can take its place. */
export type FinishedAnswer = readonly [response: ServerResponse, answer: Response, request: Request | null];

/**
 * Sends the answers of one turn of the event loop together: the system then wakes their receiver once, not for each.
 *
 * While handlers are quick, an answer waits for at most 0.25 ms. Answers that follow two handlers which took longer go out
 * at once, since the next one is likely to be slow as well and would keep them waiting. Until then, an answer that waits
 * when a slow handler begins waits for its end.
 */
export class AnswerBatch {
  readonly #send: (answer: FinishedAnswer) => void;
  readonly #clock: () => number;
  readonly #endTurn = (): void => {
    this.#isScheduled = false;
    this.#steppedAt = null;
    this.#flush();
  };
  #waiting: FinishedAnswer[] = [];
  /** When the answer that has waited longest was finished. */
  #waitingSince = 0;
  /** When a handler of this turn last began or ended; `null` between turns. */
  #steppedAt: number | null = null;
  #alone = 0;
  #slowInARow = 0;
  #isScheduled = false;

  /**
   * @param send sends one answer; it never throws
   * @param clock a time in milliseconds that never goes back
   */
  constructor(send: (answer: FinishedAnswer) => void, clock: () => number = () => performance.now()) {
    this.#send = send;
    this.#clock = clock;
  }

  /** Notes that a handler begins. */
  begin(): void {
    this.#steppedAt = this.#clock();
    this.#schedule();
    if (this.#steppedAt - this.#waitingSince > LONGEST_WAIT_MS) this.#flush();
  }

  /** Sends an answer, now or at the end of the turn. */
  add(answer: FinishedAnswer): void {
    const now = this.#clock();
    const isSlow = this.#steppedAt !== null && now - this.#steppedAt > LONGEST_WAIT_MS;
    this.#steppedAt = now;
    this.#schedule();
    this.#slowInARow = isSlow ? this.#slowInARow + 1 : 0;
    if (this.#slowInARow >= SLOW_IN_A_ROW) this.#alone = ALONE_AFTER_SLOW;
    if (this.#waiting.push(answer) === 1) this.#waitingSince = now;
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
