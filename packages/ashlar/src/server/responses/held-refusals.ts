/** How long a refusal is held back, as a share of the maximum wait. */
const HELD_SHARE = 1 / 4;
/** The maximum number of refusals that are held back. A client waits for each. */
const MOST_HELD = 1024;

/**
 * Holds back refusals for a while. A refused client retries, or its proxy sends the next request, and each refusal
 * takes time away from responses. Holding a refusal back takes no time, and its client can't send anything else in the
 * meantime. This limits how often clients with many connections can be refused.
 */
export class HeldRefusals {
  readonly #ms: number;
  readonly #held = new Map<() => void, NodeJS.Timeout>();
  #isOpen = true;

  /** @param maxMs how long a request may wait, in milliseconds; with `0` (no limit), no refusals are held back */
  constructor(maxMs: number) {
    this.#ms = maxMs * HELD_SHARE;
  }

  /** Sends a refusal later, or at once if too many are held back. */
  add(send: () => void): void {
    if (this.#ms === 0 || !this.#isOpen || this.#held.size >= MOST_HELD) send();
    else this.#held.set(send, setTimeout(this.#send, this.#ms, send));
  }

  /** Sends all refusals, and holds back no more, because the server is about to close. */
  release(): void {
    this.#isOpen = false;
    for (const [send, timer] of this.#held) {
      clearTimeout(timer);
      this.#send(send);
    }
  }

  readonly #send = (send: () => void): void => {
    this.#held.delete(send);
    send();
  };
}
