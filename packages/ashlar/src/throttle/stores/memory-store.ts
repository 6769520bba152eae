import { now } from "../../support/index.ts";
import type { Bucket } from "../limits/limit.ts";
import type { AttemptCount, AttemptCounter, ThrottleStore } from "./store.ts";

/** The maximum number of keys in all buckets together, which take about 50 MB. */
const MAX_KEYS = 100_000;

/**
 * Counts attempts in this process's memory, by the framework's clock.
 *
 * It keeps a bounded number of keys. When it is full, the bucket with the most keys drops the key whose window ends
 * first, so a flood of attempts under one limit doesn't affect the others. To get rid of its own count, a client needs
 * that many keys. For a limit by address, these are almost as many addresses, which by themselves allow more attempts
 * than that.
 *
 * Security: each process counts separately, and a restart loses the counts. Behind a load balancer, n processes allow n
 * times the attempts, while `DatabaseStore` counts for all of them together. In production, startup fails if several
 * processes are configured.
 */
export class MemoryStore implements ThrottleStore {
  readonly isLocal = true;
  readonly #maxKeys: number;
  readonly #counters: MemoryCounter[] = [];

  /** @param maxKeys the maximum number of keys in all buckets together */
  constructor(maxKeys: number = MAX_KEYS) {
    this.#maxKeys = maxKeys;
  }

  /** The number of keys. */
  get size(): number {
    return this.#counters.reduce((sum, counter) => sum + counter.size, 0);
  }

  counter(bucket: Bucket): AttemptCounter {
    const counter = new MemoryCounter(bucket, () => this.#makeRoom());
    this.#counters.push(counter);
    return counter;
  }

  async clear({ name }: Bucket): Promise<number> {
    let cleared = 0;
    for (const counter of this.#counters) {
      if (counter.name !== name) continue;
      cleared += counter.size;
      counter.clear();
    }
    return cleared;
  }

  close(): void {
    for (const counter of this.#counters) counter.clear();
  }

  #makeRoom(): void {
    if (this.size < this.#maxKeys) return;
    this.#counters.reduce((fullest, counter) => (counter.size > fullest.size ? counter : fullest)).dropOldest();
  }
}

/**
 * Counts attempts in the memory of each process. This is the default if there is no database, or if it lacks the table
 * `rate_limits`.
 *
 * Security: n processes allow n times the attempts of a limit, and a restart loses the counts. In production, startup
 * fails with `E_INVALID_CONFIGURATION` if several processes run the application (`APP.processes`).
 */
export function memoryStore(): () => ThrottleStore {
  return () => new MemoryStore();
}

/** A key's current window. */
interface Window {
  readonly endsAt: number;
  attempts: number;
}

class MemoryCounter implements AttemptCounter {
  /** The bucket's name. */
  readonly name: string;
  readonly #windowMs: number;
  readonly #makeRoom: () => void;
  /** Each key's window. All windows have the same length, so the first key is the one whose window ends first. */
  readonly #windows = new Map<string, Window>();

  constructor({ name, windowSeconds }: Bucket, makeRoom: () => void) {
    this.name = name;
    this.#windowMs = windowSeconds * 1000;
    this.#makeRoom = makeRoom;
  }

  get size(): number {
    return this.#windows.size;
  }

  async add(key: string, cost: number): Promise<AttemptCount> {
    // Nothing is awaited here, so concurrent calls can't interleave.
    const resetInMs = this.#timeLeft(key) || this.#open(key);
    const window = this.#windows.get(key)!;
    window.attempts += cost;
    return { attempts: window.attempts, resetInMs };
  }

  async takeBack(key: string, cost: number): Promise<void> {
    if (this.#timeLeft(key) === 0) return;
    const window = this.#windows.get(key)!;
    window.attempts = Math.max(0, window.attempts - cost);
  }

  async get(key: string): Promise<AttemptCount | null> {
    const resetInMs = this.#timeLeft(key);
    return resetInMs === 0 ? null : { attempts: this.#windows.get(key)!.attempts, resetInMs };
  }

  async delete(key: string): Promise<void> {
    this.#windows.delete(key);
  }

  clear(): void {
    this.#windows.clear();
  }

  dropOldest(): void {
    const [oldest] = this.#windows.keys();
    if (oldest !== undefined) this.#windows.delete(oldest);
  }

  /** Starts a window, and returns its length in milliseconds. */
  #open(key: string): number {
    this.#sweep();
    this.#makeRoom();
    this.#windows.set(key, { endsAt: now() + this.#windowMs, attempts: 0 });
    return this.#windowMs;
  }

  /** The time left in a key's window, in milliseconds; 0 if there is no window. A window that has ended is dropped. */
  #timeLeft(key: string): number {
    const window = this.#windows.get(key);
    if (window === undefined) return 0;
    const left = window.endsAt - now();
    // If the clock was set back, more than a complete window may be left. The window is then dropped too.
    if (left > 0 && left <= this.#windowMs) return left;
    this.#windows.delete(key);
    return 0;
  }

  #sweep(): void {
    for (const key of this.#windows.keys()) if (this.#timeLeft(key) > 0) return;
  }
}
