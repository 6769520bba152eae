import {
  commonOf,
  type IdentityClaims,
  type IdentityProvider,
  type ProviderOptions,
  type SecretProviderOptions,
  standardUser,
} from "./identity-provider.ts";

/** Settings of {@link openId}. */
export interface OpenIdOptions extends ProviderOptions {
  /** The issuer's identifier, as its metadata has it: `https://id.example.com`. */
  readonly issuer: string;
  /** The secret; `null` for a public client, which the provider knows without one. */
  readonly clientSecret: string | null | undefined;
  /** How the secret is sent: in the form, the default, or by HTTP Basic, if the provider accepts only that. */
  readonly tokenAuth?: "post" | "basic";
  /**
   * Whether `email_verified` counts. Set it to `false` if the provider's users or tenants choose their addresses without proof.
   * Default: `true`.
   */
  readonly trustsEmail?: boolean;
}

/** What OpenID providers differ in. */
interface OpenIdRules
  extends Partial<
    Pick<IdentityProvider, "accepts" | "usesFormPost" | "repeatsNonce" | "confirms" | "isPublic" | "tokenAuth">
  > {
  readonly isVerified?: (claims: IdentityClaims) => boolean;
  readonly clientSecret: IdentityProvider["clientSecret"];
  readonly scopes?: readonly string[];
}

/** Makes an OpenID provider. */
export function openIdProvider(
  issuer: string,
  label: string,
  options: ProviderOptions,
  { isVerified = saysVerified, clientSecret, scopes = ["openid", "email", "profile"], ...rules }: OpenIdRules,
): IdentityProvider {
  return Object.freeze({
    ...commonOf(options, label),
    issuer,
    endpoints: null,
    clientSecret,
    scopes: [...new Set([...scopes, ...(options.scopes ?? [])])],
    isPublic: false,
    tokenAuth: "post",
    usesFormPost: false,
    repeatsNonce: true,
    confirms: true,
    ...rules,
    read: (claims) => standardUser(claims, isVerified(claims)),
  } satisfies IdentityProvider);
}

/** `email_verified`, which some providers write as text. */
export function saysVerified({ email_verified: isVerified }: IdentityClaims): boolean {
  return isVerified === true || isVerified === "true";
}

/**
 * Any OpenID Connect provider, whose endpoints and keys are found by discovery:
 *
 * ```ts
 * const acme = openId({ issuer: "https://id.acme.example", clientId: env("ACME_ID"), clientSecret: env("ACME_SECRET") });
 * ```
 *
 * Security: an address counts as verified if the provider says so. Set `trustsEmail: false` for a provider that lets its users
 * or tenants choose it.
 */
export function openId({
  issuer,
  clientSecret,
  trustsEmail = true,
  tokenAuth = "post",
  ...options
}: OpenIdOptions): IdentityProvider {
  const label = options.label ?? URL.parse(issuer)?.hostname ?? issuer;
  return openIdProvider(issuer, label, options, {
    clientSecret: clientSecret || null,
    isPublic: clientSecret === null,
    tokenAuth,
    ...(!trustsEmail && { isVerified: () => false }),
  });
}

/** Google accounts. Addresses count if they are Google's own, or those of a Workspace (`hd`): others may have a new owner. */
export function google({ clientSecret, ...options }: SecretProviderOptions): IdentityProvider {
  const isVerified = (claims: IdentityClaims) => {
    const isOwn = typeof claims.hd === "string" || String(claims.email).toLowerCase().endsWith("@gmail.com");
    return saysVerified(claims) && isOwn;
  };
  // Google sends no auth_time unless an application has asked for it specially.
  const rules = { isVerified, clientSecret: clientSecret || null, confirms: false };
  return openIdProvider("https://accounts.google.com", "Google", options, rules);
}

/** Settings of {@link gitlab}. */
export interface GitlabOptions extends SecretProviderOptions {
  /** The address of your own GitLab; default: `https://gitlab.com`. */
  readonly issuer?: string;
  /** Whether your own GitLab verifies addresses before they count. Default: only gitlab.com does. */
  readonly trustsEmail?: boolean;
}

/** GitLab accounts, at gitlab.com or at your own GitLab. */
export function gitlab({ issuer = GITLAB, clientSecret, trustsEmail, ...options }: GitlabOptions): IdentityProvider {
  const isTrusted = trustsEmail ?? issuer === GITLAB;
  return openIdProvider(issuer, "GitLab", options, {
    clientSecret: clientSecret || null,
    confirms: false,
    ...(!isTrusted && { isVerified: () => false }),
  });
}

const GITLAB = "https://gitlab.com";

/** LinkedIn accounts ("Sign In with LinkedIn using OpenID Connect"). */
export function linkedin({ clientSecret, ...options }: SecretProviderOptions): IdentityProvider {
  // Its ID tokens have neither nonce nor auth_time.
  const rules = { clientSecret: clientSecret || null, repeatsNonce: false, confirms: false };
  return openIdProvider("https://www.linkedin.com/oauth", "LinkedIn", options, rules);
}
