import { afterResponse } from "../../kernel/index.ts";
import { MailPlaces, type Placed } from "../outbox/mail-places.ts";
import type { MailPriority } from "../outbox/outbox-table.ts";

/** How often, and when, to retry sending a mail. */
export interface RetrySettings {
  /** How many times to try in total, 1 to 100; default: 8. In an outbox, `outbox.retryHours` applies instead. */
  readonly attempts?: number;
  /**
   * How long to wait before the second attempt, 0.01 to 60 seconds; default: 2. The wait doubles after each attempt, up
   * to a minute, or ten minutes in an outbox.
   */
  readonly delaySeconds?: number;
}

/** Options of a {@link RetryQueue}. */
export interface RetryQueueOptions<T> {
  /** How many tasks run at once. */
  readonly concurrency: number;
  /** Returns a task's priority. */
  readonly priority: (task: T) => MailPriority;
  /** Runs a task. If it rejects, `again` decides what happens. */
  readonly run: (task: T, signal: AbortSignal) => Promise<void>;
  /**
   * Decides whether to retry a failed task.
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
  /** Tasks whose request hasn't been responded to yet, in order. */
  readonly #held = new Set<Entry<T>>();
  readonly #places: MailPlaces<Entry<T>>;
  readonly #waiting = new Map<Entry<T>, NodeJS.Timeout>();
  readonly #running = new Set<Entry<T>>();
  readonly #abort = new AbortController();
  #idle: PromiseWithResolvers<void> | null = null;

  constructor(options: RetryQueueOptions<T>) {
    this.#options = options;
    this.#places = new MailPlaces(options.concurrency);
  }

  /** The number of unfinished tasks. */
  get pending(): number {
    return this.#held.size + this.#places.waiting + this.#waiting.size + this.#running.size;
  }

  /** Adds a task. If a request adds it, the task starts after the response. */
  add(task: T): void {
    const entry: Entry<T> = { task, attempts: 0 };
    this.#held.add(entry);
    afterResponse(() => this.#release(entry));
  }

  /** Resolves once no task is left. Tasks that are waiting for a response start now. */
  async settled(): Promise<void> {
    if (this.pending === 0) return;
    this.#idle ??= Promise.withResolvers();
    setImmediate(() => {
      for (const entry of this.#held) this.#release(entry);
    });
    await this.#idle.promise;
  }

  /**
   * Finishes all tasks, without delays between attempts, and abandons those that are left when the time is up.
   *
   * @param seconds the time limit
   * @returns the abandoned tasks
   */
  async drain(seconds: number): Promise<T[]> {
    for (const entry of [...this.#waiting.keys()]) this.#resume(entry);
    await Promise.race([this.settled(), this.#timeout(seconds)]);
    const left = [...this.#running, ...this.#waiting.keys(), ...this.#places.clear()].map(({ task }) => task);
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
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
    this.#places.add(entry, this.#options.priority(entry.task));
    this.#advance();
  }

  #release(entry: Entry<T>): void {
    if (!this.#held.delete(entry)) return;
    this.#places.add(entry, this.#options.priority(entry.task));
    this.#advance();
  }

  #advance(): void {
    for (let placed = this.#places.enter(); placed !== null; placed = this.#places.enter()) {
      this.#running.add(placed.item);
      void this.#run(placed);
    }
    if (this.pending > 0) return;
    this.#idle?.resolve();
    this.#idle = null;
  }

  async #run(placed: Placed<Entry<T>>): Promise<void> {
    const { item: entry } = placed;
    let pause: number | null = null;
    entry.attempts++;
    try {
      await this.#options.run(entry.task, this.#abort.signal);
    } catch (error) {
      // Tasks that fail because they were abandoned have been reported already.
      if (!this.#abort.signal.aborted) pause = this.#options.again(entry.task, error, entry.attempts);
    }
    this.#running.delete(entry);
    this.#places.leave(placed);
    if (pause !== null)
      this.#waiting.set(
        entry,
        setTimeout(() => this.#resume(entry), pause),
      );
    this.#advance();
  }
}
