/** How often a mail server that can't be used is tried at most, in milliseconds: so soon its mails are sent once it is back. */
export const MAX_OUTAGE_PAUSE_MS = 15_000;

/** An attempt's findings about the mail server; `null` if it has none, as with promised work. */
export type ServerState = "reached" | "unreachable" | null;

/**
 * Whether the mail server can be used right now, as far as this process knows. An outage is one fact, not one for each
 * mail: until it is over, one mail at a time is tried, after growing pauses, and the others keep their turn.
 */
export class ServerOutage {
  readonly #firstPauseMs: number;
  #failures = 0;
  #retryAt = 0;

  /** @param firstPauseMs the pause after the first failure; each further one is twice as long, up to 15 seconds */
  constructor(firstPauseMs: number) {
    this.#firstPauseMs = firstPauseMs;
  }

  /** Whether the last attempt has not reached the server. */
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
    // Several mails may have been under way when it began: they are one failure.
    if (state === "unreachable" && performance.now() >= this.#retryAt) {
      this.#failures++;
      const pauseMs = Math.min(this.#firstPauseMs * 2 ** (this.#failures - 1), MAX_OUTAGE_PAUSE_MS);
      this.#retryAt = performance.now() + pauseMs;
    }
    return wasOn && !this.isOn;
  }
}
