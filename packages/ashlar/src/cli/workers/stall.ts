/** How long a worker may not respond, in milliseconds. */
export const STALL_MS = 15_000;
/** How many checks make up that time. */
const LOOKS = 15;

/**
 * Notices that an expected answer doesn't come, for example because a worker is frozen, or its event loop hangs.
 *
 * It counts checks instead of comparing times: while this process itself doesn't run, because it is stopped or busy, it
 * can't see a worker's response, so that whole time counts as one check.
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

  /** Starts waiting, unless it is waiting already. */
  waits(): void {
    this.#timer ??= setInterval(() => this.#look(), this.#ms / LOOKS);
  }

  /** An answer came, and more are expected: the time starts over. */
  goesOn(): void {
    this.#looks = 0;
  }

  /** Stops waiting. */
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
