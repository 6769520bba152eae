import type { Container } from "../kernel/index.ts";
import {
  ConfigurationError,
  isPlainObject,
  isSpeltAlike,
  settingsOf,
  suggestion,
  unknownSetting,
} from "../support/index.ts";
import { databaseStore } from "./database-store.ts";
import { DEFAULT_LIMITS, PASSWORD_LIMIT } from "./default-limits.ts";
import { memoryStore } from "./memory-store.ts";
import type { ThrottlePart, ThrottleStoreName } from "./settings.ts";
import type { ThrottleStore, ThrottleStoreSource } from "./store.ts";

/** One bucket of a limit, validated. */
export interface Bucket {
  /** Unique among all buckets, and what the headers call it: `login`, `login-address`. */
  readonly name: string;
  readonly by: readonly ThrottlePart[];
  readonly attempts: number;
  readonly windowSeconds: number;
}

/** A named limit, validated. */
export interface Limit {
  readonly name: string;
  /** The input that names the account; `null` if none does. */
  readonly account: string | null;
  /** As configured, the main one first. */
  readonly buckets: readonly Bucket[];
}

/** `THROTTLE` of the configuration, validated. */
export interface ThrottleConfiguration {
  /** Where attempts are counted; `null` leaves it to the application: in its database, if it can. */
  readonly store: ThrottleStoreSource | null;
  readonly limits: ReadonlyMap<string, Limit>;
}

/** The limit that the token endpoint had to itself, which gave each guess at a password a second set of attempts. */
const FORMER_LIMIT = "api.auth";

const WHERE = "config/throttle.ts: THROTTLE";
const PARTS: readonly ThrottlePart[] = ["account", "address"];
const STORES: Readonly<Record<ThrottleStoreName, () => ThrottleStoreSource>> = {
  memory: memoryStore,
  database: databaseStore,
};
const MAX_ATTEMPTS = 1_000_000;
/** A day. Longer ones lock people out rather than slow attackers down. */
const MAX_WINDOW_SECONDS = 86_400;
/** What a route can name after `throttle:`, and a header between quotes. */
const LIMIT_NAME = /^[A-Za-z][\w.-]*$/;
const BUCKET_EXAMPLE = '{ by: ["address"], attempts: 60, windowSeconds: 60 }';

/**
 * Validates the section `throttle` of the configuration. Limits it leaves out have their defaults.
 *
 * @param section what `config/throttle.ts` exports; `null` if there is no such file
 * @throws `E_INVALID_CONFIGURATION`
 */
export function throttleConfiguration(section: Readonly<Record<string, unknown>> | null): ThrottleConfiguration {
  if (section !== null && section.THROTTLE === undefined) {
    throw new ConfigurationError(WHERE, "it is missing.", "Write export const THROTTLE = { limits: { … } };");
  }
  const settings = object(section === null ? {} : section.THROTTLE, WHERE, ["store", "limits"]);
  const own = ownLimits(settings.limits);
  if (Object.hasOwn(own, FORMER_LIMIT)) {
    const problem = "it no longer exists: a password has one limit, whichever way it is tried.";
    const where = `${WHERE}.limits["${FORMER_LIMIT}"]`;
    throw new ConfigurationError(where, problem, `Set ${PASSWORD_LIMIT}, which the token endpoint counts by as well.`);
  }
  const limits = new Map<string, Limit>();
  const taken = new Set<string>();
  for (const [name, value] of Object.entries({ ...DEFAULT_LIMITS, ...own }))
    limits.set(name, limit(name, value, taken));
  return Object.freeze({ store: store(settings.store), limits });
}

function store(value: unknown): ThrottleStoreSource | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "function" || isStore(value)) return value as ThrottleStoreSource;
  const remedy = "Write store: databaseStore(), store: memoryStore(), or an object with the methods of ThrottleStore.";
  if (typeof value !== "string") throw new ConfigurationError(`${WHERE}.store`, "it is not a store.", remedy);
  const name = Object.keys(STORES).find((one) => one === value);
  if (name !== undefined) return STORES[name as ThrottleStoreName]();
  const near = `${suggestion(value, Object.keys(STORES))} ${remedy}`;
  throw new ConfigurationError(`${WHERE}.store`, `no store is called "${value}".`, near);
}

