import { describe, expect, test } from "vitest";
import { ADA, BOB, SECRET, type TestApi, testApi } from "../../../test/support/api-application.ts";
import { manyTokensApi } from "../../../test/support/many-tokens.ts";
import { LoadUserMiddleware } from "../../auth/index.ts";
import { Route } from "../../routing/index.ts";
import { SigningKey, signJwt } from "../../security/jwt/index.ts";
import { many, single } from "../settings/token-settings.ts";
import { AbilityMiddleware, AnyAbilityMiddleware } from "./ability-middleware.ts";
import { JWTAuthenticationMiddleware } from "./jwt-authentication-middleware.ts";

const middleware = { ability: [AbilityMiddleware], "any-ability": [AnyAbilityMiddleware] };
const ROUTES = [
  Route.get("/write", ({ auth }) => [auth.tokenCan("orders.read"), auth.tokenCan("orders.write")]).middleware(
    "ability:orders.write",
  ),
  Route.get("/both", () => true).middleware("ability:orders.read,orders.write"),
  Route.get("/either", () => true).middleware("any-ability:orders.read,orders.write"),
];

/** A token of Ada's, with this scope. */
function tokenWith(scope?: unknown): string {
  const claims = { sub: String(ADA.id), ...(scope === undefined ? {} : { scope }) };
  return signJwt(claims, new SigningKey("HS512", SECRET));
}

/** The statuses of the three routes for a token. */
async function statuses(api: TestApi, token: string): Promise<number[]> {
  const answers = ["/api/write", "/api/both", "/api/either"].map((path) => api.get(path, { token }));
  return (await Promise.all(answers)).map(({ status }) => status);
}

