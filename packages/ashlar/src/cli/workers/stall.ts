/** How long a worker may go without responding, in milliseconds. */
export const STALL_MS = 15_000;
/** The number of checks within that time. */
const LOOKS = 15;

/**
 * Detects that an expected response doesn't arrive, for example because a worker is frozen, or its event loop hangs.
 *
 * It counts checks instead of comparing times. While this process itself is stopped or busy, it can't receive a
 * worker's response, so all of that time counts as one check.
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

  /** Restarts the waiting time, because a response has arrived, and more are expected. */
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
