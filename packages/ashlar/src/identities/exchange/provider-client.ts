import type * as OpenIdClient from "openid-client";
import { optionalPackage } from "../../database/index.ts";
import { now } from "../../support/index.ts";
import type { IdentityClaims, ProvidedUser } from "../providers/identity-provider.ts";
import type { NamedProvider } from "../settings.ts";
import { ProviderDown, ProviderRefusal } from "./failures.ts";
import { sendToProvider } from "./outgoing.ts";

/** How long a provider's metadata is used, in milliseconds. */
const METADATA_MS = 60 * 60_000;

/** What a visitor takes to the provider, and the request that they come back with has to match. */
export interface Taken {
  readonly state: string;
  readonly nonce: string;
  /** The verifier of PKCE (RFC 7636). */
  readonly verifier: string;
  /** Whether the user has to log in there again. */
  readonly confirms: boolean;
}

/** A user as a provider has just confirmed. */
export interface ConfirmedIdentity extends ProvidedUser {
  readonly issuer: string;
  readonly claims: IdentityClaims;
}

/** Sends requests to providers. */
export type SendToProvider = typeof sendToProvider;

/**
 * One provider, by the package `openid-client`, which is loaded when it is first used. It verifies states, issuers (RFC 9207), and ID
 * tokens with their signatures.
 */
export class ProviderClient {
  readonly provider: NamedProvider;
  readonly #send: () => SendToProvider;
  #loaded: Promise<typeof OpenIdClient> | null = null;
  #configured: Promise<OpenIdClient.Configuration> | null = null;
  #configuredAt = 0;

  /** @param send returns what sends the requests; tests replace it */
  constructor(provider: NamedProvider, send: () => SendToProvider = () => sendToProvider) {
    this.provider = provider;
    this.#send = send;
  }

