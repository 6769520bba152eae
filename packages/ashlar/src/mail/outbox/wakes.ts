/** Timers that don't keep the process alive, by `performance.now()`. */
export class Wakes {
  readonly #timers = new Set<NodeJS.Timeout>();

  /** Does something at a time, not earlier: a timer of a busy process can be early, and nothing would be due. */
  at(dueAt: number, wake: () => void): void {
    const delayMs = Math.max(0, Math.ceil(dueAt - performance.now()));
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (performance.now() < dueAt) this.at(dueAt, wake);
      else wake();
    }, delayMs).unref();
    this.#timers.add(timer);
  }

  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
