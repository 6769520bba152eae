import { now } from "../../support/index.ts";
import type { Bucket } from "../limits/limit.ts";
import type { AttemptCount, AttemptCounter, ThrottleStore } from "./store.ts";

/** How many keys are kept at most in all buckets together: about 50 MB. */
const MAX_KEYS = 100_000;

/**
 * Counts attempts in the memory of this process, by the framework's clock.
 *
 * It holds a bounded number of keys. When one more would exceed the bound, the bucket with the most keys drops the key
 * whose window ends first, so a flood of one limit does not affect the others. A client that wants to be forgotten this
 * way needs that many keys and, for a limit that counts by address, almost as many addresses, which give it more
 * attempts than it gains.
 *
 * Security: each process counts for itself, and a restart forgets the counts. Behind a load balancer, n processes allow
 * n times the attempts: `DatabaseStore` counts for all of them. In production, the
 * boot ends if it is known that there are several.
 */
export class MemoryStore implements ThrottleStore {
  readonly isLocal = true;
  readonly #maxKeys: number;
  readonly #counters: MemoryCounter[] = [];

  /** @param maxKeys how many keys are kept at most in all buckets together */
  constructor(maxKeys: number = MAX_KEYS) {
    this.#maxKeys = maxKeys;
  }

  /** How many keys are kept. */
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
 * Counts attempts in the memory of each process: the default if there is no database, or if it lacks the table
 * `rate_limits`.
 *
 * Security: n processes allow n times the attempts of a limit, and a restart forgets the counts. In production, the boot
 * ends with `E_INVALID_CONFIGURATION` if several processes run the application (`APP.processes`).
 */
export function memoryStore(): () => ThrottleStore {
  return () => new MemoryStore();
}

/** The current window of a key. */
interface Window {
  readonly endsAt: number;
  attempts: number;
}

class MemoryCounter implements AttemptCounter {
  /** The name of its bucket. */
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
    // Nothing is awaited here, so concurrent callers cannot interleave.
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

  /** Begins a window and returns its length in milliseconds. */
  #open(key: string): number {
    this.#sweep();
    this.#makeRoom();
    this.#windows.set(key, { endsAt: now() + this.#windowMs, attempts: 0 });
    return this.#windowMs;
  }

  /** How much of a key's window is left, in milliseconds; 0 if there isn't one. A former window is dropped. */
  #timeLeft(key: string): number {
    const window = this.#windows.get(key);
    if (window === undefined) return 0;
    const left = window.endsAt - now();
    // More than a whole window is left if the clock was set back: it is dropped rather than waited for.
    if (left > 0 && left <= this.#windowMs) return left;
    this.#windows.delete(key);
    return 0;
  }

  #sweep(): void {
    for (const key of this.#windows.keys()) if (this.#timeLeft(key) > 0) return;
  }
}
