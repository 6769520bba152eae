import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { SigningKey, signJwt } from "../../src/public/jwt.ts";
import { nowInSeconds } from "../../src/support/index.ts";
import type { TestClient, TestResponse } from "../../src/testing/index.ts";

const CLIENT_ID = "shop";

/** Someone's account at the site. */
export interface SiteAccount {
  readonly sub: string;
  readonly email: string;
  readonly name: string;
  readonly email_verified: boolean;
}

/** Ada's account there. */
export const ADA_THERE: SiteAccount = {
  sub: "site-1",
  email: "ada@example.com",
  name: "Ada",
  email_verified: true,
};

/** The other site: an OpenID provider on loopback, where every visitor is already logged in. */
export class ExampleSiteServer {
  readonly #server: Server;
  readonly #keys = generateKeyPairSync("ed25519");
  readonly #codes = new Map<string, object>();
  /** Claims to put into its tokens, to make them wrong. */
  forged: object = {};

  constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<ExampleSiteServer> {
    const server = createServer();
    const site = new ExampleSiteServer(server);
    server.on("request", async (request, response) => {
      const claims = site.#take(new URLSearchParams(await text(request)).get("code") ?? "");
      response.writeHead(claims === null ? 400 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(claims === null ? { error: "invalid_grant" } : { id_token: site.#sign(claims) }));
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    return site;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => void this.#server.close(resolve));
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The application's settings for the site. */
  get environment(): Readonly<Record<string, string>> {
    return {
      EXAMPLE_SITE_ISSUER: this.issuer,
      EXAMPLE_SITE_CLIENT_ID: CLIENT_ID,
      EXAMPLE_SITE_PUBLIC_KEY: this.#keys.publicKey.export({ format: "pem", type: "spki" }).toString(),
    };
  }

  /**
   * Handles a visitor whom the application has redirected here.
   *
   * @returns the URL that it sends them back to
   */
  visit(url: string, account: SiteAccount): { readonly path: string; readonly code: string; readonly state: string } {
    const { searchParams } = new URL(url);
    const [code, state] = [randomUUID(), searchParams.get("state")!];
    this.#codes.set(code, { ...account, nonce: searchParams.get("nonce"), aud: searchParams.get("client_id") });
    const back = new URL(searchParams.get("redirect_uri")!);
    return { path: `${back.pathname}?${new URLSearchParams({ code, state })}`, code, state };
  }

  #take(code: string): object | null {
    const claims = this.#codes.get(code) ?? null;
    this.#codes.delete(code);
    return claims;
  }

  #sign(claims: object): string {
    const at = nowInSeconds();
    const key = new SigningKey("EdDSA", this.#keys.privateKey);
    return signJwt({ iss: this.issuer, iat: at, exp: at + 300, ...claims, ...this.forged }, key);
  }
}

/** Follows a page to the other site and back. */
export async function visitSite(
  client: TestClient,
  site: ExampleSiteServer,
  from: string,
  account: SiteAccount = ADA_THERE,
): Promise<TestResponse> {
  const going = (await client.get(from)).assertRedirect(/\/authorize\?/);
  return client.get(site.visit(going.redirectsTo!, account).path);
}
