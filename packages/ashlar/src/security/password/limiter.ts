import { AshlarError } from "../../support/index.ts";

/** Runs tasks, no more than so many at once; the others wait in line, and the line has an end. */
export class Limiter {
  readonly #concurrency: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /**
   * @param concurrency how many run at once, at least 1
   * @param maxWaiting how many wait at most; the next one is turned away
   */
  constructor(concurrency: number, maxWaiting: number) {
    this.#concurrency = concurrency;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Runs a task as soon as there is room, in the order of arrival.
   *
   * @throws `E_OVERLOADED` (503, `Retry-After: 1`) where the line is full
   */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#concurrency) {
      if (this.#waiting.length >= this.#maxWaiting) {
        throw new AshlarError("E_OVERLOADED", undefined, { headers: { "Retry-After": "1" } });
      }
      // Whoever finishes hands over its place, so that nobody who comes now can take it first.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running++;
    }
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
