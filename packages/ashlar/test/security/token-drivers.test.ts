import { describe, expect, test } from "vitest";
import { Api, JWTAuthenticationMiddleware, many, personal } from "../../src/api/index.ts";
import { makeTokenText } from "../../src/api/stores/token-text.ts";
import {
  AuthenticationMiddleware,
  AuthPageMiddleware,
  ConfirmPasswordMiddleware,
  type Guard,
  GuardMiddleware,
} from "../../src/auth/index.ts";
import type { HttpContext } from "../../src/http/index.ts";
import { Route } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { createTestClient } from "../../src/testing/index.ts";
import { ThrottleMiddleware, ThrottleProvider } from "../../src/throttle/index.ts";
import { ADA, BOB, PASSWORD, SECRET, type TestApi, type TestApiOptions, testApi } from "../support/api-application.ts";
import { createUserTable, insertUsers, UserWithToken } from "../support/application-parts.ts";
import { migrationOfStub } from "../support/migration-folder.ts";

const OTHER_SECRET = generateSecret();

class Admin extends UserWithToken {
  static override table = "admins";
  static override timestamps = false;
  static override hidden: readonly string[] = ["password", "api_token"];
}

const who = Route.get("/who", async ({ auth, apiToken }) => ({
  guard: auth.guardName,
  user: await auth.user(),
  sub: apiToken.claims?.sub ?? null,
}));

/** What each driver's guard says about the request's token, whichever guard is active. */
const subjects = Route.get("/subjects", ({ auth }) =>
  ["jwt", "admin"].map((name) => (auth.guard(name) as Guard).claims?.sub ?? null),
);

/** An application with an API for users and one for admins. Key 1 is a different person in each. */
async function twoApis(options: TestApiOptions = {}): Promise<TestApi> {
  const api = await testApi({
    stack: [],
    middleware: { jwt: [JWTAuthenticationMiddleware] },
    web: [...Api.routes(), ...Api.routes({ driver: "admin" })],
    routes: [
      Route.group({ middleware: ["jwt"] }, [who, subjects]),
      Route.group({ prefix: "/back", middleware: ["jwt:admin"] }, [who]),
    ],
    drivers: { admin: { secret: OTHER_SECRET, model: Admin, authenticates: true } },
    ...options,
    guards: { default: "jwt", ...options.guards },
  });
  Admin.useDatabase(api.database);
  await createUserTable(api.database, "admins");
  await insertUsers(api.database, "admins", [{ name: BOB.name, email: "root@example.com" }]);
  return api;
}

async function login(api: TestApi, path: string, username: string): Promise<string> {
  const { body } = await api.post(path, { username, password: PASSWORD });
  return (body as { readonly data: string }).data;
}

