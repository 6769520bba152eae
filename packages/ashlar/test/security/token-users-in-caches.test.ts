import { expect, test } from "vitest";
import { JWTAuthenticationMiddleware } from "../../src/api/index.ts";
import { RequestGuard } from "../../src/auth/index.ts";
import { Route } from "../../src/routing/index.ts";
import { type TestApi, testApi } from "../support/api-application.ts";
import { guardProvider } from "../support/people.ts";

const CACHEABLE = "public, max-age=600";

/** Finds its users by the header `Authorization`, like an application's own guard. */
class BasicGuard extends RequestGuard {
  protected override retrieve() {
    return this.context.request.header("authorization") === "Basic MTox" ? this.model.findByAuthId(1) : null;
  }
}

const ROUTES = [
  Route.get("/set", async ({ auth, response }) => {
    const user = await auth.guard("jwt").user();
    return response.header("Cache-Control", CACHEABLE).json({ user });
  }),
  Route.get("/platform", async ({ auth }) => {
    const user = await auth.guard("jwt").user();
    return Response.json({ user }, { headers: { "Cache-Control": CACHEABLE, Vary: "Accept" } });
  }),
  Route.get("/basic", async ({ auth }) => {
    const user = await auth.guard("basic").user();
    return Response.json({ user }, { headers: { "Cache-Control": CACHEABLE } });
  }),
  Route.get("/unasked", ({ response }) => response.header("Cache-Control", CACHEABLE).json({})),
  Route.get("/private", async ({ auth }) => ({ user: await auth.guard("jwt").user() })),
  Route.get("/token-claims", ({ apiToken }) => {
    return Response.json(apiToken.claims, { headers: { "Cache-Control": CACHEABLE } });
  }).middleware("jwt"),
  Route.get("/subject", ({ apiToken }) => ({ sub: apiToken.claims?.sub })).middleware("jwt"),
  Route.get("/platform-subject", ({ apiToken }) => Response.json(apiToken.claims?.sub)).middleware("jwt"),
  Route.get("/guard-subject", ({ auth }) => ({ sub: auth.guard("jwt").claims?.sub })),
];

const open = (driver: object = {}): Promise<TestApi> =>
  testApi({
    driver,
    stack: [],
    middleware: { jwt: [JWTAuthenticationMiddleware] },
    routes: ROUTES,
    guards: { default: "jwt" },
    providers: [guardProvider({ basic: BasicGuard }, ["basic"])],
  });

/** The headers that caches use. */
function seen({ headers }: { readonly headers: Headers }): readonly (string | null)[] {
  return [headers.get("cache-control"), headers.get("vary")];
}

test("S123 a cacheable response varies by Authorization if a token guard was used, even for a guest", async () => {
  const api = await open();
  const token = await api.token();
  for (const sent of [{ token }, { token: "made-up" }, {}]) {
    for (const [path, vary] of [
      ["/api/set", /^(cookie, )?authorization$/],
      ["/api/platform", /^Accept, (cookie, )?authorization$/],
      ["/api/basic", /^authorization$/],
    ] as const) {
      expect([path, ...seen(await api.get(path, sent))]).toEqual([path, CACHEABLE, expect.stringMatching(vary)]);
    }
  }
});

test("S123 so does a response to a token whose user isn't looked up", async () => {
  const api = await open();
  const answer = await api.get("/api/token-claims", { token: await api.token() });
  expect(seen(answer)).toEqual([CACHEABLE, "cookie, authorization"]);
});

test.each([true, false])(
  "S63 a response based on a token's claims is private, no-store, with authenticates: %j",
  async (authenticates) => {
    const api = await open({ authenticates });
    const token = await api.token();
    for (const path of ["/api/subject", "/api/platform-subject", "/api/guard-subject"]) {
      expect([path, ...seen(await api.get(path, { token }))]).toEqual([path, "private, no-store", null]);
    }
    expect(seen(await api.get("/api/guard-subject", { token: "made-up" }))).toEqual([null, null]);
  },
);

test("S123 a response that used no guard, or says nothing about caches, doesn't", async () => {
  const api = await open();
  const token = await api.token();
  expect(seen(await api.get("/api/unasked", { token }))).toEqual([CACHEABLE, null]);
  expect(seen(await api.get("/api/private", { token }))).toEqual(["private, no-store", null]);
  expect(seen(await api.get("/api/private"))).toEqual([null, null]);
});

test("S123 apply() adds it to another framework's response, even for a guest, and if nothing is stored", async () => {
  const api = await open();
  const authorization = `Bearer ${await api.token()}`;
  for (const readOnly of [false, true]) {
    const asked = (headers: Record<string, string>) =>
      api.application.authenticate(new Request("http://localhost/prices", { headers }), { guard: "jwt", readOnly });
    const [user, guest] = [await asked({ authorization }), await asked({})];
    expect([user.user === null, guest.user]).toEqual([false, null]);
    const page = () => new Response("Prices", { headers: { "cache-control": CACHEABLE } });
    expect(seen(user.apply(page()))).toEqual([CACHEABLE, "cookie, authorization"]);
    expect(seen(guest.apply(page()))).toEqual([CACHEABLE, "authorization"]);
    expect(seen(user.apply(new Response("Prices")))).toEqual(["private, no-store", "cookie, authorization"]);
    expect(seen(guest.apply(new Response("Prices")))).toEqual([null, "authorization"]);
  }
});
