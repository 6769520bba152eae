/** How long a worker may not respond, in milliseconds. */
export const STALL_MS = 15_000;
/** How many looks make up that time. */
const LOOKS = 15;

/**
 * Notices that something is awaited in vain, such as the response of a worker that is frozen, or whose event loop hangs.
 *
 * It counts looks instead of comparing times: while this process itself doesn't run, because it is stopped or busy, it
 * can't see that a worker has responded, so all of that counts as one look.
 */
export class Stall {
  readonly #ms: number;
  readonly #noticed: () => void;
  #looks = 0;
  #timer: NodeJS.Timeout | null = null;

  /**
   * @param ms how long to wait
   * @param noticed called once that time has passed
   */
  constructor(ms: number, noticed: () => void) {
    this.#ms = ms;
    this.#noticed = noticed;
  }

  /** Begins to wait, unless it does already. */
  waits(): void {
    this.#timer ??= setInterval(() => this.#look(), this.#ms / LOOKS);
  }

  /** Something has come, and there is more to wait for: the time begins again. */
  goesOn(): void {
    this.#looks = 0;
  }

  /** Nothing is awaited anymore. */
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
