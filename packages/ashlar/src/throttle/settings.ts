import type { Container } from "../kernel/index.ts";
import {
  ConfigurationError,
  isSpeltAlike,
  quoted,
  recordOf,
  type Setting,
  setting,
  settings,
  unknownSetting,
} from "../support/index.ts";
import type { ByLimit } from "./limit-name.ts";
import {
  DECLARED_LIMITS,
  LIMIT,
  LIMITS_WHERE,
  type Limit,
  type LimitDeclaration,
  type LimitSettings,
  requireLimitName,
  withNames,
} from "./limits/limit.ts";
import { SHARED_NETWORKS, type SharedNetworks, sharedNetworksOf } from "./limits/shared-networks.ts";
import { databaseStore } from "./stores/database-store.ts";
import { memoryStore } from "./stores/memory-store.ts";
import type { ThrottleStore, ThrottleStoreSource } from "./stores/store.ts";

/** The framework's own stores, by name. */
export type ThrottleStoreName = "memory" | "database";

/**
 * `THROTTLE` in `config/throttle.ts`. A limit there replaces the limit of the same name that a feature declares. Add
 * the names of your own limits to `Limits`:
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
   * Where attempts are counted: `databaseStore()`, `memoryStore()`, their names, or your own store. Default: the database
   * if it has the table `rate_limits`, otherwise the memory of this process.
   */
  readonly store?: ThrottleStoreSource | ThrottleStoreName;
  /** The limits by name, in addition to those that features declare. */
  readonly limits?: ByLimit<LimitSettings>;
  /**
   * Networks in which many people share an address, such as a campus, a large office or a mobile provider (CGNAT), in
   * CIDR notation, each with a factor, 2 to 1,000. For addresses in the network, buckets that count by address alone
   * allow that many times the attempts. Other buckets, such as those by account, don't change.
   *
   * ```ts
   * export const THROTTLE = { sharedNetworks: { "198.51.100.0/24": 20 } } satisfies ThrottleSettings;
   * ```
   *
   * Security: anyone in such a network can try that many times as many accounts, with one or two guesses each. The
   * prefix must be at least /8, or /16 for IPv6.
   */
  readonly sharedNetworks?: Readonly<Record<string, number>>;
}

/** {@link ThrottleSettings}, checked and complete. */
export interface CompleteThrottleSettings {
  /** Where attempts are counted; `null` for the default. */
  readonly store: ThrottleStoreSource | null;
  /** The limits by name, including those that features declare. */
  readonly limits: ReadonlyMap<string, Limit>;
  /** `null` if none are configured. */
  readonly sharedNetworks: SharedNetworks | null;
}

const WHERE = "config/throttle.ts: THROTTLE";
const STORES: Readonly<Record<ThrottleStoreName, () => ThrottleStoreSource>> = {
  memory: memoryStore,
  database: databaseStore,
};
/** The token endpoint's former limit. With it, there was a second set of attempts at guessing a password. */
const FORMER_LIMIT = "api.auth";

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

/**
 * Reads `THROTTLE`. Limits that it doesn't contain stay as their features declare them.
 *
 * @param throttle the export `THROTTLE` of `config/throttle.ts`
 * @param declared the limits declared by features, by name
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
  const checked = DECLARED_LIMITS.read(declared, LIMITS_WHERE);
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
 * A limit in the configuration may have any name that a route can use, except a misspelling of a declared limit's name.
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

/**
 * The store itself, or the store that a function creates.
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
