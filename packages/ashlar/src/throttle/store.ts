import type { Container } from "../kernel/index.ts";
import type { MaybePromise } from "../support/index.ts";
import type { Bucket } from "./settings.ts";

/** What has been counted for a key in the current window. */
export interface AttemptCount {
  /** All attempts in the window, including refused ones. */
  readonly attempts: number;
  /** How long until the window, and the count with it, ends, in milliseconds, more than 0. */
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
   * @param cost how many attempts, at least 1
   */
  add(key: string, cost: number): Promise<AttemptCount>;
  /**
   * Takes back attempts that were added in the current window. The window continues; a count never falls below 0, and a
   * key without a count stays without one.
   *
   * @param cost how many attempts, at least 1
   */
  takeBack(key: string, cost: number): Promise<void>;
  /** The count of a key; `null` if nothing has been counted. */
  get(key: string): Promise<AttemptCount | null>;
  /** Deletes the count of a key. */
  delete(key: string): Promise<void>;
}

/**
 * Counts attempts: `store` in `config/throttle.ts`. `throttleStoreSuite` of `ashlar/testing` tests the promises made
 * here.
 *
 * Security: a store that cannot count must throw; the request is then refused. A store that returned something else
 * would allow unlimited password guesses whenever its server is unavailable. Impossible counts, such as NaN or less
 * than was just added, are refused as well. If attempts cannot be given back, that is only logged: what they are given
 * back for, such as a login, has already happened.
 */
export interface ThrottleStore {
  /** Creates the counter of a bucket. Called once for each bucket, before the application handles requests. */
  counter(bucket: Bucket): AttemptCounter;
  /**
   * Deletes the counts of windows that have ended. Called by `ashlar prune`, and once a day by the server.
   *
   * @returns how many counts it deleted
   */
  prune?(): MaybePromise<number>;
  /** Releases all resources. Called when the application shuts down. */
  close(): MaybePromise<void>;
}

/** A store, or a function that creates the store of each application that has it in its configuration. */
export type ThrottleStoreSource = ThrottleStore | ((container: Container) => ThrottleStore);
