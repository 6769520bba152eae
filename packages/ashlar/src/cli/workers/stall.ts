/** How long connections may wait for a worker that takes none, in milliseconds. */
export const STALL_MS = 15_000;
/** How many looks make up that time. */
const LOOKS = 15;

/**
 * Notices that a worker takes none of the connections that wait for it, because it is frozen or its event loop hangs.
 *
 * It counts looks instead of comparing times: while this process itself doesn't run, because it is stopped or busy, it
 * can't see that a worker has taken something, so all of that counts as one look.
 */
export class Stall {
  readonly #ms: number;
  readonly #noticed: () => void;
  #looks = 0;
  #timer: NodeJS.Timeout | null = null;

  /**
   * @param ms how long connections may wait
   * @param noticed called once they have waited for so long
   */
  constructor(ms: number, noticed: () => void) {
    this.#ms = ms;
    this.#noticed = noticed;
  }

  /** A connection waits. */
  waits(): void {
    this.#timer ??= setInterval(() => this.#look(), this.#ms / LOOKS);
  }

  /**
   * The worker has taken a connection.
   *
   * @param areOthersWaiting whether it has been handed more
   */
  taken(areOthersWaiting: boolean): void {
    this.#looks = 0;
    if (!areOthersWaiting) this.end();
  }

  /** Nothing waits for the worker anymore. */
  end(): void {
    this.#looks = 0;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #look(): void {
    this.#looks++;
    if (this.#looks < LOOKS) return;
    this.end();
    this.#noticed();
  }
}
