import { Auth, type AuthenticatableClass } from "../../auth/index.ts";
import { RotatingKeys } from "../../security/index.ts";
import type { JwtAlgorithm, KeyMaterial } from "../../security/jwt/index.ts";
import {
  AshlarError,
  type Complete,
  ConfigurationError,
  flag,
  integer,
  isPlainObject,
  isSpeltAlike,
  minutes,
  notBlank,
  type Optional,
  recordOf,
  type Setting,
  setting,
  settings,
  text,
  textLike,
  unknownSetting,
} from "../../support/index.ts";
import { ABILITY_FORM, ABILITY_PATTERN, type AbilitiesOf } from "../abilities.ts";
import { holdTokens, type TokenHolders } from "../token-holder.ts";
import {
  type CompleteForeignSettings,
  type ForeignSettings,
  isForeign,
  readForeignDriver,
} from "./foreign-settings.ts";
import {
  type ManyTokensSettings,
  PERSONAL,
  type PersonalTokensSettings,
  type SingleTokensSettings,
  TOKENS,
  type TokensSettings,
} from "./token-settings.ts";

/** The value of a driver's `version`, and of the claim `ver`. */
export type TokenVersion = string | number;

/** A driver that issues its tokens itself: an entry of `DRIVERS` in `config/api.ts`. */
export interface JwtSettings {
  /** The signature algorithm; default: HS512. */
  readonly algorithm?: JwtAlgorithm;
  /**
   * With an HMAC algorithm, random text at least as long as the hash, as `npx ashlar key:generate` writes it; with any
   * other, the private key in PEM.
   *
   * Tokens are signed with the secret itself, so other services that have it can verify them. Everything else that the
   * framework signs or seals uses a key derived for its own purpose, and a value for one purpose is never accepted for
   * another.
   */
  readonly secret: KeyMaterial | null | undefined;
  /**
   * The next value of {@link secret}. It verifies tokens, and is published with the other public keys, but doesn't sign
   * yet. Once every process has it, processes can start to sign with it, one after another.
   */
  readonly nextSecret?: KeyMaterial | null | undefined;
  /**
   * Secrets or keys that still verify tokens, but no longer sign: a list, or text with concatenated PEM files, or with
   * secrets separated by commas.
   */
  readonly previousSecrets?: readonly KeyMaterial[] | string | null | undefined;
  /**
   * The class of the users that tokens are issued to. With `single()`, which is the default of `tokens`, it has the
   * mixin `AuthenticatesTokens`, or equivalent methods: `replaceToken`, and those of `TokenHolder` in its instances.
   */
  readonly model: AuthenticatableClass;
  /** Whether a user has one token, or a token per login: `single()`, which is the default, or `many()`. */
  readonly tokens?: TokensSettings;
  /** Tokens that users create for scripts, in addition to those from logins: `personal()`. Default: none. */
  readonly personal?: PersonalTokensSettings | null;
  /** How long a token is valid, in minutes; default: it never expires. `many()` has `accessMinutes` instead. */
  readonly expires?: number | null;
  /**
   * Returns the abilities that a user may give to tokens; default: all. Called when a token is issued or renewed, and,
   * with `authenticates`, when a request looks up its user: `abilitiesOf: (user: User) => (user.isAdmin ? ABILITIES :
   * ["orders.read"])`.
   */
  readonly abilitiesOf?: AbilitiesOf;
  /**
   * Whether each request checks in the database that the token is still one of the user's active tokens; default:
   * `false`.
   */
  readonly authenticates?: boolean;
  /**
   * Whether tokens contain when and how the user proved their identity: the claims `auth_time` (OpenID Connect Core 1.0
   * §2) and `amr` (RFC 8176), which renewals keep; default: `false`.
   */
  readonly authenticationClaims?: boolean;
  /** The required value of the claim `ver` in every token; default: tokens have no such claim. */
  readonly version?: TokenVersion | null;
  /** The claim `iss`; default: none. */
  readonly issuer?: Optional<string>;
  /** The claim `aud`; default: none. */
  readonly audience?: Optional<string>;
  /** How long after its expiry a token can be renewed, in minutes; default: no limit. */
  readonly reauthWithinMinutes?: number | null;
  /** Whether the input `token` may be in the query; default: `true`. */
  readonly tokenInQuery?: boolean;
  /** How far in the future `iat` and `nbf` may be, in seconds; default: 30. */
  readonly clockSkewSeconds?: number;
}

