import {
  ConfigurationError,
  flag,
  integer,
  listOf,
  quoted,
  recordOf,
  type Setting,
  setting,
  settings,
  text,
} from "../../support/index.ts";
import type { ByLimit } from "../limit-name.ts";

/** One bucket of a limit, as written in `config/throttle.ts`: a number of attempts per window. */
export interface BucketSettings {
  /** What the bucket counts by: the account, the client's address, or each combination of both. */
  readonly by: readonly ("account" | "address")[];
  /** How many attempts pass in one window, 1 to 1,000,000. */
  readonly attempts: number;
  /** The length of a window, which begins with the first attempt, in seconds, 1 to 86,400. */
  readonly windowSeconds: number;
}

/** A part of an attempt that a bucket counts by. */
export type ThrottlePart = BucketSettings["by"][number];

/** A limit, as written in `config/throttle.ts`. An attempt passes if it passes all buckets. */
export interface LimitSettings {
  /** The name of the input with the account, such as `email`. */
  readonly account?: string;
  /** The main bucket comes first. In the headers, it has the limit's name. */
  readonly buckets: readonly BucketSettings[];
}

/** A limit that a feature declares in its `limits`. */
export interface LimitDeclaration extends LimitSettings {
  /**
   * Whether the account is one of the active guard's users, as identified by that guard. Default: `false`, for an
   * account that isn't tied to a guard.
   */
  readonly ofAccounts?: boolean;
  /**
   * Whether attempts from devices that the account was used on before are counted separately, so that other clients can't
   * use them up. Default: `false`.
   */
  readonly knownDevicesApart?: boolean;
  /** The name of a slower limit, under which an attempt may still pass if this one refuses it. Default: none. */
  readonly slower?: string;
}

declare module "../../boot/application/feature.ts" {
  interface FrameworkFeatureParts {
    /**
     * Limits and their defaults, which `config/throttle.ts` can replace by name:
     *
     * ```ts
     * declare module "ashlar/throttle" { interface Limits { orders: true } }
     *
     * export class OrdersProvider extends Provider {
     *   static override readonly feature: Feature = declareFeature({
     *     name: "orders",
     *     limits: { orders: { buckets: [{ by: ["address"], attempts: 10, windowSeconds: 60 }] } },
     *   });
     * }
     * ```
     */
    readonly limits?: ByLimit<LimitDeclaration>;
  }
}

/** {@link LimitSettings}, checked. */
interface ReadLimit {
  readonly account: string | null;
  readonly buckets: readonly BucketSettings[];
}

/** A {@link LimitDeclaration}, checked and complete. */
interface ReadDeclaration extends ReadLimit {
  readonly ofAccounts: boolean;
  readonly knownDevicesApart: boolean;
  readonly slower: string | null;
}

/** A bucket, checked and named. */
export interface Bucket extends BucketSettings {
  /** The bucket's name in the headers, which is unique: `login`, `login-address`. */
  readonly name: string;
}

/** A limit, checked and complete. */
export interface Limit {
  readonly name: string;
  /** The name of the input with the account; `null` if the limit has no such input. */
  readonly account: string | null;
  /** Whether the account is one of the active guard's users. */
  readonly ofAccounts: boolean;
  /** Whether attempts from devices that the account was used on before are counted separately. */
  readonly knownDevicesApart: boolean;
  /** The name of the slower limit; `null` if the limit has no slower one. */
  readonly slower: string | null;
  /** The buckets as configured, with the main one first. */
  readonly buckets: readonly Bucket[];
}

const PARTS: readonly ThrottlePart[] = ["account", "address"];
/** Names that are valid after `throttle:` in a route, and in quotes in a header. */
const LIMIT_NAME = /^[A-Za-z][\w.-]*$/;
/** One day. A longer window would harm locked-out users more than it would slow down attackers. */
const MAX_WINDOW_SECONDS = 86_400;
/** The location of an application's limits, for messages. */
export const LIMITS_WHERE = "config/throttle.ts: THROTTLE.limits";

const BY: Setting<readonly ThrottlePart[]> = setting({
  describe: quoted,
  what: '["account", "address"], ["address"] or ["account"]',
  accept(value) {
    const isList = Array.isArray(value) && value.length > 0 && value.every((part) => PARTS.includes(part));
    if (!isList || new Set(value).size < value.length) return undefined;
    return Object.freeze(PARTS.filter((part) => value.includes(part)));
  },
});

const ACCOUNT = text(null);
const BUCKETS = listOf(
  'a list of buckets: [{ by: ["address"], attempts: 60, windowSeconds: 60 }]',
  settings<BucketSettings>()({
    by: BY,
    attempts: integer({ from: 1, to: 1_000_000 }),
    windowSeconds: integer({ from: 1, to: MAX_WINDOW_SECONDS, unit: "seconds" }),
  }),
);
/** A limit in `config/throttle.ts`. */
export const LIMIT: Setting<ReadLimit, LimitSettings> = settings<LimitSettings>()({
  account: ACCOUNT,
  buckets: BUCKETS,
});
/** The limits that features declare, by name. */
export const DECLARED_LIMITS: Setting<
  Readonly<Record<string, ReadDeclaration>>,
  Readonly<Record<string, LimitDeclaration>>
> = recordOf(
  settings<LimitDeclaration>()({
    account: ACCOUNT,
    ofAccounts: flag(false),
    knownDevicesApart: flag(false),
    slower: text(null),
    buckets: BUCKETS,
  }),
  requireLimitName,
);

/**
 * Checks the limits that a feature declares.
 *
 * @param where the location of the declaration, for messages
 * @throws `E_INVALID_CONFIGURATION`
 */
export function checkDeclaredLimits(limits: unknown, where: string): void {
  DECLARED_LIMITS.read(limits, where);
}

/** @throws `E_INVALID_CONFIGURATION` */
export function requireLimitName(name: string, where: string): void {
  if (LIMIT_NAME.test(name)) return;
  const remedy = "Begin with a letter; use letters, digits, dots, dashes and underscores.";
  throw new ConfigurationError(where, "is not a valid name for a limit.", remedy);
}

/**
 * Names the buckets of a limit.
 *
 * @param taken the names of other buckets; the new names are added to it
 * @throws `E_INVALID_CONFIGURATION` if two buckets would share their counts
 */
export function withNames(limit: string, buckets: readonly BucketSettings[], taken: Set<string>): Bucket[] {
  return buckets.map((bucket, index) => {
    const short = index === 0 ? limit : `${limit}-${bucket.by.join("-")}`;
    const name = taken.has(short) ? `${short}-${bucket.windowSeconds}` : short;
    if (taken.has(name)) {
      const where = `${LIMITS_WHERE}.${limit}.buckets[${index}]`;
      const problem = `would share its counts with another bucket, because both are called "${name}".`;
      throw new ConfigurationError(where, problem, "Leave one of them out, or rename the limit.");
    }
    taken.add(name);
    return Object.freeze({ ...bucket, name });
  });
}
