import type { MaybePromise, Optional } from "../../support/index.ts";

/** The claims of an ID token, or the members of a user's profile. */
export type IdentityClaims = Readonly<Record<string, unknown>>;

/** What a provider says about one of its users. */
export interface ProvidedUser {
  /** Its own key for the user, which never changes, and is never another user's. */
  readonly subject: string;
  /** `null` if it doesn't tell. */
  readonly email: string | null;
  /** Whether it has verified that the address is the user's. Providers where users choose this value never say so. */
  readonly isVerified: boolean;
  /** `null` if it doesn't tell. */
  readonly name: string | null;
}

/** Settings that every provider has. */
export interface ProviderOptions {
  /** The application's name there. Without it and the secret, the provider is left out. */
  readonly clientId: Optional<string>;
  /** The name that visitors know the provider by: `Example`. Default: as it calls itself. */
  readonly label?: string;
  /** Scopes to ask for, besides those that a login needs. */
  readonly scopes?: readonly string[];
  /** Further parameters of the request that visitors are sent there with: `{ prompt: "select_account" }`. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Whether someone without an account gets one; default: `true`. Otherwise, only users who have connected it log in. */
  readonly registers?: Optional<boolean>;
  /** The domains that new accounts' addresses must be at: `["example.com"]`. Default: any. */
  readonly domains?: readonly string[];
  /** Values of further columns of new accounts. Default: the name. */
  readonly attributes?: (claims: IdentityClaims) => Readonly<Record<string, unknown>>;
  /** Whether the provider is in a private network: requests go to private addresses, and by `http:` too. Default: `false`. */
  readonly isInternal?: Optional<boolean>;
}

/** {@link ProviderOptions} of a provider with a secret. */
export interface SecretProviderOptions extends ProviderOptions {
  readonly clientSecret: Optional<string>;
}

/** The endpoints of a provider without discovery. */
export interface ProviderEndpoints {
  readonly authorizationUrl: string;
  readonly tokenUrl: string;
  readonly userUrl: string;
  /** Where tokens are revoked (RFC 7009); left out if they can't be. */
  readonly revocationUrl?: string;
}

/** Fetches JSON from a provider, with the user's access token. */
export type ReadProvider = (url: string) => Promise<unknown>;

/**
 * A site whose users can log in with their accounts there, as data. `google()`, `openId()`, `oauth2()` and the like make it;
 * `config/identities.ts` lists it.
 */
export interface IdentityProvider {
  readonly options: ProviderOptions;
  readonly label: string;
  /**
   * The issuer, whose metadata is found by discovery (OpenID Connect Discovery 1.0); for a provider without it, the name that identities
   * are stored under.
   */
  readonly issuer: string;
  /** `null` for an OpenID provider. */
  readonly endpoints: ProviderEndpoints | null;
  /** The secret, or what makes one for each request; `null` if it isn't set. */
  readonly clientSecret: string | (() => string) | null;
  /** Whether it knows the application as a public client, which has no secret. */
  readonly isPublic: boolean;
  /** How the secret is sent: in the form, or by HTTP Basic (RFC 6749 §2.3.1). */
  readonly tokenAuth: "post" | "basic";
  readonly scopes: readonly string[];
  readonly parameters: Readonly<Record<string, string>>;
  /** Whether visitors come back with a POST (OAuth 2.0 Form Post Response Mode), as from Apple. */
  readonly usesFormPost: boolean;
  /** Whether its ID tokens repeat the nonce. Without that, PKCE alone binds the code to the visitor. */
  readonly repeatsNonce: boolean;
  /** Whether it asks users to log in again when it is told to, and says when they did (`auth_time`). */
  readonly confirms: boolean;
  /** Refuses users, such as those of other tenants; default: none. */
  readonly accepts?: (claims: IdentityClaims) => boolean;
  /** Reads what it says about a user: the claims of the ID token, or the profile at `userUrl`. */
  readonly read: (claims: IdentityClaims, fetch: ReadProvider) => MaybePromise<ProvidedUser | null>;
}

/** Text of at most 255 characters, or `null`. */
export function textIn(claims: IdentityClaims, name: string): string | null {
  const value = claims[name];
  return typeof value === "string" && value !== "" && value.length <= 255 && value.isWellFormed() ? value : null;
}

/** Reads the standard claims (OpenID Connect Core §5.1). */
export function standardUser(claims: IdentityClaims, isVerified: boolean): ProvidedUser | null {
  const subject = textIn(claims, "sub");
  if (subject === null) return null;
  return { subject, email: textIn(claims, "email"), isVerified, name: textIn(claims, "name") };
}

/** What the functions that make providers have in common. */
export function commonOf(
  options: ProviderOptions,
  label: string,
): Pick<IdentityProvider, "options" | "label" | "parameters"> {
  return { options, label: options.label ?? label, parameters: options.parameters ?? {} };
}