/** An entry of `DRIVERS` in `config/api.ts`: with `secret`, it issues its tokens; with `jwks`, another issuer does. */
export type DriverSettings =
  | (JwtSettings & { readonly model: TokenHolders; readonly tokens?: SingleTokensSettings })
  | (JwtSettings & { readonly tokens: ManyTokensSettings })
  | ForeignSettings;

/**
 * The shape of `DRIVERS` in `config/api.ts`. Each key is the name of a driver and its guard; the first is the default.
 */
export interface DriversSettings {
  readonly [name: string]: DriverSettings;
}

/** `JwtSettings` as read, with keys created from the secrets. */
export interface CompleteJwtSettings
  extends Omit<
      Complete<JwtSettings>,
      "algorithm" | "secret" | "nextSecret" | "previousSecrets" | "expires" | "abilitiesOf"
    >,
    RotatingKeys {
  readonly kind: "issuing";
  /** The name of both the driver and its guard. */
  readonly name: string;
  /** The tokens' lifetime; `null` for no limit. */
  readonly expiresInMinutes: number | null;
  /** Returns the abilities that a user may give; `null` for all. */
  readonly abilitiesOf: AbilitiesOf | null;
}

/** A driver's settings as read. */
export type CompleteDriverSettings = CompleteJwtSettings | CompleteForeignSettings;

/** The location of the drivers' configuration, for messages. */
export const DRIVERS_PLACE = "config/api.ts: DRIVERS";
/** A name that can follow a colon, as in `guard:jwt`, and be stored in a column. */
const DRIVER_NAME = /^[a-z][\w-]{0,63}$/i;
/** The name of the only driver in most applications. */
const USUAL_DRIVER = "jwt";
/** Names that a guard can't have, because they have other meanings. */
const RESERVED_NAMES: readonly string[] = ["web", "default"];
const UNLIMITED = Number.POSITIVE_INFINITY;

const INSTALL = "Run npx ashlar api:install, which writes config/api.ts.";
const ABILITY = textLike(`an ability: ${ABILITY_FORM}`, ABILITY_PATTERN);

const MODEL: Setting<AuthenticatableClass> = setting({
  what: "the class of your users: User",
  accept(value, where) {
    if (!canFindUsers(value)) return undefined;
    if (Auth.isUserClass(value)) return value;
    throw lacking(value, "Authenticates", where);
  },
  code: "E_INVALID_MODEL",
});

/** A class, or an object that finds users of a class. */
function canFindUsers(value: unknown): value is object & { readonly name: string } {
  return typeof value === "function" || (typeof value === "object" && value !== null && "userClass" in value);
}

function lacking({ name }: { readonly name: string }, mixin: string, where: string): ConfigurationError {
  const problem = `${name} lacks what the mixin ${mixin} adds.`;
  const remedy = `Declare it as class ${name} extends compose(Model, Authenticates, AuthenticatesTokens).`;
  return new ConfigurationError(where, problem, remedy, "E_INVALID_MODEL");
}

const JWT = settings<JwtSettings>()({
  // Creating the keys reports an unknown algorithm.
  algorithm: setting<JwtAlgorithm>({
    what: "the name of an algorithm",
    accept: (value) => value as JwtAlgorithm,
    fallback: "HS512",
  }),
  ...RotatingKeys.settings,
  model: MODEL,
  tokens: TOKENS,
  personal: PERSONAL,
  abilitiesOf: setting<AbilitiesOf | null, AbilitiesOf>({
    what: 'a function: (user: User) => ["orders.read"]',
    accept: (value) => (typeof value === "function" ? (value as AbilitiesOf) : undefined),
    fallback: null,
  }),
  expires: notBlank(minutes(null, UNLIMITED)),
  authenticates: flag(false),
  authenticationClaims: flag(false),
  version: notBlank(
    setting<TokenVersion | null, TokenVersion>({
      what: "text or a number",
      accept: (value) => (typeof value === "string" || Number.isFinite(value) ? (value as TokenVersion) : undefined),
      fallback: null,
    }),
  ),
  issuer: notBlank(text(null)),
  audience: notBlank(text(null)),
  reauthWithinMinutes: notBlank(minutes(null, UNLIMITED)),
  tokenInQuery: flag(true),
  clockSkewSeconds: integer({ from: 1, to: UNLIMITED, unit: "seconds" }, 30),
});

