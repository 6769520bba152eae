import type { Container } from "../kernel/index.ts";
import {
  ConfigurationError,
  flag,
  integer,
  isSpeltAlike,
  listOf,
  quoted,
  recordOf,
  type Setting,
  setting,
  settings,
  text,
  unknownSetting,
} from "../support/index.ts";
import type { ByLimit } from "./limit-name.ts";
import { SHARED_NETWORKS, type SharedNetworks, sharedNetworksOf } from "./limits/shared-networks.ts";
import { databaseStore } from "./stores/database-store.ts";
import { memoryStore } from "./stores/memory-store.ts";
import type { ThrottleStore, ThrottleStoreSource } from "./stores/store.ts";

/** The stores that the framework brings, by name. */
export type ThrottleStoreName = "memory" | "database";

/** One bucket of a limit, as written in `config/throttle.ts`: a number of attempts per window. */
export interface BucketSettings {
  /** The attempt's account, the client's address, or both: each combination is counted separately. */
  readonly by: readonly ("account" | "address")[];
  /** How many attempts pass in one window, 1 to 1,000,000. */
  readonly attempts: number;
  /** How long a window is, in seconds, 1 to 86,400. It begins with the first attempt. */
  readonly windowSeconds: number;
}

/** What a bucket counts by. */
export type ThrottlePart = BucketSettings["by"][number];

/** A limit, as written in `config/throttle.ts`. An attempt passes if it passes all buckets. */
export interface LimitSettings {
  /** The name of the input that holds the account, such as `email`. */
  readonly account?: string;
  /** The main bucket comes first: it has the limit's name in the headers. */
  readonly buckets: readonly BucketSettings[];
}

/** A limit, as a feature declares it with `declareLimits`. */
export interface LimitDeclaration extends LimitSettings {
  /**
   * Whether it counts attempts at the accounts of guards: the account is then one of the active guard's users, by what
   * identifies them there. Default: `false`, the account has nothing to do with a guard.
   */
  readonly ofAccounts?: boolean;
  /**
   * Whether attempts from devices that the account was used on before are counted apart from all others, so that others
   * can't use them up. Default: `false`.
   */
  readonly knownDevicesApart?: boolean;
  /** The name of a limit under which an attempt may pass that this one refuses, for slower attempts. Default: none. */
  readonly slower?: string;
}

/**
 * The shape of `THROTTLE` in `config/throttle.ts`. A limit there replaces the one with the same name that a feature
 * declares. The name of any other is added to `Limits`:
 *
 * ```ts
 * declare module "ashlar/throttle" { interface Limits { export: true } }
 *
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
   * Where attempts are counted: `databaseStore()`, `memoryStore()`, their names, or a store of your own. Default: the
   * database if it has the table `rate_limits`, otherwise the memory of this process.
   */
  readonly store?: ThrottleStoreSource | ThrottleStoreName;
  /** The limits by name, in addition to those that features declare. */
  readonly limits?: ByLimit<LimitSettings>;
  /**
   * The networks in which many people share an address, such as a campus, a large office or a mobile provider (CGNAT), in CIDR
   * notation: how many times the attempts each of their addresses has, 2 to 1,000, where limits count by address alone. Others
   * stay as they are, those by account among them.
   *
   * ```ts
   * export const THROTTLE = { sharedNetworks: { "198.51.100.0/24": 20 } } satisfies ThrottleSettings;
   * ```
   *
   * Security: anyone in such a network can try that many times the accounts, with one or two guesses at each. The prefix is at
   * least /8, for IPv6 /16.
   */
  readonly sharedNetworks?: Readonly<Record<string, number>>;
}

/** A bucket, as it was read. */
export interface Bucket extends BucketSettings {
  /** Unique among all buckets; its name in the headers: `login`, `login-address`. */
  readonly name: string;
}

/** A limit, as it was read. */
export interface Limit {
  readonly name: string;
  /** The input that holds the account; `null` if none does. */
  readonly account: string | null;
  /** Whether it counts attempts at the accounts of guards. */
  readonly ofAccounts: boolean;
  /** Whether attempts from devices that the account was used on before are counted apart. */
  readonly knownDevicesApart: boolean;
  /** The name of the limit for slower attempts; `null`: none. */
  readonly slower: string | null;
  /** As configured, the main one first. */
  readonly buckets: readonly Bucket[];
}

/** {@link ThrottleSettings}, as they were read. */
export interface CompleteThrottleSettings {
  /** Where attempts are counted; `null` leaves it to the application: in its database, if possible. */
  readonly store: ThrottleStoreSource | null;
  /** The limits by name, including those that features declare. */
  readonly limits: ReadonlyMap<string, Limit>;
  readonly sharedNetworks: SharedNetworks;
}