  /**
   * Where a visitor goes.
   *
   * @param redirectUri where they come back to
   * @throws {@link ProviderDown} if the provider's metadata can't be fetched; `E_MISSING_PACKAGE`
   */
  async authorizationUrl(redirectUri: string, { state, nonce, verifier, confirms }: Taken): Promise<URL> {
    const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await this.#load();
    return this.#url(redirectUri, {
      state,
      nonce,
      confirms,
      challenge: await calculatePKCECodeChallenge(verifier),
      build: buildAuthorizationUrl,
    });
  }

  /** As {@link authorizationUrl}, for an app that keeps its verifier. */
  async urlForApp(
    redirectUri: string,
    taken: Pick<Taken, "state" | "nonce"> & { readonly challenge: string },
  ): Promise<URL> {
    const { buildAuthorizationUrl } = await this.#load();
    return this.#url(redirectUri, { ...taken, confirms: false, build: buildAuthorizationUrl });
  }

  /**
   * Exchanges the code that a visitor came back with.
   *
   * @param url where they came back to, with the parameters that they brought
   * @throws {@link ProviderRefusal} if it doesn't confirm who the visitor is; {@link ProviderDown} if it can't be reached
   */
  async identify(url: URL, taken: Taken): Promise<ConfirmedIdentity> {
    const client = await this.#load();
    const { provider } = this;
    const configuration = await this.configuration();
    const isOpenId = provider.endpoints === null;
    // Without metadata, its issuer isn't known. Each provider has its own URL to come back to.
    if (!isOpenId) url.searchParams.delete("iss");
    return this.#attempt(async () => {
      const tokens = await client.authorizationCodeGrant(configuration, url, {
        expectedState: taken.state,
        pkceCodeVerifier: taken.verifier,
        idTokenExpected: isOpenId,
        ...(isOpenId && provider.repeatsNonce && { expectedNonce: taken.nonce }),
        ...(taken.confirms && { maxAge: 0 }),
      });
      const claims = isOpenId
        ? await this.#openIdClaims(configuration, tokens)
        : await this.#profile(tokens.access_token, provider.endpoints!.userUrl);
      return this.#identityFrom(claims, tokens.access_token);
    });
  }

  /** The provider's metadata, fetched at most once an hour. @throws {@link ProviderDown}; `E_MISSING_PACKAGE` */
  async configuration(): Promise<OpenIdClient.Configuration> {
    const age = now() - this.#configuredAt;
    if (this.#configured !== null && age >= 0 && age < METADATA_MS) return this.#configured;
    this.#configuredAt = now();
    const configured = this.#configure();
    this.#configured = configured;
    configured.catch(() => {
      if (this.#configured === configured) this.#configured = null;
    });
    return configured;
  }

  async #url(
    redirectUri: string,
    taken: Omit<Taken, "verifier"> & {
      readonly challenge: string;
      readonly build: typeof OpenIdClient.buildAuthorizationUrl;
    },
  ): Promise<URL> {
    const { parameters, repeatsNonce, scopes, usesFormPost } = this.provider;
    const configuration = await this.configuration();
    return taken.build(configuration, {
      ...parameters,
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
      redirect_uri: redirectUri,
      state: taken.state,
      ...(repeatsNonce && { nonce: taken.nonce }),
      code_challenge: taken.challenge,
      code_challenge_method: "S256",
      ...(usesFormPost && { response_mode: "form_post" }),
      ...(taken.confirms && { prompt: "login", max_age: "0" }),
    });
  }

  async #configure(): Promise<OpenIdClient.Configuration> {
    const client = await this.#load();
    const { clientId, endpoints, issuer, options } = this.provider;
    const isInternal = options.isInternal === true;
    const fetch = ((url: string, request: object) =>
      this.#send()(url, request, isInternal)) as OpenIdClient.CustomFetch;
    const insecure = isInternal ? [client.allowInsecureRequests] : [];
    if (endpoints === null) {
      return this.#attempt(() => {
        const execute = [...insecure, client.enableNonRepudiationChecks];
        const given = { [client.customFetch]: fetch, execute, timeout: 10 };
        return client.discovery(new URL(issuer), clientId, {}, this.#authentication(client), given);
      }, ProviderDown);
    }
    const { authorizationUrl, tokenUrl, revocationUrl } = endpoints;
    const metadata = {
      issuer,
      authorization_endpoint: authorizationUrl,
      token_endpoint: tokenUrl,
      ...(revocationUrl !== undefined && { revocation_endpoint: revocationUrl }),
    };
    const configuration = new client.Configuration(metadata, clientId, {}, this.#authentication(client));
    configuration[client.customFetch] = fetch;
    for (const extension of insecure) extension(configuration);
    return configuration;
  }

  #authentication(client: typeof OpenIdClient): OpenIdClient.ClientAuth {
    const { clientSecret, tokenAuth } = this.provider;
    if (clientSecret === null) return client.None();
    if (typeof clientSecret === "string") {
      return tokenAuth === "basic" ? client.ClientSecretBasic(clientSecret) : client.ClientSecretPost(clientSecret);
    }
    return (server, metadata, body, headers) => {
      client.ClientSecretPost(clientSecret())(server, metadata, body, headers);
    };
  }

  async #openIdClaims(
    configuration: OpenIdClient.Configuration,
    tokens: Awaited<ReturnType<typeof OpenIdClient.authorizationCodeGrant>>,
  ): Promise<IdentityClaims> {
    const claims = tokens.claims()!;
    // One audience may be this application although the token was issued to another one (OpenID Connect Core §3.1.3.7).
    if (claims.azp !== undefined && claims.azp !== this.provider.clientId) throw new ProviderRefusal("azp");
    const isComplete = claims.email !== undefined && claims.name !== undefined;
    if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    const { fetchUserInfo } = await this.#load();
    const more = await fetchUserInfo(configuration, tokens.access_token, claims.sub);
    // What is signed comes first.
    return { ...more, ...claims };
  }

  async #profile(accessToken: string, url: string): Promise<IdentityClaims> {
    const profile = await this.#read(accessToken, url);
    if (typeof profile !== "object" || profile === null) throw new ProviderRefusal("profile");
    return profile as IdentityClaims;
  }

  async #read(accessToken: string, url: string): Promise<unknown> {
    const headers = { accept: "application/json", authorization: `Bearer ${accessToken}`, "user-agent": "ashlar" };
    const response = await this.#send()(url, { headers }, this.provider.options.isInternal === true);
    if (response.status !== 200) throw new ProviderRefusal(`profile: status ${response.status}`);
    return response.json();
  }

  async #identityFrom(claims: IdentityClaims, accessToken: string): Promise<ConfirmedIdentity> {
    const { accepts, endpoints, issuer, read } = this.provider;
    if (accepts?.(claims) === false) throw new ProviderRefusal("accepts", true);
    const user = await read(claims, (url) => this.#read(accessToken, url));
    if (user === null || user.subject === "" || user.subject.length > 255) throw new ProviderRefusal("subject");
    return {
      ...user,
      // A tenant's tokens name the tenant, which the settings may not.
      issuer: endpoints === null && typeof claims.iss === "string" ? claims.iss : issuer,
      claims,
    };
  }

  async #load(): Promise<typeof OpenIdClient> {
    this.#loaded ??= optionalPackage("openid-client", "IdentitiesProvider", () => import("openid-client"));
    this.#loaded.catch(() => {
      this.#loaded = null;
    });
    return this.#loaded;
  }

  async #attempt<T>(
    work: () => Promise<T>,
    Failure: typeof ProviderDown | typeof ProviderRefusal = ProviderRefusal,
  ): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ProviderRefusal || error instanceof ProviderDown) throw error;
      const { code, error: said } = error as { readonly code?: unknown; readonly error?: unknown };
      const reason = [code, said].filter((one) => typeof one === "string").join(" ");
      // The client's own errors have such a code; anything else comes from the network.
      const isAnswer = typeof code === "string" && code.startsWith("OAUTH_") && code !== "OAUTH_TIMEOUT";
      if (!isAnswer || Failure === ProviderDown) throw new ProviderDown((error as Error).message, { cause: error });
      throw new ProviderRefusal(reason, false, { cause: error });
    }
  }
}