describe("S96 several drivers", () => {
  test("S96 a guard has the claims of its own driver's token, not the active one's", async () => {
    const api = await twoApis();
    const token = await login(api, "/api/auth", ADA.email);
    expect((await api.get("/api/subjects", { token })).body).toEqual(["1", null]);
  });

  test("S96 each issue, accept, renew and revoke only their own tokens", async () => {
    const api = await twoApis();
    const user = await login(api, "/api/auth", ADA.email);
    const admin = await login(api, "/api/admin/auth", "root@example.com");
    expect((await api.get("/api/who", { token: user })).body).toEqual({ guard: "jwt", user: ADA, sub: "1" });
    expect((await api.get("/api/back/who", { token: admin })).body).toMatchObject({
      guard: "admin",
      user: { name: "Bob", email: "root@example.com" },
      sub: "1",
    });
    expect((await api.get("/api/back/who", { token: user })).status).toBe(401);
    expect((await api.get("/api/who", { token: admin })).status).toBe(401);
    expect((await api.post("/api/reauth", { token: admin })).status).toBe(401);
    expect((await api.post("/api/admin/reauth", { token: user })).status).toBe(401);
    expect((await api.post("/api/logout", { token: admin })).status).toBe(401);
    expect((await api.get("/api/back/who", { token: admin })).status).toBe(200);
    await api.post("/api/admin/logout", { token: admin });
    expect((await api.get("/api/back/who", { token: admin })).status).toBe(401);
    expect((await api.toldOf("api.token_issued")).map(({ guard }) => guard)).toEqual(["jwt", "admin"]);
    const refused = (await api.toldOf("api.token_refused")).map(({ guard, reason }) => [guard, reason]);
    expect(refused).toEqual([
      ["admin", "signature"],
      ["jwt", "signature"],
      ["jwt", "signature"],
      ["admin", "signature"],
      ["jwt", "audience"],
      ["admin", "inactive"],
    ]);
    expect(await login(api, "/api/auth", "root@example.com")).toBeUndefined();
    expect(await login(api, "/api/admin/auth", ADA.email)).toBeUndefined();
  });

  test("S96 two with several tokens per user share a table, and neither touches the other's rows", async () => {
    const several = { tokens: many({ maxPerUser: 1 }), authenticates: true };
    const api = await twoApis({
      driver: several,
      drivers: { admin: { secret: OTHER_SECRET, model: Admin, ...several } },
    });
    await (await migrationOfStub("api/create_api_tokens.ts.stub")).up(api.database.kysely);
    const pair = async (path: string, username: string) => {
      const { body } = await api.post(path, { username, password: PASSWORD });
      return body as { readonly data: string; readonly refresh: string };
    };
    const isAdminsAlive = async () => (await api.get("/api/back/who", { token: admin.data })).status === 200;
    const admin = await pair("/api/admin/auth", "root@example.com");
    const user = await pair("/api/auth", ADA.email);
    expect((await api.get("/api/who", { token: user.data })).status).toBe(200);
    // Both users have the key 1.
    expect((await api.post("/api/reauth", { token: admin.refresh })).status).toBe(401);
    expect((await api.post("/api/logout", { token: admin.refresh })).status).toBe(401);
    expect(await isAdminsAlive()).toBe(true);
    // By the limit, by a logout, and by ending access to the account.
    const second = await pair("/api/auth", ADA.email);
    expect(await isAdminsAlive()).toBe(true);
    expect((await api.post("/api/logout", { token: second.refresh })).status).toBe(204);
    expect(await isAdminsAlive()).toBe(true);
    await pair("/api/auth", ADA.email);
    await (await api.User.find(1))!.endAccess();
    const guards = await api.database.kysely.selectFrom("api_tokens").select("guard").execute();
    expect(guards).toEqual([{ guard: "admin" }]);
    expect(await isAdminsAlive()).toBe(true);
    await (await api.User.find(1))!.delete();
    expect(await isAdminsAlive()).toBe(true);
  });

  test("S96 a test acts as a user of any driver, with a token of that driver", async () => {
    const admin = { secret: OTHER_SECRET, model: Admin, authenticates: true, tokens: many() };
    const api = await twoApis({ drivers: { admin } });
    await (await migrationOfStub("api/create_api_tokens.ts.stub")).up(api.database.kysely);
    const client = createTestClient(api.application);
    const statuses = async () => {
      const answers = [await client.getJson("/api/who"), await client.getJson("/api/back/who")];
      return answers.map(({ status }) => status);
    };
    await client.actingAs((await Admin.find(1))!, "admin");
    expect(await statuses()).toEqual([401, 200]);
    await client.actingAs((await api.User.find(ADA.id))!, "jwt");
    expect(await statuses()).toEqual([200, 401]);
    await expect(client.actingAs((await Admin.find(1))!, "jwt")).rejects.toMatchObject({ code: "E_INVALID_MODEL" });
  });

  test("S96 no logout of one driver looks as if it had revoked a token of another", async () => {
    const api = await twoApis({
      driver: { tokens: many(), authenticates: true, personal: personal() },
      drivers: { admin: { secret: OTHER_SECRET, model: Admin, authenticates: true, personal: personal() } },
    });
    for (const stub of ["api/create_api_tokens.ts.stub", "tokens/create_personal_tokens.ts.stub"]) {
      await (await migrationOfStub(stub)).up(api.database.kysely);
    }
    const { body } = await api.post("/api/auth", { username: ADA.email, password: PASSWORD });
    const { data, refresh } = body as { readonly data: string; readonly refresh: string };
    const service = api.application.container.make("apiDrivers").personal("jwt");
    const request = { name: "backup", abilities: null, days: 1 };
    const created = (await service.issue((await api.User.find(ADA.id))!, request))!;
    const admin = await login(api, "/api/admin/auth", "root@example.com");
    const refusalOf = (driver: string) => ({
      status: 401,
      body: {
        code: "E_INVALID_TOKEN",
        detail: `The token is one of the driver ${driver}. Revoke it at the logout route of that driver.`,
      },
    });
    for (const token of [data, refresh, created.token]) {
      expect(await api.post("/api/admin/logout", { token })).toMatchObject(refusalOf("jwt"));
    }
    expect(await api.post("/api/logout", {}, { token: admin })).toMatchObject(refusalOf("admin"));
    expect((await api.get("/api/back/who", { token: admin })).status).toBe(200);
    for (const token of [data, created.token]) expect((await api.get("/api/who", { token })).status).toBe(200);
    // A token that no driver has issued needs no logout.
    for (const token of ["garbage", makeTokenText("ash_"), `${data}x`]) {
      expect((await api.post("/api/admin/logout", { token })).status).toBe(204);
    }
    for (const token of [created.token, refresh]) expect((await api.post("/api/logout", { token })).status).toBe(204);
    for (const token of [data, created.token]) expect((await api.get("/api/who", { token })).status).toBe(401);
  });

  test.each<[string, object, object]>([
    ["the same secret", { secret: SECRET }, {}],
    ["the same secret for another algorithm", { secret: SECRET, algorithm: "HS256" }, {}],
    ["a former secret of the other", { previousSecrets: [SECRET] }, {}],
    ["only one audience", { secret: SECRET, audience: "admin" }, {}],
    ["the same audience", { secret: SECRET, audience: "all" }, { audience: "all" }],
    ["the same issuer", { secret: SECRET, issuer: "https://shop.example" }, { issuer: "https://shop.example" }],
  ])("S96 that could accept each other's tokens fail startup: %s", async (_, admin, jwt) => {
    const drivers = { admin: { secret: OTHER_SECRET, model: Admin, ...admin } };
    await expect(twoApis({ drivers, driver: jwt })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining("config/api.ts: DRIVERS.admin: it has the same key as"),
    });
  });

  test("S96 with the same secret are distinguished by the audience, and by the issuer", async () => {
    for (const claim of ["audience", "issuer"]) {
      const drivers = { admin: { secret: SECRET, model: Admin, authenticates: true, [claim]: "admin" } };
      const api = await twoApis({ drivers, driver: { [claim]: "users" } });
      const user = await login(api, "/api/auth", ADA.email);
      const admin = await login(api, "/api/admin/auth", "root@example.com");
      expect((await api.get("/api/back/who", { token: user })).status).toBe(401);
      expect((await api.get("/api/who", { token: admin })).status).toBe(401);
      expect((await api.get("/api/back/who", { token: admin })).status).toBe(200);
    }
  });

  test("with the same users need several tokens per user for one of them, because a column holds only one", async () => {
    const drivers = (tokens: object) => ({ partners: { secret: OTHER_SECRET, ...tokens } });
    await expect(testApi({ drivers: drivers({}), guards: { default: "jwt" } })).rejects.toThrow(
      /DRIVERS\.partners: its users are those of "jwt", who have one token at a time/,
    );
    await expect(testApi({ drivers: drivers({ tokens: many() }), guards: { default: "jwt" } })).resolves.toBeTruthy();
  });

  test.each(["web", "default", "a b", "a:b", ""])("cannot have the name %j", async (name) => {
    const drivers = { [name]: { secret: OTHER_SECRET, model: Admin } };
    await expect(testApi({ drivers, guards: { default: "jwt" } })).rejects.toThrow(/is not a name for a driver/);
    expect(() => Api.routes({ driver: name })).toThrow(/is not the name of a driver/);
  });

  test("S96 cannot share their name with a guard of another kind", async () => {
    const guards = { admin: { driver: "jwt" } };
    await expect(twoApis({ guards })).rejects.toThrow(
      /GUARDS\.admin: its driver is "jwt", but "admin" is itself a driver/,
    );
  });

  test("that aren't configured fail startup, in the middleware and in the routes", async () => {
    const routes = [Route.get("/one", () => true).middleware("jwt:admins")];
    await expect(twoApis({ routes })).rejects.toThrow(
      /No driver of API tokens is named "admins"\. Did you mean "admin"/,
    );
    await expect(twoApis({ web: Api.routes({ driver: "admins" }) })).rejects.toThrow(/is named "admins"/);
  });
});

