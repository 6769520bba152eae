/** How long a refusal is held back, as a share of the longest wait. */
const HELD_SHARE = 1 / 4;
/** The maximum number of refusals held back. For each, a client waits. */
const MOST_HELD = 1024;

/**
 * Refusals that are not sent at once. A refused client tries again, or makes room in a proxy for the next request, and
 * each refusal takes time that answers need. While it is held back, it takes no time, and its client can't send
 * anything else: this limits how often clients with many connections can be refused.
 */
export class HeldRefusals {
  readonly #ms: number;
  readonly #held = new Map<() => void, NodeJS.Timeout>();
  #isOpen = true;

  /** @param maxMs for how long a request may wait, in milliseconds; `0` without limit, so that nothing is held back */
  constructor(maxMs: number) {
    this.#ms = maxMs * HELD_SHARE;
  }

  /** Sends a refusal later; at once if too many are held back. */
  add(send: () => void): void {
    if (this.#ms === 0 || !this.#isOpen || this.#held.size >= MOST_HELD) send();
    else this.#held.set(send, setTimeout(this.#send, this.#ms, send));
  }

  /** Sends everything, and holds back nothing more: the server is about to close. */
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