describe("S100 a token's abilities", () => {
  test.each([
    [undefined, [200, 200, 200]],
    ["orders.read orders.write", [200, 200, 200]],
    ["orders.write", [200, 403, 200]],
    ["orders.read", [403, 403, 200]],
    ["orders orders.writer ORDERS.WRITE *", [403, 403, 403]],
    ["", [403, 403, 403]],
    [["orders.write"], [403, 403, 403]],
    [null, [403, 403, 403]],
  ])("are limited to those in the claim scope: %j", async (scope, expected) => {
    const api = await testApi({ routes: ROUTES, middleware });
    expect(await statuses(api, tokenWith(scope))).toEqual(expected);
  });

  test("are named in the response to a token that lacks one (RFC 6750 §3.1)", async () => {
    const api = await testApi({ routes: ROUTES, middleware });
    const { status, body, headers } = await api.get("/api/both", { token: tokenWith("orders.read") });
    expect([status, body, headers.get("www-authenticate")]).toMatchObject([
      403,
      { code: "E_INSUFFICIENT_SCOPE" },
      'Bearer error="insufficient_scope", scope="orders.read orders.write"',
    ]);
    expect((await api.get("/api/write", { token: tokenWith("orders.write") })).body).toEqual([false, true]);
  });

  test("are checked only for a request with a proof, wherever the middleware runs", async () => {
    const api = await testApi({ routes: ROUTES, middleware, stack: [] });
    expect((await api.get("/api/write")).status).toBe(401);
    const { headers } = await api.get("/api/write", { token: "garbage" });
    expect(headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
    expect(await statuses(api, tokenWith("orders.write"))).toEqual([200, 403, 200]);
  });

  test("with authenticates, a token that is not active has none", async () => {
    const api = await testApi({ routes: ROUTES, middleware, stack: [], driver: { authenticates: true } });
    expect(await statuses(api, tokenWith("orders.read orders.write"))).toEqual([401, 401, 401]);
  });

  test("of a login in this request are all abilities", async () => {
    const routes = [
      Route.get("/in", async ({ auth }) => {
        await auth.attemptById(BOB.id);
        return [auth.tokenCan("orders.write")];
      }),
      Route.get("/guest", ({ auth }) => [auth.tokenCan("orders.write")]),
    ];
    const api = await testApi({ routes, stack: [] });
    expect([(await api.get("/api/in")).body, (await api.get("/api/guest")).body]).toEqual([[true], [false]]);
  });
});

describe("abilities at the token endpoint", () => {
  const login = async (api: TestApi, abilities?: unknown) => {
    const { status, body } = await api.post("/api/auth", {
      username: ADA.email,
      password: "correct horse battery staple",
      ...(abilities === undefined ? {} : { abilities }),
    });
    return { status, ...(body as { readonly data: string; readonly abilities?: readonly string[] }) };
  };

  test("restrict the issued token and its replacement", async () => {
    const api = await testApi({ routes: ROUTES, middleware });
    for (const abilities of [["orders.read"], "orders.read"]) {
      const issued = await login(api, abilities);
      expect(issued.abilities).toEqual(["orders.read"]);
      expect(await statuses(api, issued.data)).toEqual([403, 403, 200]);
      const { body } = await api.post("/api/reauth", { token: issued.data });
      expect(await statuses(api, (body as { readonly data: string }).data)).toEqual([403, 403, 200]);
    }
    expect(await login(api)).toEqual({ status: 200, data: expect.any(String) });
    expect((await login(api, [])).abilities).toEqual([]);
  });

  test.each([["Orders"], ["*"], [["orders read"]], [[1]], [{}], [Array(101).fill("a")]])(
    "are refused if they are not abilities: %j",
    async (abilities) => {
      const api = await testApi();
      expect(await login(api, abilities)).toMatchObject({ status: 422, code: "E_INVALID_INPUT" });
      expect(await api.toldOf("auth.login")).toEqual([]);
    },
  );

  test("are those that the user may grant, at each renewal", async () => {
    let allowed = ["orders.read", "orders.write"];
    const api = await testApi({ routes: ROUTES, middleware, driver: { abilitiesOf: () => allowed } });
    expect((await login(api)).abilities).toEqual(allowed);
    const { data } = await login(api, ["orders.write"]);
    expect(await login(api, ["orders.write", "orders.delete"])).toMatchObject({ status: 422 });
    allowed = ["orders.read"];
    const { body } = await api.post("/api/reauth", { token: (await login(api)).data });
    expect((body as { readonly abilities: unknown }).abilities).toEqual(["orders.read"]);
    expect(await statuses(api, data)).toEqual([200, 403, 200]);
  });
});

describe.each([
  ["single", single()],
  ["many", many()],
])("S100 with authenticates and %s(), a token", (_name, tokens) => {
  const expires = tokens.kind === "many" ? {} : { expires: 10 };
  const driver = { tokens, ...expires, authenticates: true };
  const tell = Route.get("/tell", async ({ auth }) => {
    const before = auth.tokenCan("orders.write");
    await auth.guard("jwt").user();
    return [before, auth.tokenCan("orders.write"), auth.tokenCan("orders.read")];
  });

  test("immediately loses abilities that its user may no longer grant", async () => {
    let allowed = ["orders.read", "orders.write"];
    const { api } = await manyTokensApi({ routes: [tell], driver: { ...driver, abilitiesOf: () => allowed } });
    const token = await api.token();
    const told = async () => [
      (await api.get("/api/write", { token })).status,
      (await api.get("/api/tell", { token })).body,
    ];
    expect(await told()).toEqual([200, [true, true, true]]);
    allowed = ["orders.read"];
    expect(await told()).toEqual([403, [false, false, true]]);
    allowed = ["orders.read", "orders.write", "orders.delete"];
    expect(await told()).toEqual([200, [true, true, true]]);
  });

  test("does so without the token middleware, once its user is known", async () => {
    const options = { stack: [], routes: [tell], guards: { default: "jwt" } };
    const abilitiesOf = () => ["orders.read"];
    const { api: before } = await manyTokensApi({ ...options, driver });
    const token = await before.token();
    const { api } = await manyTokensApi({ ...options, sharing: before, driver: { ...driver, abilitiesOf } });
    const told = async (one: TestApi) => [
      (await one.get("/api/write", { token })).status,
      (await one.get("/api/tell", { token })).body,
    ];
    // A token without the claim has every ability that its user may grant.
    expect(await told(before)).toEqual([200, [false, true, true]]);
    expect(await told(api)).toEqual([403, [false, false, true]]);
  });

  test("is checked as before if the user isn't read", async () => {
    let allowed = ["orders.write"];
    const unread = { ...driver, authenticates: false, abilitiesOf: () => allowed };
    const { api } = await manyTokensApi({ routes: [tell], driver: unread });
    const token = await api.token();
    allowed = [];
    expect((await api.get("/api/write", { token })).status).toBe(200);
    expect((await api.get("/api/tell", { token })).body).toEqual([true, true, false]);
  });
});

describe("at boot, an unknown ability fails startup", () => {
  test("in a route's middleware, with a suggestion", async () => {
    const abilities = ["orders.read", "orders.writes"];
    await expect(testApi({ routes: ROUTES, middleware, abilities })).rejects.toThrow(
      /no ability is named "orders\.write"\. Did you mean "orders\.writes"/,
    );
    await expect(
      testApi({ routes: ROUTES, middleware, abilities: ["orders.read", "orders.write"] }),
    ).resolves.toBeTruthy();
  });

  test.each([[""], [":Orders"], [":*"]])(
    "if the middleware has no ability, or an invalid one: ability%s",
    async (args) => {
      const routes = [Route.get("/one", () => true).middleware(`ability${args}`)];
      await expect(testApi({ routes, middleware })).rejects.toThrow(/abilit/);
    },
  );

  test.each([["orders.read"], [["Orders"]], [[1]], [{}]])("in the list itself: %j", async (abilities) => {
    await expect(testApi({ abilities })).rejects.toMatchObject({ code: "E_INVALID_CONFIGURATION" });
  });
});

test("the middleware can come after the token middleware", async () => {
  const api = await testApi({ routes: ROUTES, middleware, stack: [JWTAuthenticationMiddleware, LoadUserMiddleware] });
  expect(await statuses(api, tokenWith("orders.write"))).toEqual([200, 403, 200]);
});