/**
 * The store that a source makes, or is.
 *
 * @throws `E_INVALID_CONFIGURATION` if what it makes is not a store
 */
export function storeOf(source: ThrottleStoreSource, container: Container): ThrottleStore {
  const made: unknown = typeof source === "function" ? source(container) : source;
  if (isStore(made)) return made;
  const remedy = "Return an object with the methods of ThrottleStore, and not a promise of one.";
  throw new ConfigurationError(`${WHERE}.store`, "it is a function that does not return a store.", remedy);
}

function isStore(value: unknown): value is ThrottleStore {
  const { counter, close } = Object(value) as Partial<ThrottleStore>;
  return typeof counter === "function" && typeof close === "function";
}

function limit(name: string, value: unknown, taken: Set<string>): Limit {
  const where = `${WHERE}.limits.${name}`;
  if (!LIMIT_NAME.test(name)) {
    throw new ConfigurationError(
      where,
      "is not a name for a limit.",
      "Use letters, digits, dots, dashes, underscores.",
    );
  }
  const settings = object(value, where, ["account", "buckets"]);
  const { account = null, buckets } = settings;
  if (account !== null && (typeof account !== "string" || account === "")) {
    throw new ConfigurationError(`${where}.account`, "it is not the name of an input.", 'Write account: "email".');
  }
  if (!Array.isArray(buckets) || buckets.length === 0) {
    throw new ConfigurationError(`${where}.buckets`, "it is not a list of buckets.", `Write [${BUCKET_EXAMPLE}].`);
  }
  const checked = buckets.map((one, index) => bucket(name, one, `${where}.buckets[${index}]`, index === 0, taken));
  return Object.freeze({ name, account, buckets: Object.freeze(checked) });
}

function bucket(limitName: string, value: unknown, where: string, isMain: boolean, taken: Set<string>): Bucket {
  const settings = object(value, where, ["by", "attempts", "windowSeconds"]);
  const by = parts(settings.by, `${where}.by`);
  const attempts = whole(settings.attempts, `${where}.attempts`, MAX_ATTEMPTS);
  const windowSeconds = whole(settings.windowSeconds, `${where}.windowSeconds`, MAX_WINDOW_SECONDS);
  const short = isMain ? limitName : `${limitName}-${by.join("-")}`;
  const name = taken.has(short) ? `${short}-${windowSeconds}` : short;
  if (taken.has(name)) {
    const problem = `its counts would be those of another bucket, for both are called "${name}".`;
    throw new ConfigurationError(where, problem, "Leave one of them out, or call the limit something else.");
  }
  taken.add(name);
  return Object.freeze({ name, by, attempts, windowSeconds });
}

function parts(value: unknown, where: string): readonly ThrottlePart[] {
  const isList = Array.isArray(value) && value.length > 0 && value.every((part) => PARTS.includes(part));
  if (isList && new Set(value).size === value.length)
    return Object.freeze(PARTS.filter((part) => value.includes(part)));
  const remedy = 'Write ["account", "address"], ["address"] or ["account"].';
  throw new ConfigurationError(where, "it does not say what is counted by.", remedy);
}

function whole(value: unknown, where: string, most: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most) return value as number;
  throw new ConfigurationError(where, `it is not a whole number from 1 to ${most}.`, `An example: ${BUCKET_EXAMPLE}`);
}

/** The members of an object that must be there. */
function object(value: unknown, where: string, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (value !== undefined && value !== null) return settingsOf(value, where, known);
  throw new ConfigurationError(where, "is not an object.", "Write it as { name: value }.");
}

/** The application's own limits, by name: any name, but not another spelling of a default limit's. */
function ownLimits(value: unknown): Readonly<Record<string, unknown>> {
  const where = `${WHERE}.limits`;
  const limits = value ?? {};
  if (!isPlainObject(limits)) throw new ConfigurationError(where, "is not an object.", "Write it as { name: limit }.");
  const known = Object.keys(DEFAULT_LIMITS);
  for (const name of Object.keys(limits)) {
    const isRespelt = !known.includes(name) && known.some((limit) => isSpeltAlike(limit, name));
    if (isRespelt) throw unknownSetting(`${where}.${name}`, name, known);
  }
  return limits;
}
