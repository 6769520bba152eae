import type { Container } from "../../kernel/index.ts";
import type { MaybePromise } from "../../support/index.ts";
import type { Bucket } from "../limits/limit.ts";

/** A key's count in the current window. */
export interface AttemptCount {
  /** All attempts in the window, including refused ones. */
  readonly attempts: number;
  /** The time until the window and its count end, in milliseconds; more than 0. */
  readonly resetInMs: number;
}

/**
 * Counts the attempts of one bucket by key, in windows that begin with a key's first attempt. Each operation is atomic:
 * of any number of concurrent callers, in all processes that share the store, no two see the same count.
 */
export interface AttemptCounter {
  /**
   * Adds attempts and returns the new count.
   *
   * @param cost the number of attempts, at least 1
   */
  add(key: string, cost: number): Promise<AttemptCount>;
  /**
   * Takes back attempts that were added in the current window. The window continues; a count never falls below 0, and a
   * key without a count stays without one.
   *
   * @param cost the number of attempts, at least 1
   */
  takeBack(key: string, cost: number): Promise<void>;
  /** A key's count; `null` if nothing has been counted in the current window. */
  get(key: string): Promise<AttemptCount | null>;
  /** Deletes a key's count, if it has one. */
  delete(key: string): Promise<void>;
}

/** A change to one of several counts that a store changes together. */
export interface CountChange {
  readonly bucket: Bucket;
  readonly key: string;
  /** The number of attempts, at least 1. */
  readonly cost: number;
}

/**
 * Counts attempts: `store` in `config/throttle.ts`. `memoryStore`, `databaseStore` and `redisStore` create the
 * framework's stores. `throttleStoreSuite` from `ashlar/testing` tests the rules listed here.
 *
 * ```ts
 * // app/stores/file-store.ts
 * import { DatabaseSync } from "node:sqlite";
 *
 * interface Count {
 *   readonly attempts: number;
 *   readonly resetInMs: number;
 * }
 *
 * export class FileStore implements ThrottleStore {
 *   readonly #file: DatabaseSync;
 *   readonly #now: () => number;
 *
 *   constructor(path: string, now: () => number = Date.now) {
 *     this.#now = now;
 *     this.#file = new DatabaseSync(path, { timeout: 5000 });
 *     this.#file.exec(`create table if not exists counts
 *       (bucket text, key text, attempts integer, ends_at integer, primary key (bucket, key))`);
 *   }
 *
 *   counter({ name, windowSeconds }: Bucket): ReturnType<ThrottleStore["counter"]> {
 *     const add = this.#file.prepare(`insert into counts values ($name, $key, $cost, $now + $length)
 *       on conflict do update set attempts = iif(ends_at > $now, attempts, 0) + $cost,
 *         ends_at = iif(ends_at > $now, ends_at, $now + $length)
 *       returning attempts, ends_at - $now as resetInMs`);
 *     const current = "bucket = $name and key = $key and ends_at > $now";
 *     const takeBack = this.#file.prepare(`update counts set attempts = max(0, attempts - $cost) where ${current}`);
 *     const get = this.#file.prepare(`select attempts, ends_at - $now as resetInMs from counts where ${current}`);
 *     const remove = this.#file.prepare("delete from counts where bucket = $name and key = $key");
 *     const length = windowSeconds * 1000;
 *     return {
 *       add: async (key, cost) => add.get({ name, key, cost, length, now: this.#now() }) as unknown as Count,
 *       takeBack: async (key, cost) => void takeBack.run({ name, key, cost, now: this.#now() }),
 *       get: async (key) => (get.get({ name, key, now: this.#now() }) ?? null) as Count | null,
 *       delete: async (key) => void remove.run({ name, key }),
 *     };
 *   }
 *
 *   prune(): number {
 *     return Number(this.#file.prepare("delete from counts where ends_at <= ?").run(this.#now()).changes);
 *   }
 *
 *   close(): void {
 *     this.#file.close();
 *   }
 * }
 *
 * // tests/file-store.test.ts
 * import { test } from "node:test";
 *
 * let aheadMs = 0; // of the clock that the store is given
 * const make = () => new FileStore(":memory:", () => Date.now() + aheadMs);
 * const elapse = (seconds: number) => void (aheadMs += seconds * 1000);
 * for (const { title, run } of throttleStoreSuite(make, { elapse })) test(title, run);
 * ```
 *
 * A store keeps two numbers for each key of a bucket: how many attempts were counted, and when the window ends. It
 * makes no decisions; the framework compares the count with the limit. A store must follow these rules:
 *
 * - **Each attempt is counted once, and has its own count.** Of any number of concurrent calls of `add`, in all
 *   processes, no two return the same count. That includes a key's first attempts, and those right after a window has
 *   ended: one of them starts the new window, and the others are counted in it. Make `add` one statement or one script.
 *   With a read followed by a write, an attacker who sends many guesses at once could make all of them.
 * - **A window begins with its first attempt, and ends on time.** Later attempts don't extend it, and neither do `get` and
 *   `takeBack`. Once it has ended, its count is gone: `get` returns `null`, and `takeBack` changes nothing. All processes
 *   should use the same clock, such as the database server's.
 * - **Counting continues beyond the limit.** Refused attempts count too.
 * - **Taking back is a subtraction.** Attempts that are counted at the same time aren't lost, and no count falls below 0.
 * - **Keys and buckets are separate.** A key is any text, compared byte by byte: `a`, `A` and `a ` are three keys. `delete`
 *   deletes one key of one bucket, whether it has a count or not.
 * - **Pruning deletes only counts whose window has ended.** Attempts are counted in the meantime, so the deletion itself
 *   must check the end of each window.
 * - **A counted attempt stays counted,** even if it was made in a transaction of the application that is rolled back. Use a
 *   connection other than the application's.
 *
 * Security: a store that can't count must throw; the request is then refused. A store that returned a count anyway would
 * allow unlimited password guesses whenever its server is unavailable. A request is also refused if the count is
 * impossible, such as NaN or less than was just added. If attempts can't be given back, that is only logged, because the
 * success that they are given back for, such as a login, has already happened.
 */
