import type { MaybePromise } from "../support/index.ts";
import type { Bucket } from "./configuration.ts";

/** What has been counted for one key in the window under way. */
export interface AttemptCount {
  /** All attempts of the window, those that were refused included. */
  readonly attempts: number;
  /** How long until the window ends and the count with it, in milliseconds, more than 0. */
  readonly resetInMs: number;
}

/** Counts the attempts of one bucket by key, in windows that begin with a key's first attempt. */
export interface AttemptCounter {
  /**
   * Adds attempts and gives the new count, as one step: of any number of callers at once no two get the same count.
   *
   * @param cost how many attempts, at least 1
   */
  add(key: string, cost: number): Promise<AttemptCount>;
  /** The count of a key; `null` where nothing has been counted. */
  get(key: string): Promise<AttemptCount | null>;
  /** Forgets what was counted for a key. */
  delete(key: string): Promise<void>;
}

/** Where attempts are counted. */
export interface ThrottleStore {
  /** Makes the counter of a bucket. Called at boot, once for each bucket. */
  counter(bucket: Bucket): AttemptCounter;
  /** Lets go of everything. */
  close(): MaybePromise<void>;
}
