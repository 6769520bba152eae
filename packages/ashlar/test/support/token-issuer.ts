import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type JWTHeaderParameters, type JWTPayload, SignJWT } from "jose";
import { onTestFinished } from "vitest";
import { now } from "../../src/support/index.ts";

/** An issuer's key pair. */
export interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly jwk: Readonly<Record<string, unknown>>;
}

/** An issuer's response to one request for its keys. */
export type Respond = (request: IncomingMessage, response: ServerResponse) => void;

/** The files of a certificate, as text. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** Creates a key pair, by default for ES256. */
export function issuerKey(kid: string, alg = "ES256"): IssuerKey {
  const pair =
    alg === "RS256"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : alg === "EdDSA"
        ? generateKeyPairSync("ed25519")
        : generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    kid,
    alg,
    privateKey: pair.privateKey,
    jwk: { ...pair.publicKey.export({ format: "jwk" }), kid, alg, use: "sig" },
  };
}

/** An identity provider on loopback that publishes keys, and signs access tokens with another JWT library. */
export class TokenIssuer {
  readonly url: string;
  readonly issuer: string;
  /** The keys that it publishes. */
  keys: readonly IssuerKey[];
  /** How often its keys have been requested. */
  requests = 0;
  /** How it responds; default: with its keys. */
  respond: Respond = (_request, response) => this.publish(response);
  /** Headers of the usual response. */
  headers: Record<string, string> = { "content-type": "application/json" };

  constructor(origin: string, keys: readonly IssuerKey[]) {
    this.url = `${origin}/jwks.json`;
    this.issuer = `${origin}/`;
    this.keys = keys;
  }

  /** Responds with the keys. */
  publish(response: ServerResponse, status = 200): void {
    response.writeHead(status, this.headers).end(JSON.stringify({ keys: this.keys.map(({ jwk }) => jwk) }));
  }

  /**
   * Signs an access token according to RFC 9068, valid for five minutes.
   *
   * @param claims replace or extend the usual ones; `undefined` removes one
   * @param header extends the usual members; `undefined` removes one
   */
  async token(claims: object = {}, header: object = {}, key: IssuerKey = this.keys[0]!): Promise<string> {
    const time = Math.floor(now() / 1000);
    const payload: JWTPayload = {
      iss: this.issuer,
      aud: "https://api.shop.example",
      sub: "idp|ada",
      client_id: "shop-app",
      scope: "orders.read orders.write",
      jti: "1",
      iat: time,
      exp: time + 300,
      ...claims,
    };
    const members = Object.fromEntries(
      Object.entries({ alg: key.alg, typ: "at+jwt", kid: key.kid, ...header }).filter(
        ([, value]) => value !== undefined,
      ),
    );
    return new SignJWT(payload).setProtectedHeader(members as unknown as JWTHeaderParameters).sign(key.privateKey);
  }
}

/** Starts an issuer, until the end of the test. */
export async function startIssuer(
  keys: readonly IssuerKey[] = [issuerKey("first")],
  certificate: Certificate | null = null,
): Promise<TokenIssuer> {
  let issuer: TokenIssuer | null = null;
  const handle: Respond = (request, response) => {
    issuer!.requests++;
    issuer!.respond(request, response);
  };
  const server = certificate === null ? createHttpServer(handle) : createHttpsServer(certificate, handle);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  issuer = new TokenIssuer(certificate === null ? `http://127.0.0.1:${port}` : `https://localhost:${port}`, keys);
  return issuer;
}