export interface ThrottleStore {
  /**
   * Whether the counts are in this process's memory, unknown to other processes. In production, startup then fails if
   * several processes run the application. Default: `false`.
   */
  readonly isLocal?: boolean;
  /** Creates the counter of a bucket. Called once for each bucket, before the application handles requests. */
  counter(bucket: Bucket): AttemptCounter;
  /**
   * Adds attempts to several counts in one round trip, like their counters' `add`. Omit it if the store can't do that;
   * the counters are then called concurrently. No two changes are to the same count.
   *
   * @returns the new counts, in the order of the changes
   */
  addTogether?(changes: readonly CountChange[]): Promise<readonly AttemptCount[]>;
  /**
   * Deletes all counts of a bucket. `ashlar limits:clear --limit` calls it. Omit it if the store can't do that; the
   * command then reports it.
   *
   * @returns how many counts it deleted, if it knows; the command prints the number
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: an async method without a result returns a promise of void.
  clear?(bucket: Bucket): Promise<number | void>;
  /** Takes back attempts from several counts in one round trip, like their counters' `takeBack`. */
  takeBackTogether?(changes: readonly CountChange[]): Promise<void>;
  /**
   * Deletes the counts of windows that have ended, and no others. Called by `ashlar prune`, and regularly by the
   * server. Omit it if counts expire by themselves.
   *
   * @returns how many counts it deleted
   */
  prune?(): MaybePromise<number>;
  /**
   * Connects before the application serves requests, so that no request has to wait for it. It isn't called by commands
   * that only inspect the application. It must not throw if the store can't be reached; requests fail instead. Omit it
   * if there is nothing to connect to.
   */
  connect?(): Promise<void>;
  /**
   * Checks that the store can be reached, without changing anything. `ashlar doctor` calls it. Omit it if there is
   * nothing to connect to.
   *
   * @throws an error with the reason if the store can't be reached
   */
  check?(): Promise<void>;
  /** Releases all resources. Called once when the application shuts down, after its last request. */
  close(): MaybePromise<void>;
}

/** A store, or a function that creates one for each application whose configuration contains it. */
export type ThrottleStoreSource = ThrottleStore | ((container: Container) => ThrottleStore);
