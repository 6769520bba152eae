import { generateKeyPairSync } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
// @ts-expect-error: the package brings no types.
import OidcProvider from "oidc-provider";
import { onTestFinished } from "vitest";

const Provider = OidcProvider as unknown as new (
  issuer: string,
  configuration: object,
) => { callback(): RequestListener };

/** The tokens that the provider issues to a client for a user. */
export interface OidcTokens {
  readonly access_token: string;
  readonly id_token: string;
}

/** A real identity provider on loopback: `oidc-provider`, with a client for users and a machine client. */
export interface OidcServer {
  readonly issuer: string;
  readonly jwks: string;
  /** Logs a user in through the provider's pages, and exchanges the code. */
  login(account: string, resource: string): Promise<OidcTokens>;
  /** The client's own token (RFC 6749 §4.4). */
  machineToken(resource: string): Promise<string>;
}

const CALLBACK = "https://front.example/callback";
const SCOPE = "orders.read orders.write";

/** Starts a provider whose access tokens are JWTs (RFC 9068), until the end of the test. */
export async function startOidcProvider(alg: "ES256" | "RS256" | "PS256" | "EdDSA"): Promise<OidcServer> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, configurationFor(alg));
  server.on("request", provider.callback());
  const post = (path: string, fields: Record<string, string>) =>
    fetch(`${issuer}${path}`, { method: "POST", body: new URLSearchParams(fields) });

  return {
    issuer,
    jwks: `${issuer}/jwks`,
    async login(account, resource) {
      const verifier = "v".repeat(43);
      const code = await codeFor(issuer, account, resource, await challengeOf(verifier));
      const response = await post("/token", {
        grant_type: "authorization_code",
        ...{ client_id: "front", code, redirect_uri: CALLBACK, code_verifier: verifier, resource },
      });
      return (await response.json()) as OidcTokens;
    },
    async machineToken(resource) {
      const credentials = { client_id: "machine", client_secret: "the secret of a machine" };
      const response = await post("/token", {
        grant_type: "client_credentials",
        ...credentials,
        resource,
        scope: SCOPE,
      });
      return ((await response.json()) as OidcTokens).access_token;
    },
  };
}

function configurationFor(alg: "ES256" | "RS256" | "PS256" | "EdDSA"): object {
  const { privateKey } =
    alg === "ES256"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : alg === "EdDSA"
        ? generateKeyPairSync("ed25519")
        : generateKeyPairSync("rsa", { modulusLength: 2048 });
  return {
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kid: "provider", use: "sig", alg }] },
    // The defaults print notices.
    ttl: { AccessToken: 300, ClientCredentials: 300, Grant: 300, IdToken: 300, Interaction: 300, Session: 300 },
    cookies: { keys: ["for the tests alone"] },
    clients: [
      {
        ...{ client_id: "front", token_endpoint_auth_method: "none", id_token_signed_response_alg: alg },
        ...{ redirect_uris: [CALLBACK], response_types: ["code"], grant_types: ["authorization_code"] },
      },
      {
        ...{ client_id: "machine", client_secret: "the secret of a machine", id_token_signed_response_alg: alg },
        ...{ token_endpoint_auth_method: "client_secret_post", redirect_uris: [], response_types: [] },
        grant_types: ["client_credentials"],
      },
    ],
    scopes: ["openid", ...SCOPE.split(" ")],
    findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_: unknown, audience: string) => ({
          ...{ scope: SCOPE, audience, accessTokenFormat: "jwt", jwt: { sign: { alg } } },
        }),
        useGrantedResource: () => true,
      },
    },
    enabledJWA: { idTokenSigningAlgValues: ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"] },
  };
}

async function challengeOf(verifier: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", Buffer.from(verifier));
  return Buffer.from(bytes).toString("base64url");
}

/** Goes through the provider's development pages like a browser: login, consent, and back with a code. */
async function codeFor(issuer: string, account: string, resource: string, challenge: string): Promise<string> {
  const cookies = new Map<string, string>();
  async function visit(url: string, fields?: Record<string, string>): Promise<Response> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const body = fields === undefined ? null : new URLSearchParams(fields);
    const method = body === null ? "GET" : "POST";
    const response = await fetch(url, { method, body, headers: { cookie }, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [name, value] = line.split(";")[0]!.split("=") as [string, string];
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  }
  const query = new URLSearchParams({
    ...{ client_id: "front", response_type: "code", redirect_uri: CALLBACK, scope: `openid ${SCOPE}`, resource },
    ...{ code_challenge: challenge, code_challenge_method: "S256", nonce: "n" },
  });
  let url = `${issuer}/auth?${query}`;
  // Login and consent take three steps each; more would be an endless loop.
  for (let step = 0; step < 12; step++) {
    const response = await visit(url);
    const location = response.headers.get("location");
    if (location === null) {
      const page = await response.text();
      const action = /action="([^"]+)"/.exec(page)?.[1];
      const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1];
      if (action === undefined || prompt === undefined) throw new Error(`Not a page of the provider: ${page}`);
      const next = await visit(action, { prompt, ...(prompt === "login" && { login: account, password: "any" }) });
      url = new URL(next.headers.get("location")!, issuer).href;
    } else {
      url = new URL(location, issuer).href;
    }
    if (url.startsWith(CALLBACK)) return new URL(url).searchParams.get("code")!;
  }
  throw new Error("The provider never came back with a code.");
}
