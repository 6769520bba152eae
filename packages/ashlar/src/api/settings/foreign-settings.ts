import { Auth, type AuthenticatableClass } from "../../auth/index.ts";
import { type JwtAlgorithm, PAIR_ALGORITHMS } from "../../security/jwt/index.ts";
import {
  type Complete,
  ConfigurationError,
  derived,
  integer,
  isLoopbackAddress,
  listOf,
  type MaybePromise,
  type Optional,
  oneOf,
  type Setting,
  setting,
  settings,
  shape,
  text,
  withoutBrackets,
} from "../../support/index.ts";
import type { TokenClaims } from "../verifier.ts";

/**
 * Finds the user for another issuer's token by its `iss` and `sub`, or creates the user.
 *
 * Security: it is called for each request, and can refuse users who have been disabled since, by returning `null`. The
 * `sub` is the issuer's name for a user, never a key of the application's own table.
 *
 * @returns the user; `null` to refuse the token
 */
export type UserOfClaims = (claims: TokenClaims) => MaybePromise<object | null>;

/**
 * A driver that accepts the access tokens of another issuer, such as an identity provider: an entry of `DRIVERS` in
 * `config/api.ts` (RFC 9068).
 */
export interface ForeignSettings {
  /** The required `iss`, exactly as the issuer writes it. */
  readonly issuer: Optional<string>;
  /** The required `aud`, or a value that it must contain, which is this application's name at the issuer. */
  readonly audience: Optional<string>;
  /**
   * Where the issuer publishes its keys (a JWK Set). It must be https; outside of production, http on this machine is
   * accepted.
   */
  readonly jwks: string | URL | null | undefined;
  /**
   * The certificates of the authorities that may have issued the `jwks` server's certificate: a PEM file, relative to
   * the application's root, or the PEM text itself. Default: the authorities that Node.js trusts.
   */
  readonly ca?: Optional<string>;
  /** The class of the users that `user` returns. */
  readonly model: AuthenticatableClass;
  /**
   * The algorithms that tokens may be signed with; default: `ES256`, `ES384`, `ES512`, `RS256`, `PS256`, `EdDSA` and `Ed25519`.
   * A secret never verifies another issuer's tokens.
   */
  readonly algorithms?: readonly JwtAlgorithm[];
  /**
   * The required `typ` of the header; default: `at+jwt` (RFC 9068 §4). Some issuers write `JWT`. With `null`, it isn't
   * checked.
   *
   * Security: an issuer signs other tokens with the same keys, such as ID tokens. If these have the same type, only the
   * audience distinguishes them.
   */
  readonly typ?: string | null;
  /** Finds or creates the user; default: requests have claims, but no user. */
  readonly user?: UserOfClaims;
  /** How far in the future `iat` and `nbf` may be, in seconds; default: 30. */
  readonly clockSkewSeconds?: number;
}

/** {@link ForeignSettings} as read. */
export interface CompleteForeignSettings extends Omit<Complete<ForeignSettings>, "user" | "jwks"> {
  readonly kind: "foreign";
  /** The name of both the driver and its guard. */
  readonly name: string;
  readonly issuer: string;
  readonly audience: string;
  readonly jwks: URL;
  readonly user: UserOfClaims | null;
  /** Another issuer's token is never read from the query (RFC 6750 §5.3). */
  readonly tokenInQuery: false;
}

const USUAL_ALGORITHMS: readonly JwtAlgorithm[] = ["ES256", "ES384", "ES512", "RS256", "PS256", "EdDSA", "Ed25519"];
const USUAL_TYPE = "at+jwt";

const JWKS: Setting<URL, string | URL> = setting({
  what: 'the https address of a JWK Set: "https://id.example/.well-known/jwks.json"',
  accept: (value) => {
    const url = value instanceof URL ? new URL(value) : typeof value === "string" ? URL.parse(value) : null;
    if (url === null || url.username !== "" || url.password !== "" || url.hash !== "") return undefined;
    return url.protocol === "https:" || isHttpHere(url) ? url : undefined;
  },
});

const SCHEMA = settings<ForeignSettings>()(
  {
    issuer: text(),
    audience: text(),
    jwks: JWKS,
    ca: text(null),
    model: setting<AuthenticatableClass>({
      what: "the class of your users: User",
      accept: (value) => (Auth.isUserClass(value) ? value : undefined),
      code: "E_INVALID_MODEL",
    }),
    algorithms: derived(listOf('a list of algorithms: ["ES256"]', oneOf(PAIR_ALGORITHMS), []), (list) =>
      list.length === 0 ? USUAL_ALGORITHMS : list,
    ),
    typ: setting<string | null, string>({
      what: 'a type, such as "at+jwt" or "JWT", or null for any',
      takesNull: true,
      accept: (value) => (value === null || (typeof value === "string" && value !== "") ? value : undefined),
      fallback: USUAL_TYPE,
    }),
    user: shape("a function that finds the user: (claims) => …", isFunction, null),
    clockSkewSeconds: integer({ from: 1, to: 600, unit: "seconds" }, 30),
  },
  {
    check({ jwks, ca }, refuse) {
      if (ca === null || jwks.protocol === "https:") return;
      throw refuse("ca", "is set, although jwks is not https.", "Leave it out, or write the address with https.");
    },
  },
);

/** Reports whether an entry of `DRIVERS` is about another issuer's tokens. */
export function isForeign(entry: Readonly<Record<string, unknown>>): boolean {
  return Object.hasOwn(entry, "jwks");
}

/**
 * Reads an entry of `DRIVERS` about another issuer's tokens.
 *
 * @param where the location of the entry, for messages
 * @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL`
 */
export function readForeignDriver(name: string, entry: unknown, where: string): CompleteForeignSettings {
  return Object.freeze({ ...SCHEMA.read(entry, where), kind: "foreign", name, tokenInQuery: false });
}

/** @throws `E_INVALID_CONFIGURATION` if an issuer's keys would be fetched without encryption in production */
export function requireHttps({ jwks }: CompleteForeignSettings, where: string): void {
  if (jwks.protocol === "https:") return;
  const problem = "is not https: others could replace the keys on their way.";
  throw new ConfigurationError(`${where}.jwks`, problem, "Write the address with https.");
}

function isHttpHere({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && isLoopbackAddress(withoutBrackets(hostname));
}

function isFunction(value: unknown): value is UserOfClaims {
  return typeof value === "function";
}
