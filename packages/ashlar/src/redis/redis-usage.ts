import { LatencyCounts, type LatencyHistogram } from "../kernel/index.ts";

/** The histogram's upper bounds, in milliseconds. A healthy server responds in a fraction of a millisecond. */
const BOUNDS_MS: readonly number[] = Object.freeze([0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500]);

/** The state of a connection to Redis, and the outcomes of its commands since the start. */
export interface RedisUsage {
  /** Whether commands can be sent at the moment. */
  readonly isUp: boolean;
  /** How often it was reconnected because it was lost or its server had become read-only. */
  readonly reconnects: number;
  /** How many commands have failed, including those that were not sent because there was no connection. */
  readonly failures: number;
  /** How long the successful commands took. */
  readonly latency: LatencyHistogram;
}

/** Counts the outcomes of one connection's commands. */
export class RedisCounts {
  readonly #latency = new LatencyCounts(BOUNDS_MS);
  #failures = 0;
  #connections = 0;

  connected(): void {
    this.#connections += 1;
  }

  succeeded(durationMs: number): void {
    this.#latency.count(durationMs);
  }

  failed(): void {
    this.#failures += 1;
  }

  read(isUp: boolean): RedisUsage {
    const reconnects = Math.max(0, this.#connections - 1);
    return { isUp, reconnects, failures: this.#failures, latency: this.#latency.read() };
  }
}
