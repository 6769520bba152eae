import { afterResponse } from "../kernel/index.ts";

/** Options of a {@link RetryQueue}. */
export interface RetryQueueOptions<T> {
  /** How many tasks run at once. */
  readonly concurrency: number;
  /** Runs a task. After a rejection, `again` decides. */
  readonly run: (task: T, signal: AbortSignal) => Promise<void>;
  /**
   * Decides about a failed task.
   *
   * @param attempts the number of attempts so far
   * @returns the delay before the next attempt, in milliseconds, or `null` to give up
   */
  readonly again: (task: T, error: unknown, attempts: number) => number | null;
}

interface Entry<T> {
  readonly task: T;
  attempts: number;
}

/** Runs tasks in the background, a few at a time, and retries failed ones. The queue is in memory. */
export class RetryQueue<T> {
  readonly #options: RetryQueueOptions<T>;
  /** Tasks whose request has no response yet, in order. */
  readonly #held = new Set<Entry<T>>();
  readonly #ready: Entry<T>[] = [];
  readonly #waiting = new Map<Entry<T>, NodeJS.Timeout>();
  readonly #running = new Set<Entry<T>>();
  readonly #abort = new AbortController();
  #idle: PromiseWithResolvers<void> | null = null;

  constructor(options: RetryQueueOptions<T>) {
    this.#options = options;
  }

  /** The number of unfinished tasks. */
  get pending(): number {
    return this.#held.size + this.#ready.length + this.#waiting.size + this.#running.size;
  }

  /** Adds a task. If a request adds it, it starts after the response. */
  add(task: T): void {
    const entry: Entry<T> = { task, attempts: 0 };
    this.#held.add(entry);
    afterResponse(() => this.#release(entry));
  }

  /** Resolves once no task is left. Tasks that wait for a response start now. */
  async settled(): Promise<void> {
    if (this.pending === 0) return;
    this.#idle ??= Promise.withResolvers();
    setImmediate(() => {
      for (const entry of this.#held) this.#release(entry);
    });
    await this.#idle.promise;
  }

  /**
   * Finishes all tasks, without further delays between attempts, and gives up those left after the time.
   *
   * @param seconds how long it may take
   * @returns the abandoned tasks
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
      // Tasks that fail because they were abandoned have been reported already.
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
