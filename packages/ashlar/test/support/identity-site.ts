import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT } from "jose";
import { type IssuerKey, issuerKey } from "./token-issuer.ts";

export const CLIENT_ID = "the-shop";
export const CLIENT_SECRET = "a secret of the shop";

type Claims = Readonly<Record<string, unknown>>;

/** A login that the site's user has allowed. */
interface Grant {
  readonly redirectUri: string | null;
  readonly challenge: string | null;
  readonly nonce: string | null;
  readonly claims: Claims;
  isUsed: boolean;
}

/**
 * A site with accounts, on loopback, which can be made to lie: an OpenID provider, and an OAuth server with a profile. It has no pages:
 * tests say who is logged in there.
 */
export class IdentitySite {
  readonly issuer: string;
  readonly key: IssuerKey = issuerKey("first");
  /** The requests that it got: `POST /token`. */
  readonly requests: string[] = [];
  /** The fields of the last request for tokens, and its headers. */
  lastToken: { fields: URLSearchParams; headers: IncomingMessage["headers"] } | null = null;
  /** Changes the metadata. */
  metadata: (usual: Claims) => Claims = (usual) => usual;
  /** Changes the claims of ID tokens. */
  claims: (usual: Claims) => Claims = (usual) => usual;
  /** Changes the response with the tokens. */
  tokens: (usual: Claims) => Claims = (usual) => usual;
  /** The key that it signs with. */
  signer: IssuerKey = this.key;
  /** What the profile's URLs respond with, by path. */
  profile: Readonly<Record<string, unknown>> = {};
  /** Responds itself; returns whether it did. */
  respond: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly #server: Server;
  readonly #grants = new Map<string, Grant>();

  private constructor(server: Server) {
    this.#server = server;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<IdentitySite> {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const site = new IdentitySite(server);
    server.on("request", (request, response) => void site.#answer(request, response));
    return site;
  }

  async end(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => void this.#server.close(resolve));
  }

  /** Stops lying. */
  reset(): void {
    this.metadata = (usual) => usual;
    this.claims = (usual) => usual;
    this.tokens = (usual) => usual;
    this.signer = this.key;
    this.profile = {};
    this.respond = () => false;
    this.requests.length = 0;
  }

  /**
   * Its user allows a login.
   *
   * @param url where the application has sent the user
   * @param claims what the site says about the user
   * @returns the parameters that the user comes back with
   */
  allow(url: string, claims: Claims): URLSearchParams {
    const { searchParams: asked } = new URL(url);
    const code = randomUUID();
    this.#grants.set(code, {
      redirectUri: asked.get("redirect_uri"),
      challenge: asked.get("code_challenge"),
      nonce: asked.get("nonce"),
      claims,
      isUsed: false,
    });
    return new URLSearchParams({ code, state: asked.get("state") ?? "", iss: this.issuer });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url!, this.issuer);
    this.requests.push(`${request.method} ${pathname}`);
    if (this.respond(request, response)) return;
    const json = (status: number, value: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    if (pathname === "/.well-known/openid-configuration") return void json(200, this.metadata(this.#metadata));
    if (pathname === "/jwks") return void json(200, { keys: [this.key.jwk] });
    if (pathname === "/token") return void (await this.#issue(request, json));
    if (pathname === "/revoke") return void response.writeHead(200).end();
    if (Object.hasOwn(this.profile, pathname)) return void json(200, this.profile[pathname]);
    response.writeHead(404).end();
  }

  async #issue(request: IncomingMessage, json: (status: number, value: unknown) => unknown): Promise<void> {
    const fields = new URLSearchParams(await textOf(request));
    this.lastToken = { fields, headers: request.headers };
    if (fields.get("grant_type") === "refresh_token") {
      return void json(200, this.tokens({ access_token: randomUUID(), token_type: "bearer", expires_in: 3600 }));
    }
    const grant = this.#grants.get(fields.get("code") ?? "");
    const verifier = createHash("sha256")
      .update(fields.get("code_verifier") ?? "")
      .digest("base64url");
    const holds = grant?.isUsed === false && grant.challenge === verifier;
    if (!holds || grant.redirectUri !== fields.get("redirect_uri")) return void json(400, { error: "invalid_grant" });
    grant.isUsed = true;
    const { nonce, claims } = grant;
    const usual = { iss: this.issuer, aud: CLIENT_ID, ...(nonce !== null && { nonce }), ...claims };
    const { exp, ...said } = this.claims(usual) as { readonly exp?: number };
    const token = await new SignJWT(said)
      .setProtectedHeader({ alg: this.signer.alg, kid: this.signer.kid })
      .setIssuedAt()
      .setExpirationTime(exp ?? "5m")
      .sign(this.signer.privateKey);
    json(200, this.tokens({ access_token: randomUUID(), token_type: "bearer", expires_in: 3600, id_token: token }));
  }

  get #metadata(): Claims {
    const { issuer } = this;
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      revocation_endpoint: `${issuer}/revoke`,
      authorization_response_iss_parameter_supported: true,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
      code_challenge_methods_supported: ["S256"],
    };
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
}
