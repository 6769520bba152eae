import { ConfigurationError, isPlainObject, listOf, settings, shape, textLike } from "../support/index.ts";
import type { IdentityProvider } from "./providers/identity-provider.ts";

const WHERE = "config/identities.ts: IDENTITIES";
const NAME = /^[a-z][a-z\d]*(?:-[a-z\d]+)*$/;
const MAX_NAME = 40;

/** `IDENTITIES` in `config/identities.ts`: the sites whose users can log in with their accounts there. */
export interface IdentitiesSettings {
  /** By the name that routes have: `{ google: google({ … }) }` is at `/login/with/google`. */
  readonly providers: Readonly<Record<string, IdentityProvider>>;
  /**
   * Where apps are sent back by providers: links that open the app, or its own schemes, which must be registered at the providers,
   * too: `["https://shop.example/app", "com.example.shop:/back"]`. Default: none, so apps can't log in.
   */
  readonly appRedirects?: readonly string[];
}

/** A provider that can be used, with its name. */
export interface NamedProvider extends IdentityProvider {
  readonly name: string;
  readonly clientId: string;
}

const SCHEMA = settings<IdentitiesSettings>()({
  providers: shape(
    'providers by name: { google: google({ clientId: env("GOOGLE_CLIENT_ID"), … }) }',
    (value): value is IdentitiesSettings["providers"] => isPlainObject(value),
  ),
  appRedirects: listOf(
    'a list of URLs: ["com.example.shop:/back"]',
    textLike("a URL", /^[a-z][a-z\d+.-]*:[^\s?#]+$/),
    [],
  ),
});

/**
 * Reads `IDENTITIES`. Providers without a client ID and a secret are left out.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readIdentitiesSettings(value: unknown): {
  readonly providers: readonly NamedProvider[];
  readonly appRedirects: readonly string[];
} {
  const { appRedirects, providers } = SCHEMA.read(value ?? { providers: {} }, WHERE);
  const read = Object.entries(providers).map(([name, provider]) => namedProvider(name, provider));
  return { appRedirects, providers: read.filter((one): one is NamedProvider => one !== null) };
}

function namedProvider(name: string, provider: IdentityProvider): NamedProvider | null {
  const where = `${WHERE}.providers.${name}`;
  const refuse = (problem: string, remedy: string) => new ConfigurationError(where, problem, remedy);
  if (!NAME.test(name) || name.length > MAX_NAME) {
    throw refuse("is not a name that a URL can have.", "Write lower-case letters, digits and single hyphens: my-site.");
  }
  if (!isPlainObject(provider) || typeof provider.read !== "function") {
    throw refuse(
      "is not a provider.",
      'Write google({ … }), openId({ … }) or another function of "ashlar/identities".',
    );
  }
  const { clientId } = provider.options;
  const hasSecret = provider.clientSecret !== null;
  if (!clientId && !hasSecret) return null;
  if (!clientId)
    throw refuse("has a secret, but no clientId.", "Set clientId to what the provider shows for your application.");
  if (!hasSecret && !provider.isPublic) {
    throw refuse("has a clientId, but no secret.", "Set the secret that the provider shows for your application.");
  }
  for (const url of urlsOf(provider)) checkUrl(url, provider, refuse);
  return Object.freeze({ ...provider, name, clientId });
}

function urlsOf({ issuer, endpoints }: IdentityProvider): readonly string[] {
  return [issuer, ...Object.values(endpoints ?? {})];
}

function checkUrl(
  url: string,
  { options }: IdentityProvider,
  refuse: (problem: string, remedy: string) => ConfigurationError,
): void {
  const { protocol = null } = URL.parse(url) ?? {};
  if (protocol === "https:" || (protocol === "http:" && options.isInternal === true)) return;
  if (protocol === "http:") {
    throw refuse(
      `${url} is not an https: URL.`,
      "Use https:, or set isInternal: true for a provider in a private network.",
    );
  }
  throw refuse(`${JSON.stringify(url)} is not a URL.`, "Write an absolute URL: https://id.example.com.");
}
