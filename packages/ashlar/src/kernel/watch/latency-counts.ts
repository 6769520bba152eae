/** How often something took how long. */
export interface LatencyHistogram {
  /** The upper bounds of the classes, in milliseconds. */
  readonly boundsMs: readonly number[];
  /** How many are in each class, and in one more for those above the last bound. */
  readonly counts: readonly number[];
  /** How many there are. */
  readonly count: number;
  /** What they took together, in milliseconds. */
  readonly sumMs: number;
}

/** Counts by duration. One more changes two numbers, and creates nothing. */
export class LatencyCounts {
  readonly #boundsMs: readonly number[];
  readonly #counts: Float64Array;
  #sumMs = 0;

  /** @param boundsMs the upper bounds of the classes, ascending */
  constructor(boundsMs: readonly number[]) {
    this.#boundsMs = boundsMs;
    this.#counts = new Float64Array(boundsMs.length + 1);
  }

  count(durationMs: number): void {
    let index = 0;
    while (index < this.#boundsMs.length && durationMs > this.#boundsMs[index]!) index++;
    this.#counts[index]!++;
    this.#sumMs += durationMs;
  }

  read(): LatencyHistogram {
    const counts = [...this.#counts];
    const count = counts.reduce((sum, one) => sum + one, 0);
    return { boundsMs: this.#boundsMs, counts, count, sumMs: this.#sumMs };
  }
}
