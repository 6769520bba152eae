// The tokens of a real identity provider, oidc-provider, which follows RFC 9068.

import { describe, expect, test } from "vitest";
import { ApiProvider, JWTAuthenticationMiddleware, type TokenClaims } from "../../src/api/index.ts";
import { AuthProvider } from "../../src/auth/index.ts";
import { DatabaseProvider } from "../../src/database/index.ts";
import { EventProvider } from "../../src/events/index.ts";
import { Route } from "../../src/routing/index.ts";
import { ADA, BOB, createUserTable, insertUsers, UserWithToken } from "../support/application-parts.ts";
import { buildApplication, ownDatabases } from "../support/build-application.ts";
import { startOidcProvider } from "../support/oidc-provider.ts";

const AUDIENCE = "https://api.shop.example";

class User extends UserWithToken {
  static override table = "users";
  static override hidden: readonly string[] = ["password", "api_token"];
  static override timestamps = false;
}

/** An application that accepts the tokens of one issuer; `ada` is its name for the user with the id 1. */
async function openShop(driver: object) {
  const application = await buildApplication({
    routes: [
      ...Route.group({ withoutMiddleware: ["web"] }, [
        Route.get("/me", ({ request, apiToken }) => ({
          user: request.user(),
          sub: apiToken.claims?.sub,
          abilities: [...(apiToken.verified?.abilities ?? [])].sort(),
        })).middleware("jwt:idp"),
      ]).respondsWithJson(),
    ],
    middleware: { web: [], jwt: [JWTAuthenticationMiddleware] },
    providers: [EventProvider, DatabaseProvider, AuthProvider, ApiProvider],
    config: {
      api: { DRIVERS: { idp: { audience: AUDIENCE, model: User, ...driver } } },
      auth: { GUARDS: { default: "idp" } },
    },
    databases: await ownDatabases({
      contents: {
        name: "oidc-provider",
        async fill(database) {
          await createUserTable(database, "users");
          await insertUsers(database, "users", [ADA, BOB]);
        },
      },
    }),
    models: [User],
  });
  const refused: string[] = [];
  application.container.make("events").on("api.token_refused", ({ reason }) => refused.push(reason));
  return {
    refused,
    async get(token: string): Promise<{ status: number; body: unknown }> {
      const headers = { authorization: `Bearer ${token}` };
      const response = await application.fetch(new Request("http://localhost/me", { headers }));
      return { status: response.status, body: await response.json() };
    },
  };
}

const byName = ({ sub }: TokenClaims) => (sub === "ada" ? User.find(ADA.id) : null);

describe.each(["ES256", "RS256", "PS256", "EdDSA"] as const)("oidc-provider with %s", (alg) => {
  test("S116 its access token is accepted; its ID token, and its token for another API, are not", async () => {
    const idp = await startOidcProvider(alg);
    const { get, refused } = await openShop({ issuer: idp.issuer, jwks: idp.jwks, user: byName });
    const { access_token: accessToken, id_token: idToken } = await idp.login("ada", AUDIENCE);
    expect(await get(accessToken)).toEqual({
      status: 200,
      body: { user: ADA, sub: "ada", abilities: ["orders.read", "orders.write"] },
    });
    expect((await get(idToken)).status).toBe(401);
    expect((await get((await idp.login("ada", "https://other.example")).access_token)).status).toBe(401);
    // The client's own token has its name as `sub`, for whom there is no user.
    expect((await get(await idp.machineToken(AUDIENCE))).status).toBe(401);
    expect(refused).toEqual(["type", "audience", "inactive"]);
  });
});

test("S116 with another typ, only the audience keeps an ID token out", async () => {
  const idp = await startOidcProvider("ES256");
  const settings = { issuer: idp.issuer, jwks: idp.jwks, user: byName };
  const { access_token: accessToken, id_token: idToken } = await idp.login("ada", AUDIENCE);
  for (const typ of ["JWT", null]) {
    const { get, refused } = await openShop({ ...settings, typ });
    expect((await get(idToken)).status).toBe(401);
    expect((await get(accessToken)).status).toBe(typ === null ? 200 : 401);
    // oidc-provider's ID tokens have no `typ`.
    expect(refused).toEqual(typ === null ? ["audience"] : ["type", "type"]);
  }
});

test("S116 a trailing slash makes it another issuer", async () => {
  const idp = await startOidcProvider("ES256");
  const { get, refused } = await openShop({ issuer: `${idp.issuer}/`, jwks: idp.jwks, user: byName });
  expect((await get((await idp.login("ada", AUDIENCE)).access_token)).status).toBe(401);
  expect(refused).toEqual(["issuer"]);
});
