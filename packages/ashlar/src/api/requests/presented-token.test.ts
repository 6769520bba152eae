import { describe, expect, test } from "vitest";
import { ADA, type Answer, BOB, type TestApi, testApi } from "../../../test/support/api-application.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { JWTAuthenticationMiddleware } from "./jwt-authentication-middleware.ts";

const INVALID_JSON = { body: "{", headers: { "content-type": "application/json" } };

const OPEN = [200, undefined, null];
const NO_TOKEN = [401, "E_UNAUTHENTICATED", "Bearer"];
const REFUSED = [401, "E_INVALID_TOKEN", 'Bearer error="invalid_token"'];
const CONFLICT = [400, "E_CONFLICTING_TOKENS", null];
const NO_BODY = [400, "E_INVALID_BODY", null];

function told({ status, body, headers }: Answer): unknown[] {
  return [status, (body as { readonly code?: string } | null)?.code, headers.get("www-authenticate")];
}

/** The result of each way to send tokens to a route that lets valid ones through. */
async function outcomes(api: TestApi, ...requests: readonly Promise<Answer>[]): Promise<unknown[]> {
  const answers = await Promise.all(requests);
  await api.application.container.make("events").settled();
  return answers.map(told);
}

async function tokens(api: TestApi): Promise<[ada: string, bob: string]> {
  const [ada, bob] = await Promise.all([ADA, BOB].map(async ({ id }) => (await api.User.find(id))!.generateJwt()));
  return [ada!, bob!];
}

