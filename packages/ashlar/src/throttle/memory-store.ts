import { RateLimiterMemory } from "rate-limiter-flexible";
import { now } from "../support/index.ts";
import type { Bucket } from "./configuration.ts";
import type { AttemptCount, AttemptCounter, ThrottleStore } from "./store.ts";

/** How many keys are kept at most, in all buckets together: some 50 MB. */
const MAX_KEYS = 100_000;

/**
 * Counts attempts in the memory of this process, by the framework's clock.
 *
 * It holds a bounded number of keys. Where one more would exceed it, the bucket with the most keys gives up the one
 * whose window ends soonest, so that a flood of one limit costs the others nothing. A client that wants to
 * be forgotten that way needs as many keys, and so, for a limit that counts by address, nearly as many addresses: with
 * those it has had more attempts than it gains.
 *
 * Security: each process counts for itself. Behind a balancer, n processes let n times the attempts pass.
 */
export class MemoryStore implements ThrottleStore {
  readonly #maxKeys: number;
  readonly #counters: MemoryCounter[] = [];

  /** @param maxKeys how many keys are kept at most, in all buckets together */
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

  close(): void {
    for (const counter of this.#counters) counter.clear();
  }

  #makeRoom(): void {
    if (this.size < this.#maxKeys) return;
    this.#counters.reduce((fullest, counter) => (counter.size > fullest.size ? counter : fullest)).dropOldest();
  }
}

/** The current window of a key. */
interface Window {
  readonly endsAt: number;
  /** What the library has counted, known without waiting for it. */
  attempts: number;
}

class MemoryCounter implements AttemptCounter {
  readonly #limiter: RateLimiterMemory;
  readonly #windowMs: number;
  readonly #makeRoom: () => void;
  /** Each key's window. As all windows are of one length, the first key is the one whose window ends first. */
  readonly #windows = new Map<string, Window>();

  constructor({ attempts, windowSeconds }: Bucket, makeRoom: () => void) {
    // The library goes by the system's clock, and a test that travels by another. It is given twice the time, so that
    // the clock asked here decides.
    this.#limiter = new RateLimiterMemory({ keyPrefix: "", points: attempts, duration: 2 * windowSeconds });
    this.#windowMs = windowSeconds * 1000;
    this.#makeRoom = makeRoom;
  }

  get size(): number {
    return this.#windows.size;
  }

  async add(key: string, cost: number): Promise<AttemptCount> {
    // Nothing is awaited before the library has counted, which it does at once: callers cannot come between.
    let resetInMs = this.#timeLeft(key);
    if (resetInMs === 0) {
      this.#sweep();
      this.#makeRoom();
      resetInMs = this.#windowMs;
      this.#windows.set(key, { endsAt: now() + resetInMs, attempts: 0 });
    }
    this.#windows.get(key)!.attempts += cost;
    const { consumedPoints } = await this.#limiter.penalty(key, cost);
    return { attempts: consumedPoints, resetInMs };
  }

  async takeBack(key: string, cost: number): Promise<void> {
    if (this.#timeLeft(key) === 0) return;
    const window = this.#windows.get(key)!;
    const taken = Math.min(cost, window.attempts);
    window.attempts -= taken;
    await this.#limiter.reward(key, taken);
  }

  async get(key: string): Promise<AttemptCount | null> {
    const resetInMs = this.#timeLeft(key);
    return resetInMs === 0 ? null : { attempts: this.#windows.get(key)!.attempts, resetInMs };
  }

  async delete(key: string): Promise<void> {
    this.#drop(key);
  }

  clear(): void {
    for (const key of this.#windows.keys()) this.#drop(key);
  }

  dropOldest(): void {
    const [oldest] = this.#windows.keys();
    if (oldest !== undefined) this.#drop(oldest);
  }

  /** How long a key's window still lasts, in milliseconds; 0 where there is none, and a former one is dropped. */
  #timeLeft(key: string): number {
    const window = this.#windows.get(key);
    if (window === undefined) return 0;
    const left = window.endsAt - now();
    // More than a window is left where the clock was put back: nobody waits for it to catch up.
    if (left > 0 && left <= this.#windowMs) return left;
    this.#drop(key);
    return 0;
  }

  #sweep(): void {
    for (const key of this.#windows.keys()) if (this.#timeLeft(key) > 0) return;
  }

  #drop(key: string): void {
    this.#windows.delete(key);
    void this.#limiter.delete(key);
  }
}
