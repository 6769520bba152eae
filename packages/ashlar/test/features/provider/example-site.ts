import type { Configuration } from "ashlar";
import { tryVerifyJwt, VerificationKey } from "ashlar/jwt";
import { type Complete, settings, text } from "ashlar/settings";

/** The shape of `EXAMPLE_SITE` in `config/example_site.ts`. */
export interface ExampleSiteSettings {
  /** The site's address. */
  readonly issuer: string;
  /** The name under which the site knows this application. */
  readonly clientId: string;
  /** The public key that the site signs with (Ed25519), as PEM. */
  readonly publicKey: string;
}

const SCHEMA = settings<ExampleSiteSettings>()({ issuer: text(), clientId: text(), publicKey: text() });

/** What the site says about one of its users. */
export interface SiteIdentity {
  /** Its own key for the user, which never changes. */
  readonly subject: string;
  readonly email: string;
  readonly name: string;
  /** Whether the site has verified the address. */
  readonly isVerified: boolean;
}

/** The other site, as an OpenID provider (OpenID Connect Core §3.1). */
export class ExampleSite {
  readonly #settings: Complete<ExampleSiteSettings>;
  readonly #key: VerificationKey;

  readonly #callback: () => string;

  /** @param callback returns the URL where the site sends visitors back */
  constructor(config: Configuration, callback: () => string) {
    this.#callback = callback;
    const { EXAMPLE_SITE } = config.section("example_site", ["EXAMPLE_SITE"]);
    this.#settings = SCHEMA.read(EXAMPLE_SITE, "config/example_site.ts: EXAMPLE_SITE");
    this.#key = new VerificationKey("EdDSA", this.#settings.publicKey);
  }

  /** Where the visitor goes to log in there. */
  authorizationUrl(state: string, nonce: string): string {
    const { clientId, issuer } = this.#settings;
    const request = { response_type: "code", scope: "openid email profile", client_id: clientId };
    return `${issuer}/authorize?${new URLSearchParams({ ...request, redirect_uri: this.#callback(), state, nonce })}`;
  }

  /**
   * Exchanges the code that the visitor has brought.
   *
   * @param nonce the one that the visitor took there
   * @returns `null` if the site doesn't confirm it
   */
  async identityOf(code: string, nonce: string): Promise<SiteIdentity | null> {
    const { clientId, issuer } = this.#settings;
    const body = new URLSearchParams({ grant_type: "authorization_code", client_id: clientId, code });
    const response = await fetch(`${issuer}/token`, { method: "POST", body });
    if (!response.ok) return null;
    const { id_token: token } = Object(await response.json()) as { readonly id_token?: unknown };
    const rules = { issuer, audience: clientId, requireExpiry: true, requireSubject: true };
    const outcome = typeof token === "string" ? tryVerifyJwt(token, this.#key, rules) : { failure: "malformed" };
    if (!("claims" in outcome) || outcome.claims.nonce !== nonce) return null;
    const { sub, email, name, email_verified } = outcome.claims;
    if (typeof sub !== "string" || typeof email !== "string") return null;
    return { subject: sub, email, name: typeof name === "string" ? name : email, isVerified: email_verified === true };
  }
}
