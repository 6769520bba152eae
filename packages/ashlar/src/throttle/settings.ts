import type { ThrottleStoreSource } from "./store.ts";

/** The stores that the framework brings, by name. */
export type ThrottleStoreName = "memory" | "database";

/** What a bucket counts by: the account that is named, the client's address, or both together. */
export type ThrottlePart = "account" | "address";

/** One bucket of a limit, as `config/throttle.ts` writes it: so many attempts in such a time. */
export interface BucketSettings {
  /** Each combination of these is counted apart. */
  readonly by: readonly ThrottlePart[];
  /** How many attempts pass in one window, 1 to 1,000,000. */
  readonly attempts: number;
  /** How long a window is, in seconds, 1 to 86,400; it begins with the first attempt. */
  readonly windowSeconds: number;
}

/** A limit, as `config/throttle.ts` writes it. An attempt passes where it passes all of the buckets. */
export interface LimitSettings {
  /** The name of the input that names the account, such as `email`. */
  readonly account?: string;
  /** The main bucket first: it gives the limit its name in the headers. */
  readonly buckets: readonly BucketSettings[];
}

/**
 * The shape of `THROTTLE` in `config/throttle.ts`. A limit there takes the place of the default of its name:
 *
 * ```ts
 * export const THROTTLE = {
 *   limits: {
 *     login: {
 *       account: "email",
 *       buckets: [
 *         { by: ["account", "address"], attempts: 3, windowSeconds: 60 },
 *         { by: ["address"], attempts: 50, windowSeconds: 900 },
 *       ],
 *     },
 *     export: { buckets: [{ by: ["address"], attempts: 10, windowSeconds: 3600 }] },
 *   },
 * } satisfies ThrottleSettings;
 * ```
 */
export interface ThrottleSettings {
  /**
   * Where attempts are counted: `databaseStore()`, `memoryStore()`, their names, or a store of your own. If it is left out,
   * it is the database, if that has the table `rate_limits`, and otherwise the memory of this process.
   */
  readonly store?: ThrottleStoreSource | ThrottleStoreName;
  /** The limits by name, besides the default ones. */
  readonly limits?: Readonly<Record<string, LimitSettings>>;
}
