import type { MaybePromise, Optional } from "../../support/index.ts";
import {
  commonOf,
  type IdentityClaims,
  type IdentityProvider,
  type ProvidedUser,
  type ProviderEndpoints,
  type ProviderOptions,
  type ReadProvider,
  type SecretProviderOptions,
  textIn,
} from "./identity-provider.ts";

/** Settings of {@link oauth2}. */
export interface OAuth2Options extends ProviderOptions, ProviderEndpoints {
  readonly clientSecret: Optional<string>;
  /** How the secret is sent: in the form, the default, or by HTTP Basic. */
  readonly tokenAuth?: "post" | "basic";
  /** What identities are stored under; default: the origin of `authorizationUrl`. If it changes, no user is found. */
  readonly issuer?: string;
  /**
   * Reads what the site says about a user.
   *
   * Security: `isVerified` must be `true` only if the site has made sure that the address is the user's.
   *
   * @param user the JSON at `userUrl`
   * @param fetch fetches other JSON there, with the user's access token
   * @returns `null` if the user can't log in
   */
  readonly read: (user: IdentityClaims, fetch: ReadProvider) => MaybePromise<ProvidedUser | null>;
}

/**
 * A site with OAuth 2.0 and without OpenID Connect:
 *
 * ```ts
 * const example = oauth2({
 *   label: "Example",
 *   authorizationUrl: "https://example.com/oauth/authorize",
 *   tokenUrl: "https://example.com/oauth/token",
 *   userUrl: "https://api.example.com/me",
 *   clientId: env("EXAMPLE_ID"),
 *   clientSecret: env("EXAMPLE_SECRET"),
 *   scopes: ["profile"],
 *   read: (user) => ({ subject: String(user.id), email: null, isVerified: false, name: String(user.name) }),
 * });
 * ```
 */
export function oauth2(options: OAuth2Options): IdentityProvider {
  const {
    authorizationUrl,
    tokenUrl,
    userUrl,
    revocationUrl,
    issuer,
    clientSecret,
    tokenAuth = "post",
    read,
    ...common
  } = options;
  const origin = URL.parse(authorizationUrl)?.origin ?? authorizationUrl;
  return Object.freeze({
    ...commonOf(common, URL.parse(authorizationUrl)?.hostname ?? "OAuth"),
    issuer: issuer ?? origin,
    endpoints: { authorizationUrl, tokenUrl, userUrl, ...(revocationUrl !== undefined && { revocationUrl }) },
    clientSecret: clientSecret || null,
    isPublic: false,
    tokenAuth,
    scopes: [...new Set(options.scopes ?? [])],
    usesFormPost: false,
    repeatsNonce: false,
    confirms: false,
    read,
  } satisfies IdentityProvider);
}

/** GitHub accounts. The address is the primary one, if it is verified. */
export function github({ scopes = [], ...options }: SecretProviderOptions): IdentityProvider {
  return oauth2({
    label: "GitHub",
    authorizationUrl: "https://github.com/login/oauth/authorize",
    tokenUrl: "https://github.com/login/oauth/access_token",
    userUrl: "https://api.github.com/user",
    ...options,
    scopes: ["read:user", "user:email", ...scopes],
    async read(user, fetch) {
      const emails = await fetch("https://api.github.com/user/emails");
      const all = (Array.isArray(emails) ? emails : []) as readonly IdentityClaims[];
      const primary = all.find((one) => one?.primary === true && one.verified === true);
      const email = primary === undefined ? null : textIn(primary, "email");
      return numbered(user, { email, isVerified: email !== null, name: textIn(user, "name") ?? textIn(user, "login") });
    },
  });
}

/** Discord accounts. */
export function discord({ scopes = [], ...options }: SecretProviderOptions): IdentityProvider {
  return oauth2({
    label: "Discord",
    authorizationUrl: "https://discord.com/oauth2/authorize",
    tokenUrl: "https://discord.com/api/oauth2/token",
    userUrl: "https://discord.com/api/users/@me",
    revocationUrl: "https://discord.com/api/oauth2/token/revoke",
    ...options,
    scopes: ["identify", "email", ...scopes],
    read: (user) =>
      numbered(user, {
        email: textIn(user, "email"),
        isVerified: user.verified === true,
        name: textIn(user, "global_name") ?? textIn(user, "username"),
      }),
  });
}

/** Facebook accounts. Facebook doesn't say whether an address is verified, so it never counts as that. */
export function facebook({ scopes = [], ...options }: SecretProviderOptions): IdentityProvider {
  return oauth2({
    label: "Facebook",
    authorizationUrl: "https://www.facebook.com/v23.0/dialog/oauth",
    tokenUrl: "https://graph.facebook.com/v23.0/oauth/access_token",
    userUrl: "https://graph.facebook.com/v23.0/me?fields=id,name,email",
    ...options,
    scopes: ["public_profile", "email", ...scopes],
    read: (user) => numbered(user, { email: textIn(user, "email"), isVerified: false, name: textIn(user, "name") }),
  });
}

/** Keys are numbers, or texts with digits. */
function numbered({ id }: IdentityClaims, user: Omit<ProvidedUser, "subject">): ProvidedUser | null {
  const subject = Number.isSafeInteger(id) ? String(id) : typeof id === "string" && /^\d{1,30}$/.test(id) ? id : null;
  return subject === null ? null : { subject, ...user };
}
