import type { PasswordHasher } from "../security/index.ts";
import { ConfigurationError, isPlainObject, nearest, unknownSetting } from "../support/index.ts";
import { type AuthenticatableClass, isAuthenticatableClass } from "./authenticatable.ts";
import { passwordHasher } from "./password-settings.ts";

/** One guard of `GUARDS`. */
export interface GuardEntry {
  readonly driver: string;
  /** `null` where the driver brings the model. */
  readonly model: AuthenticatableClass | null;
  /** What the names of the routes of the guard's pages begin with, such as `admin.`; `null` if it is not set. */
  readonly routes: string | null;
  /** What the entry holds beyond `driver`, `model` and `routes`. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** The section `auth` of the configuration, validated. */
export interface AuthConfiguration {
  /** The name of the guard that a request begins with; `null`: the only one there is. */
  readonly defaultGuard: string | null;
  readonly guards: ReadonlyMap<string, GuardEntry>;
  /** The table of password resets. */
  readonly passwordResetTable: string;
  /** How long a password reset can be used, in minutes; `null`: for ever. */
  readonly passwordResetExpirationInMinutes: number | null;
  /** What hashes the users' passwords. */
  readonly hasher: PasswordHasher;
}

const WHERE = "config/auth.ts: GUARDS";
/** What is read of `config/auth.ts`. */
export const AUTH_EXPORTS: readonly string[] = ["GUARDS", "ACCOUNTS", "PASSWORDS"];
/** What `GUARDS` holds besides the guards. */
const SETTINGS = ["default", "passwordResetTable", "passwordResetExpiration"];
/** What a guard of any driver may have. */
export const GUARD_SETTINGS: readonly string[] = ["driver", "model", "routes"];
const DEFAULT_RESET_TABLE = "password_resets";
const DEFAULT_RESET_EXPIRATION = 1440;

/**
 * Validates the section `auth` of the configuration.
 *
 * @param section what `config/auth.ts` exports; an empty object where there is no such file
 * @throws `E_INVALID_CONFIGURATION`
 */
export function authConfiguration(section: Readonly<Record<string, unknown>>): AuthConfiguration {
  const { GUARDS = {} } = section;
  if (!isPlainObject(GUARDS)) {
    throw new ConfigurationError(
      WHERE,
      "it is not an object.",
      'Write GUARDS = { default: "web", web: { model: User } }.',
    );
  }
  const { default: defaultGuard = null, passwordResetTable, passwordResetExpiration, ...entries } = GUARDS;
  if (defaultGuard !== null && typeof defaultGuard !== "string") {
    throw new ConfigurationError(`${WHERE}.default`, "it is not the name of a guard.", 'Write default: "web".');
  }
  return Object.freeze({
    defaultGuard,
    guards: new Map(Object.entries(entries).map(([name, entry]) => [name, guardEntry(name, entry)])),
    passwordResetTable: resetTable(passwordResetTable),
    passwordResetExpirationInMinutes: resetExpiration(passwordResetExpiration),
    hasher: passwordHasher(section.PASSWORDS),
  });
}

function guardEntry(name: string, entry: unknown): GuardEntry {
  const where = `${WHERE}.${name}`;
  const remedy = `Write ${name}: { model: User }.`;
  if (!isPlainObject(entry)) {
    // What is not a guard was meant for one of the settings beside them.
    if (nearest(name, SETTINGS).length > 0) throw unknownSetting(where, name, SETTINGS);
    throw new ConfigurationError(where, "it is not an object.", remedy);
  }
  const { driver = name, model = null, routes = null, ...options } = entry;
  if (typeof driver !== "string") {
    throw new ConfigurationError(`${where}.driver`, "it is not the name of a guard driver.", remedy);
  }
  if (model !== null && !isAuthenticatableClass(model)) {
    const problem = "it is not a class that auth can find users with.";
    const mixin = "Add the mixin Authenticates to the model: compose(Model, Authenticates).";
    throw new ConfigurationError(`${where}.model`, problem, mixin, "E_INVALID_MODEL");
  }
  if (routes !== null && typeof routes !== "string") {
    const problem = "it is not text.";
    const example = `Write what the names of the guard's routes begin with: routes: "${name}.".`;
    throw new ConfigurationError(`${where}.routes`, problem, example);
  }
  return Object.freeze({ driver, model, routes, options: Object.freeze(options) });
}

function resetTable(value: unknown = DEFAULT_RESET_TABLE): string {
  if (typeof value === "string" && value !== "") return value;
  const remedy = `Write passwordResetTable: "${DEFAULT_RESET_TABLE}".`;
  throw new ConfigurationError(`${WHERE}.passwordResetTable`, "it is not the name of a table.", remedy);
}

function resetExpiration(value: unknown = DEFAULT_RESET_EXPIRATION): number | null {
  if (value === null || (Number.isSafeInteger(value) && (value as number) > 0)) return value as number | null;
  const problem = "it is neither a positive whole number of minutes nor null.";
  const remedy = `Write passwordResetExpiration: ${DEFAULT_RESET_EXPIRATION}.`;
  throw new ConfigurationError(`${WHERE}.passwordResetExpiration`, problem, remedy);
}
