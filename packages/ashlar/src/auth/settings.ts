import { TABLE_NAME } from "../database/index.ts";
import type { ConfigurationSections } from "../kernel/index.ts";
import {
  ConfigurationError,
  isPlainObject,
  listOf,
  nearest,
  quoted,
  SetupProblems,
  setting,
  settings,
  shape,
  text,
  textLike,
  unknownSetting,
} from "../support/index.ts";
import { type CompleteAuthSettings, readAccountsSettings } from "./accounts/mails/settings.ts";
import { AUTH_EXPORTS } from "./configuration.ts";
import type { GuardEntry } from "./guards/guard-settings.ts";
import { passwordHasher } from "./passwords/password-settings.ts";
import type { LoginStep } from "./proofs/login-step.ts";
import { type AuthenticatableClass, isAuthenticatableClass } from "./users/authenticatable.ts";
import type { WebGuardSettings } from "./web/web-guard-settings.ts";

/** The settings of a guard in `GUARDS` with any driver. */
export interface GuardEntrySettings {
  /** The driver; default: the guard's own name. */
  readonly driver?: string;
  /** The class of the guard's users. Leave it out if the driver brings one. */
  readonly model?: AuthenticatableClass;
  /**
   * The prefix of the route names of the guard's pages, such as `back.admin.`. Default: none for the default guard;
   * `admin.` for a guard `admin` with a route `admin.login`. Without that route, it uses the default guard's pages.
   */
  readonly routes?: string;
  /**
   * The further steps of its logins, after those of all guards.
   *
   * Security: other guards with the same users don't ask for these steps. With a second factor under `web.steps` only,
   * the token endpoint returns a token without it; the log warns about that at boot.
   */
  readonly steps?: readonly LoginStep[];
}

/** A guard in `GUARDS`: with the driver `web`, or with another one, which may have its own settings. */
export type GuardDefinition =
  | (GuardEntrySettings & WebGuardSettings)
  | (GuardEntrySettings & { readonly driver: string; readonly [setting: string]: unknown });

/** The settings in `GUARDS` besides the guards. */
interface CommonGuardSettings {
  /** The name of the guard that a request begins with; default: the only one. */
  readonly default?: string;
  /** The table of password resets; default: `password_resets`. */
  readonly passwordResetTable?: string;
  /** How long the link to set a new password is valid, in minutes; `null` for no limit. Default: 1440. */
  readonly passwordResetExpiration?: number | null;
  /** The further steps of logins with every guard. */
  readonly steps?: readonly LoginStep[];
}

/**
 * The shape of `GUARDS` in `config/auth.ts`: the guards by name, and their shared settings.
 *
 * ```ts
 * // config/auth.ts
 * export const GUARDS = {
 *   default: "web",
 *   web: { model: User, idleMinutes: 60 },
 *   passwordResetExpiration: 60,
 * } satisfies GuardsSettings;
 * ```
 */
export interface GuardsSettings extends CommonGuardSettings {
  readonly [guard: string]: GuardDefinition | readonly LoginStep[] | string | number | null | undefined;
}

const WHERE = "config/auth.ts: GUARDS";
/** The keys of `GUARDS` that are not guards. */
const NAMES: readonly string[] = ["default", "passwordResetTable", "passwordResetExpiration", "steps"];

const OBJECT = setting<Readonly<Record<string, unknown>>>({
  what: 'an object: { default: "web", web: { model: User } }',
  accept: (value) => (isPlainObject(value) ? value : undefined),
  fallback: {},
});

const AMR = shape<readonly string[]>(
  'a list of names: ["otp"]',
  (value): value is readonly string[] => Array.isArray(value) && value.every(isName),
);

const STEP = setting<LoginStep>({
  what: 'a login step: { name: "terms", check: () => "passed" }',
  accept(value, where) {
    if (!isLoginStep(value)) return undefined;
    if (value.amr !== undefined) AMR.read(value.amr, `${where}.amr`);
    return value;
  },
});

const STEPS = listOf('a list of login steps: [{ name: "terms", check: () => "passed" }]', STEP, []);

