/** Timers by `performance.now()`, which don't keep the process alive. */
export class Wakes {
  readonly #timers = new Set<NodeJS.Timeout>();

  /** Calls a function at a given time, and never earlier: in a busy process, a timer can fire early, before anything is due. */
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