const WHERE = "config/throttle.ts: THROTTLE";
const PARTS: readonly ThrottlePart[] = ["account", "address"];
const STORES: Readonly<Record<ThrottleStoreName, () => ThrottleStoreSource>> = {
  memory: memoryStore,
  database: databaseStore,
};
/** What a route can write after `throttle:`, and a header between quotes. */
const LIMIT_NAME = /^[A-Za-z][\w.-]*$/;
/** A day. Longer windows lock people out more than they slow attackers down. */
const MAX_WINDOW_SECONDS = 86_400;
/** The token endpoint once had this limit to itself, which gave password guesses a second set of attempts. */
const FORMER_LIMIT = "api.auth";

const LIMITS_WHERE = `${WHERE}.limits`;

const BY: Setting<readonly ThrottlePart[]> = setting({
  describe: quoted,
  what: '["account", "address"], ["address"] or ["account"]',
  accept(value) {
    const isList = Array.isArray(value) && value.length > 0 && value.every((part) => PARTS.includes(part));
    if (!isList || new Set(value).size < value.length) return undefined;
    return Object.freeze(PARTS.filter((part) => value.includes(part)));
  },
});

const STORE: Setting<ThrottleStoreSource | null, ThrottleStoreSource | ThrottleStoreName> = setting({
  what: "databaseStore(), memoryStore(), or an object with the methods of ThrottleStore",
  fallback: null,
  words: Object.keys(STORES),
  describe: quoted,
  accept(value) {
    if (typeof value === "function" || isStore(value)) return value as ThrottleStoreSource;
    const name = Object.keys(STORES).find((one) => one === value);
    return name === undefined ? undefined : STORES[name as ThrottleStoreName]();
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
const LIMIT = settings<LimitSettings>()({ account: ACCOUNT, buckets: BUCKETS });
const DECLARED = recordOf(
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
 * @param where the place of the declaration
 * @throws `E_INVALID_CONFIGURATION`
 */
export function checkDeclaredLimits(limits: unknown, where: string): void {
  DECLARED.read(limits, where);
}

/**
 * Reads `THROTTLE`. Limits that it leaves out are as their features declare them.
 *
 * @param throttle what `config/throttle.ts` exports as `THROTTLE`
 * @param declared the limits of features, by name
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readThrottleSettings(
  throttle: unknown,
  declared: Readonly<Record<string, LimitDeclaration>>,
): CompleteThrottleSettings {
  const known = Object.keys(declared);
  const ownLimits = recordOf(LIMIT, (name, where) => checkLimitName(name, where, known));
  const { store, limits, sharedNetworks } = settings<ThrottleSettings>()({
    store: STORE,
    limits: ownLimits,
    sharedNetworks: SHARED_NETWORKS,
  }).read(throttle, WHERE);
  const checked = DECLARED.read(declared, LIMITS_WHERE);
  const all = { ...checked, ...limits };
  const taken = new Set<string>();
  const named = Object.entries(all).map(([name, { account, buckets }]) => {
    const {
      ofAccounts = false,
      knownDevicesApart = false,
      slower = null,
    } = Object.hasOwn(checked, name) ? checked[name]! : {};
    const named = Object.freeze(withNames(name, buckets, taken));
    return Object.freeze({ name, account, ofAccounts, knownDevicesApart, slower, buckets: named });
  });
  return Object.freeze({
    store,
    limits: new Map(named.map((limit) => [limit.name, limit])),
    sharedNetworks: sharedNetworksOf(sharedNetworks),
  });
}

/**
 * A limit in the configuration may have any name that routes can use, except another spelling of a declared limit's.
 */
function checkLimitName(name: string, where: string, known: readonly string[]): void {
  if (name === FORMER_LIMIT) {
    const problem = "is no longer a limit: every way of trying a password counts under the same limit.";
    throw new ConfigurationError(where, problem, "Set login instead, which also covers the token endpoint.");
  }
  const isRespelt = !known.includes(name) && known.some((limit) => isSpeltAlike(limit, name));
  if (isRespelt) throw unknownSetting(where, name, known);
  requireLimitName(name, where);
}

function requireLimitName(name: string, where: string): void {
  if (LIMIT_NAME.test(name)) return;
  const remedy = "Begin with a letter; use letters, digits, dots, dashes and underscores.";
  throw new ConfigurationError(where, "is not a valid name for a limit.", remedy);
}

function withNames(limit: string, buckets: readonly BucketSettings[], taken: Set<string>): Bucket[] {
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

/**
 * The store itself, or the one that a function creates.
 *
 * @throws `E_INVALID_CONFIGURATION` if the result is not a store
 */
export function storeOf(source: ThrottleStoreSource, container: Container): ThrottleStore {
  const made: unknown = typeof source === "function" ? source(container) : source;
  if (isStore(made)) return made;
  const remedy = "Return an object with the methods of ThrottleStore, not a promise.";
  throw new ConfigurationError(`${WHERE}.store`, "is a function that does not return a store.", remedy);
}

function isStore(value: unknown): value is ThrottleStore {
  const { counter, close } = Object(value) as Partial<ThrottleStore>;
  return typeof counter === "function" && typeof close === "function";
}