const GUARDS = settings<CommonGuardSettings>()({
  default: text(null),
  passwordResetTable: textLike('a table\'s name: "password_resets"', TABLE_NAME, "password_resets"),
  passwordResetExpiration: setting<number | null, number>({
    what: "a whole number of minutes, 1 or more, null for no expiry",
    takesNull: true,
    describe: quoted,
    accept: (value) => (value === null || isPositiveWhole(value) ? value : undefined),
    fallback: 1440,
  }),
  steps: STEPS,
});

const GUARD = settings<GuardEntrySettings>()({
  driver: text(null),
  model: shape(
    "a class with the mixin Authenticates: compose(Model, Authenticates), or an AccountStore",
    isAuthenticatableClass,
    null,
    "E_INVALID_MODEL",
  ),
  routes: text(null),
  steps: STEPS,
});

/** The settings that were read from each configuration. */
const known = new WeakMap<ConfigurationSections, CompleteAuthSettings>();

/**
 * The settings of `config/auth.ts`; the file is optional.
 *
 * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL`
 */
export function authSettingsOf(config: ConfigurationSections): CompleteAuthSettings {
  const read = known.get(config) ?? readAuthSettings(config.optionalSection("auth", AUTH_EXPORTS));
  known.set(config, read);
  return read;
}

/**
 * Reads the exports of `config/auth.ts`.
 *
 * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL`
 */
export function readAuthSettings(section: Readonly<Record<string, unknown>>): CompleteAuthSettings {
  const all = Object.entries(OBJECT.read(section.GUARDS, WHERE));
  const entries = all.filter(([name]) => !NAMES.includes(name));
  const problems = new SetupProblems();
  const common = problems.try(() => {
    const read = GUARDS.read(Object.fromEntries(all.filter(([name]) => NAMES.includes(name))), WHERE);
    return { ...read, steps: namedApart(read.steps, `${WHERE}.steps`) };
  });
  const guards = new Map<string, GuardEntry>();
  for (const [name, entry] of entries) {
    const guard = problems.try(() => guardEntry(name, entry, common?.steps ?? []));
    if (guard !== undefined) guards.set(name, guard);
  }
  const hasher = problems.try(() => passwordHasher(section.PASSWORDS));
  const accounts = problems.try(() => readAccountsSettings(section.ACCOUNTS));
  if (common === undefined || hasher === undefined || accounts === undefined || problems.any) throw problems.error;
  return Object.freeze({
    defaultGuard: common.default,
    steps: common.steps,
    guards,
    passwordResetTable: common.passwordResetTable,
    passwordResetExpirationInMinutes: common.passwordResetExpiration,
    hasher,
    accounts,
  });
}

function isPositiveWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

/** The frozen list of steps. Their names must differ. */
function namedApart(steps: readonly LoginStep[], where: string): readonly LoginStep[] {
  const twice = steps.find(({ name }, index) => steps.findIndex((other) => other.name === name) !== index);
  if (twice === undefined) return Object.freeze([...steps]);
  throw new ConfigurationError(where, `two steps are named "${twice.name}".`, "Give each its own name.");
}

function isLoginStep(value: unknown): value is LoginStep {
  if (typeof value !== "object" || value === null) return false;
  const { name, page, check, flows } = value as Partial<LoginStep>;
  const isPage = page === undefined || isName(page);
  const areFlows = flows === undefined || typeof flows === "function";
  return isName(name) && isPage && areFlows && typeof check === "function";
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function guardEntry(name: string, value: unknown, common: readonly LoginStep[]): GuardEntry {
  const where = `${WHERE}.${name}`;
  // If a value cannot be a guard, the author meant one of the other settings.
  if (!isPlainObject(value) && nearest(name, NAMES).length > 0) throw unknownSetting(where, name, NAMES);
  const entry = setting<Readonly<Record<string, unknown>>>({
    what: `${name}: { model: User }`,
    accept: (given) => (isPlainObject(given) ? given : undefined),
  }).read(value, where);
  const { driver, model, routes, steps: own, ...options } = entry;
  const read = GUARD.read({ driver, model, routes, steps: own }, where);
  const steps = namedApart([...common, ...read.steps], `${where}.steps`);
  return Object.freeze({ ...read, driver: read.driver ?? name, steps, options: Object.freeze(options) });
}