const ABILITIES = setting<readonly string[] | null>({
  what: 'a list of abilities: ["orders.read", "orders.write"]',
  accept(value, where) {
    if (!Array.isArray(value)) return undefined;
    return Object.freeze(value.map((one, index) => ABILITY.read(one, `${where}[${index}]`)));
  },
  fallback: null,
});

const DRIVER = setting<CompleteDriverSettings>({
  what: JWT.what,
  remedy: INSTALL,
  accept: (value, where) => (isPlainObject(value) ? readDriver(value, where) : undefined),
});

const DRIVERS = recordOf(DRIVER, requireDriverName, USUAL_DRIVER);

/**
 * Reads `DRIVERS`, and prepares the keys of each driver, in the order of the file.
 *
 * @param drivers the export `DRIVERS` of `config/api.ts`
 * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL`, `E_WEAK_SECRET`, `E_JWT_KEY`, `E_JWT_ALGORITHM`
 */
export function readApiSettings(drivers: unknown): readonly CompleteDriverSettings[] {
  const read = Object.values(DRIVERS.read(drivers, DRIVERS_PLACE));
  if (read.length === 0) throw new ConfigurationError(`${DRIVERS_PLACE}.jwt`, "is missing.", INSTALL);
  return Object.freeze(read);
}

/** Reports whether a driver can have this name. */
export function isDriverName(name: string): boolean {
  return DRIVER_NAME.test(name) && !RESERVED_NAMES.includes(name);
}

function requireDriverName(name: string, where: string): void {
  if (name !== USUAL_DRIVER && isSpeltAlike(name, USUAL_DRIVER)) throw unknownSetting(where, name, [USUAL_DRIVER]);
  if (isDriverName(name)) return;
  const remedy =
    "It is the name of a guard: letters, digits, _ and -, beginning with a letter, and not web or default.";
  throw new ConfigurationError(where, "is not a name for a driver.", remedy);
}

function readDriver(entry: Readonly<Record<string, unknown>>, where: string): CompleteDriverSettings {
  const name = where.slice(DRIVERS_PLACE.length + 1);
  if (isForeign(entry)) return readForeignDriver(name, entry, where);
  RotatingKeys.requireSecret(where, entry);
  return readIssuingDriver(name, entry, where);
}

function readIssuingDriver(name: string, entry: unknown, where: string): CompleteJwtSettings {
  const { algorithm, secret, nextSecret, previousSecrets, expires, ...jwt } = JWT.read(entry, where);
  const { tokens } = jwt;
  if (tokens.kind === "many") refuseSettingsOfSingle({ expires, reauthWithinMinutes: jwt.reauthWithinMinutes }, where);
  else if (!holdTokens(jwt.model)) throw lacking(jwt.model, "AuthenticatesTokens", `${where}.model`);
  return Object.freeze({
    ...jwt,
    kind: "issuing",
    name,
    expiresInMinutes: tokens.kind === "many" ? tokens.accessMinutes : expires,
    ...new RotatingKeys(where, { algorithm, secret, nextSecret, previousSecrets }),
  });
}

/** @throws `E_INVALID_CONFIGURATION` */
function refuseSettingsOfSingle(values: Readonly<Record<string, number | null>>, where: string): void {
  const [name] = Object.entries(values).find(([, value]) => value !== null) ?? [];
  if (name === undefined) return;
  const remedy = "Set accessMinutes and refreshDays of many() instead.";
  throw new ConfigurationError(`${where}.${name}`, "is not a setting of drivers with tokens: many().", remedy);
}

/**
 * Makes sure that a driver's tokens refer to users of this class.
 *
 * @throws `E_INVALID_MODEL` for any class except the driver's `model`, and its subclasses with the same table
 */
export function requireUsersOf({ model, name: driver }: CompleteJwtSettings, userClass: object): void {
  if (Auth.isUserClassOf(userClass, model)) return;
  const { name } = userClass as { readonly name: string };
  const problem = `API tokens are for users of the class ${model.name}, not ${name}.`;
  throw new AshlarError("E_INVALID_MODEL", `${problem} The model is DRIVERS.${driver}.model in config/api.ts.`);
}

/**
 * Reads `ABILITIES`: what the application's tokens may be used for.
 *
 * @param abilities the export `ABILITIES` of `config/api.ts`
 * @returns `null` if they are not listed
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readAbilities(abilities: unknown): readonly string[] | null {
  return ABILITIES.read(abilities, "config/api.ts: ABILITIES");
}