describe("S112 the page of personal tokens", () => {
  class Page {
    index({ personalTokens }: HttpContext): unknown {
      return personalTokens.page();
    }
    store(): unknown {
      return null;
    }
    async destroy({ personalTokens, request }: HttpContext): Promise<unknown> {
      return { isRevoked: await personalTokens.revoke(request.param("id")) };
    }
  }
  const PAGE_MIDDLEWARE = {
    jwt: [JWTAuthenticationMiddleware],
    "auth.page": [AuthPageMiddleware],
    auth: [AuthenticationMiddleware],
    guard: [GuardMiddleware],
    "password.confirm": [ConfirmPasswordMiddleware],
    throttle: [ThrottleMiddleware],
  };
  const PERSONAL = { tokens: many(), authenticates: true, personal: personal() };
  const admin = (driver: object = {}) => ({
    admin: { secret: OTHER_SECRET, model: Admin, authenticates: true, ...driver },
  });
  const CASES: readonly [string, TestApiOptions, "User" | "Admin"][] = [
    ["without any driver that has them", { drivers: admin() }, "User"],
    ["of a guard whose users have none", { driver: PERSONAL, drivers: admin() }, "Admin"],
    ["of the default guard, whose users have none", { drivers: admin({ personal: personal() }) }, "User"],
  ];

  test.each(CASES)("S112 %s fails startup with a remedy", async (_, options, users) => {
    class Own extends Page {}
    const routes = Api.personalTokens(Own, users === "Admin" ? { guard: "admin" } : {});
    const guard = users === "Admin" ? "admin" : "jwt";
    await expect(
      twoApis({
        ...options,
        web: [Route.group({ prefix: "/me", name: "mine" }, [...routes])],
        middleware: PAGE_MIDDLEWARE,
        providers: [ThrottleProvider],
      }),
    ).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringMatching(
        new RegExp(
          `^config/api\\.ts: DRIVERS: no entry has personal tokens for users of the guard "${guard}", which ` +
            `Api\\.personalTokens\\(\\) in .+ needs\\. Add personal: personal\\(\\), from "ashlar/api", to the entry whose model is ${users}\\.$`,
        ),
      ),
    });
  });

  test("S112 of users who have them doesn't", async () => {
    class Own extends Page {}
    const web = [...Api.personalTokens(Own)];
    const options = { web, middleware: PAGE_MIDDLEWARE, providers: [ThrottleProvider] };
    await expect(twoApis({ driver: PERSONAL, drivers: admin(), ...options })).resolves.toBeTruthy();
  });

  test("S112 a user with the same key as another class's user can't reach that user's tokens", async () => {
    const api = await twoApis({ driver: PERSONAL, drivers: admin() });
    await (await migrationOfStub("tokens/create_personal_tokens.ts.stub")).up(api.database.kysely);
    const drivers = api.application.container.make("apiDrivers");
    const service = drivers.personal();
    const request = { name: "backup", abilities: null, days: 1 };
    const { id, token } = (await service.issue((await api.User.find(ADA.id))!, request))!;
    const root = (await Admin.find(ADA.id))!;
    expect(() => drivers.personalFor(Admin)).toThrow(
      expect.objectContaining({
        code: "E_UNKNOWN_SERVICE",
        message: expect.stringContaining("for users of the class Admin. Add personal: personal()"),
      }),
    );
    for (const reaching of [service.revoke(id, root, null), service.list(root)]) {
      await expect(reaching).rejects.toMatchObject({ code: "E_INVALID_MODEL" });
    }
    expect((await api.get("/api/who", { token })).status).toBe(200);
    expect(drivers.personalFor(api.User)).toBe(service);
  });
});

test("the application's own route replaces the route that revokes tokens", async () => {
  const api = await testApi({ routes: [Route.post("/logout", () => ({ own: true }))] });
  const token = await api.token();
  expect((await api.post("/api/logout", undefined, { token })).body).toEqual({ own: true });
});
