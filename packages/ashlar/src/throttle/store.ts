import type { Container } from "../kernel/index.ts";
import type { MaybePromise } from "../support/index.ts";
import type { Bucket } from "./settings.ts";

/** What has been counted for one key in the current window. */
export interface AttemptCount {
  /** All attempts of the window, including those that were refused. */
  readonly attempts: number;
  /** How long until the window ends and the count with it, in milliseconds, more than 0. */
  readonly resetInMs: number;
}

/**
 * Counts the attempts of one bucket by key, in windows that begin with a key's first attempt. Each operation is one step:
 * of any number of callers at once, in however many processes share the store, no two see the same count.
 */
export interface AttemptCounter {
  /**
   * Adds attempts and gives the new count.
   *
   * @param cost how many attempts, at least 1
   */
  add(key: string, cost: number): Promise<AttemptCount>;
  /**
   * Takes back attempts that were added in the current window. The window goes on; a count never falls below 0, and a
   * key for which nothing is counted stays that way.
   *
   * @param cost how many attempts, at least 1
   */
  takeBack(key: string, cost: number): Promise<void>;
  /** The count of a key; `null` if nothing has been counted. */
  get(key: string): Promise<AttemptCount | null>;
  /** Forgets what was counted for a key. */
  delete(key: string): Promise<void>;
}

/**
 * Where attempts are counted: `store` of `config/throttle.ts`. `throttleStoreSuite` of `ashlar/testing` tests what is
 * promised here.
 *
 * Security: what cannot be counted is thrown, and the request refused. A store that answered anything else would let
 * passwords be guessed without end whenever its server is away. A count that cannot be true, such as NaN or less than
 * was just added, is refused as well.
 */
export interface ThrottleStore {
  /** Makes the counter of a bucket. Called once for each bucket, before the application answers. */
  counter(bucket: Bucket): AttemptCounter;
  /**
   * Deletes what is left of windows that have ended. Called by `ashlar prune`, and once a day by the server.
   *
   * @returns how many counts it deleted
   */
  prune?(): MaybePromise<number>;
  /** Releases everything. Called when the application shuts down. */
  close(): MaybePromise<void>;
}

/** A store, or what makes the store of each application that has it in its configuration. */
export type ThrottleStoreSource = ThrottleStore | ((container: Container) => ThrottleStore);