describe.each([[true], [false]])("a token, with authenticates: %s", (authenticates) => {
  test("counts in the header, and as an input in body or query if it is text", async () => {
    const api = await testApi({ driver: { authenticates } });
    const [token] = await tokens(api);
    const form = new URLSearchParams({ token });
    expect(
      await outcomes(
        api,
        api.get("/api/open", { token }),
        api.get(`/api/open?token=${token}`),
        api.post("/api/open", { token }),
        api.post("/api/open", form),
        api.post("/api/open?page=2", { token }),
        api.post(`/api/open?token=${token}`, { other: 1 }),
      ),
    ).toEqual(Array(6).fill(OPEN));
    expect(
      await outcomes(
        api,
        api.get("/api/open"),
        api.get("/api/open?token="),
        api.get(`/api/open?page=${token}`),
        api.post("/api/open", {}),
        ...["", null, 1, true, [token], { token }].map((input) => api.post("/api/open", { token: input })),
      ),
    ).toEqual(Array(10).fill(NO_TOKEN));
    expect(await api.toldOf("api.token_refused")).toEqual([]);
    expect(
      await outcomes(api, api.get("/api/open", { token: "garbage" }), api.post("/api/open", { token: "garbage" })),
    ).toEqual([REFUSED, REFUSED]);
    expect(await api.toldOf("api.token_refused")).toHaveLength(2);
  });

  test("S14 in the header is refused next to another one in body or query", async () => {
    const api = await testApi({ driver: { authenticates } });
    const [token, other] = await tokens(api);
    const sent = { token };
    expect(
      await outcomes(
        api,
        api.get(`/api/open?token=${other}`, sent),
        api.post("/api/open", { token: other }, sent),
        api.post("/api/open?page=2", { token: other }, sent),
        api.post(`/api/open?token=${other}`, {}, sent),
        api.post(`/api/open?token=${other}`, { token }, sent),
      ),
    ).toEqual(Array(5).fill(CONFLICT));
    expect(
      await outcomes(
        api,
        api.get(`/api/open?token=${token}`, sent),
        api.post("/api/open", { token }, sent),
        api.get("/api/open?token=", sent),
        api.post("/api/open", { token: [other] }, sent),
      ),
    ).toEqual(Array(4).fill(OPEN));
  });

  test("S15 does not count in the query if tokens are not allowed there", async () => {
    const api = await testApi({ driver: { authenticates, tokenInQuery: false } });
    const [token, other] = await tokens(api);
    expect(
      await outcomes(
        api,
        api.get(`/api/open?token=${token}`),
        api.post(`/api/open?token=${token}`, { other: 1 }),
        api.post("/api/open", { token }),
        api.get(`/api/open?token=${other}`, { token }),
        api.post(`/api/open?token=${other}`, {}, { token }),
        api.post("/api/open", { token: other }, { token }),
      ),
    ).toEqual([NO_TOKEN, NO_TOKEN, OPEN, OPEN, OPEN, CONFLICT]);
  });

  test("S61 in the header is verified, and compared with the query, before the body is read", async () => {
    const api = await testApi({ driver: { authenticates } });
    const [token] = await tokens(api);
    expect(
      await outcomes(
        api,
        api.send("POST", "/api/open", { ...INVALID_JSON, token: "garbage" }),
        api.send("POST", "/api/open?token=other", { ...INVALID_JSON, token }),
        api.send("POST", "/api/open?page=2", { ...INVALID_JSON, token }),
        api.send("POST", "/api/open", { ...INVALID_JSON, token }),
        api.send("POST", "/api/open", INVALID_JSON),
      ),
    ).toEqual([REFUSED, CONFLICT, NO_BODY, NO_BODY, NO_BODY]);
  });

  test("in the body is waited for by a guard that runs before the body is read", async () => {
    const who = Route.post("/who", ({ request }) => ({ user: request.user() })).middleware("guard:jwt");
    const api = await testApi({ driver: { authenticates }, web: [who] });
    const [token] = await tokens(api);
    expect((await api.post("/who", { token })).body).toEqual({ user: ADA });
    expect((await api.post("/who", { token: "garbage" })).body).toEqual({ user: null });
  });

  test("is looked up and verified once, even if a header is set later", async () => {
    const handler = async ({ apiToken, auth, request }: HttpContext) => {
      const before = [apiToken.value, apiToken.claims?.sub];
      request.header("authorization", `Bearer ${request.header("x-other")}`);
      return { before, after: [apiToken.value, apiToken.claims?.sub], user: await auth.user() };
    };
    const api = await testApi({ driver: { authenticates }, routes: [Route.get("/swapped", handler)] });
    const [token, other] = await tokens(api);
    const { body } = await api.get("/api/swapped", { token, headers: { "x-other": other } });
    expect(body).toEqual({ before: [token, "1"], after: [token, "1"], user: ADA });
  });

  test("that is refused is reported once, however often it is read", async () => {
    const twice = Route.get("/twice", ({ apiToken }) => [apiToken.claims, apiToken.claims]).middleware("guard:jwt");
    const api = await testApi({ driver: { authenticates }, stack: [], routes: [twice] });
    expect((await api.get("/api/twice", { token: "garbage" })).body).toEqual([null, null]);
    expect(await api.toldOf("api.token_refused")).toHaveLength(1);
  });

  test("challenges a caller who needs a user and sent no token or a refused one, and is reported once", async () => {
    const api = await testApi({ driver: { authenticates }, stack: [] });
    const sent = [{}, { token: "garbage" }];
    expect(await outcomes(api, ...sent.map((one) => api.get("/api/mine", one)))).toEqual([
      NO_TOKEN,
      [401, "E_UNAUTHENTICATED", 'Bearer error="invalid_token"'],
    ]);
    expect(await api.toldOf("api.token_refused")).toEqual([
      { time: expect.any(Date), address: null, guard: "jwt", userId: null, reason: "malformed" },
    ]);
  });

  test("of a user who no longer exists counts as no user", async () => {
    const api = await testApi({ driver: { authenticates }, stack: [] });
    const [token, replaced] = await tokens(api);
    await (await api.User.find(ADA.id))!.delete();
    await (await api.User.find(BOB.id))!.generateJwt();
    const users = await Promise.all(
      [token, replaced].map(async (one) => (await api.get("/api/me", { token: one })).body),
    );
    expect(users).toEqual([null, authenticates ? null : BOB]);
    expect((await api.toldOf("api.token_refused")).map(({ reason, userId }) => [reason, userId]).toSorted()).toEqual(
      authenticates
        ? [
            ["inactive", "1"],
            ["inactive", "2"],
          ]
        : [],
    );
  });
});

describe("a logout with the guard jwt", () => {
  const routes = [
    Route.post("/out", async ({ auth }) => {
      await auth.logout();
      return { user: await auth.user() };
    }),
  ];

  test("revokes the user's active token", async () => {
    const api = await testApi({ routes, stack: [JWTAuthenticationMiddleware] });
    const [token] = await tokens(api);
    expect((await api.post("/api/out", undefined, { token })).body).toEqual({ user: null });
    expect([await api.storedDigest(ADA.id), await api.storedDigest(BOB.id)]).toEqual([null, expect.any(String)]);
  });

  test("in the request of the login, which has no token, revokes the active one", async () => {
    const inAndOut = Route.post("/in-and-out", async ({ auth }) => {
      await auth.attemptById(ADA.id);
      await auth.logout();
      return { user: await auth.user() };
    });
    const api = await testApi({ routes: [inAndOut], stack: [] });
    await tokens(api);
    expect(await api.post("/api/in-and-out")).toMatchObject({ status: 200, body: { user: null } });
    expect([await api.storedDigest(ADA.id), await api.storedDigest(BOB.id)]).toEqual([null, expect.any(String)]);
  });

  test("of a guest does nothing", async () => {
    const api = await testApi({ routes, stack: [] });
    expect(await api.post("/api/out")).toMatchObject({ status: 200, body: { user: null } });
  });
});
