/**
 * The longest pause between attempts during an outage, in milliseconds. Once the server is back, mails are sent within
 * this time.
 */
export const MAX_OUTAGE_PAUSE_MS = 15_000;

/** What an attempt has shown about the mail server; `null` if nothing, as with promised work. */
export type ServerState = "reached" | "unreachable" | null;

/**
 * Tracks whether the mail server is available, as far as this process knows. During an outage, one mail at a time is
 * tried, with growing pauses, and the others keep their place in the queue.
 */
export class ServerOutage {
  readonly #firstPauseMs: number;
  #failures = 0;
  #retryAt = 0;

  /** @param firstPauseMs the pause after the first failure; each further one is twice as long, up to 15 seconds */
  constructor(firstPauseMs: number) {
    this.#firstPauseMs = firstPauseMs;
  }

  /** Whether the last attempt failed to reach the server. */
  get isOn(): boolean {
    return this.#failures > 0;
  }

  /** When the next mail may be tried, by `performance.now()`. */
  get retryAt(): number {
    return this.#retryAt;
  }

  /** @returns whether an outage has ended */
  learn(state: ServerState): boolean {
    const wasOn = this.isOn;
    if (state === "reached") this.#failures = 0;
    // Mails that were being sent when the outage began count as one failure.
    if (state === "unreachable" && performance.now() >= this.#retryAt) {
      this.#failures++;
      const pauseMs = Math.min(this.#firstPauseMs * 2 ** (this.#failures - 1), MAX_OUTAGE_PAUSE_MS);
      this.#retryAt = performance.now() + pauseMs;
    }
    return wasOn && !this.isOn;
  }
}
