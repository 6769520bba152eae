import { afterAnswer } from "../kernel/index.ts";

/** How a {@link RetryQueue} works. */
export interface RetryQueueOptions<T> {
  /** How many tasks are run at once. */
  readonly concurrency: number;
  /** Runs a task. A rejection hands it to `again`. */
  readonly run: (task: T, signal: AbortSignal) => Promise<void>;
  /**
   * Decides about a task that failed.
   *
   * @param attempts how often it was tried
   * @returns after how many milliseconds it is tried again, or `null` where it is given up
   */
  readonly again: (task: T, error: unknown, attempts: number) => number | null;
}

interface Entry<T> {
  readonly task: T;
  attempts: number;
}

/** Runs tasks in the background, a few at a time, and those again that fail. It is kept in memory. */
export class RetryQueue<T> {
  readonly #options: RetryQueueOptions<T>;
  /** Those whose request has not been answered yet, in order. */
  readonly #held = new Set<Entry<T>>();
  readonly #ready: Entry<T>[] = [];
  readonly #waiting = new Map<Entry<T>, NodeJS.Timeout>();
  readonly #running = new Set<Entry<T>>();
  readonly #abort = new AbortController();
  #idle: PromiseWithResolvers<void> | null = null;

  constructor(options: RetryQueueOptions<T>) {
    this.#options = options;
  }

  /** How many tasks are not done yet. */
  get pending(): number {
    return this.#held.size + this.#ready.length + this.#waiting.size + this.#running.size;
  }

  /** Adds a task. It is begun after the answer to the request that adds it, if one does. */
  add(task: T): void {
    const entry: Entry<T> = { task, attempts: 0 };
    this.#held.add(entry);
    afterAnswer(() => this.#release(entry));
  }

  /** Resolves once no task is left. It does not wait for answers: what waits for one begins now. */
  async settled(): Promise<void> {
    if (this.pending === 0) return;
    this.#idle ??= Promise.withResolvers();
    setImmediate(() => {
      for (const entry of this.#held) this.#release(entry);
    });
    await this.#idle.promise;
  }

  /**
   * Finishes what there is, at once where it was waiting for another try, and gives up what is left in the end.
   *
   * @param seconds how long it takes at most
   * @returns the tasks that were given up
   */
  async drain(seconds: number): Promise<T[]> {
    for (const entry of [...this.#waiting.keys()]) this.#resume(entry);
    await Promise.race([this.settled(), this.#timeout(seconds)]);
    const left = [...this.#running, ...this.#waiting.keys(), ...this.#ready].map(({ task }) => task);
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    this.#ready.length = 0;
    this.#abort.abort();
    return left;
  }

  async #timeout(seconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, seconds * 1000);
    void this.settled().then(() => clearTimeout(timer));
    await promise;
  }

  #resume(entry: Entry<T>): void {
    clearTimeout(this.#waiting.get(entry));
    this.#waiting.delete(entry);
    this.#ready.push(entry);
    this.#advance();
  }

  #release(entry: Entry<T>): void {
    if (!this.#held.delete(entry)) return;
    this.#ready.push(entry);
    this.#advance();
  }

  #advance(): void {
    while (this.#running.size < this.#options.concurrency) {
      const entry = this.#ready.shift();
      if (entry === undefined) break;
      this.#running.add(entry);
      void this.#run(entry);
    }
    if (this.pending > 0) return;
    this.#idle?.resolve();
    this.#idle = null;
  }

  async #run(entry: Entry<T>): Promise<void> {
    let pause: number | null = null;
    entry.attempts++;
    try {
      await this.#options.run(entry.task, this.#abort.signal);
    } catch (error) {
      // What fails because it was given up has been accounted for.
      if (!this.#abort.signal.aborted) pause = this.#options.again(entry.task, error, entry.attempts);
    }
    this.#running.delete(entry);
    if (pause !== null)
      this.#waiting.set(
        entry,
        setTimeout(() => this.#resume(entry), pause),
      );
    this.#advance();
  }
}
