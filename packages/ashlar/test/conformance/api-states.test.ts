import { describe, expect, test } from "vitest";
import { JWTAuthenticationMiddleware } from "../../src/api/index.ts";
import { LoadUserMiddleware } from "../../src/auth/index.ts";
import { AshlarError, Route } from "../../src/public/index.ts";
import { ADA, testApi as apiOn, BOB, PASSWORD, type TestApiOptions } from "../support/api-application.ts";
import { onEachDatabase } from "../support/services.ts";
import { ACCEPTED, open, part, REFUSED, renew, travel } from "../support/token-responses.ts";

await onEachDatabase("the states of API tokens", (engine) => {
  const testApi = (options: TestApiOptions = {}) => apiOn({ engine, ...options });

  describe("States and transitions", () => {
    test("API token valid → expired: expires is set and that many minutes have elapsed; must reauthenticate", async () => {
      const api = await testApi({ driver: { expires: 10 } });
      const token = await api.token();
      travel(9.9);
      expect(await open(api, token)).toMatchObject(ACCEPTED);
      travel(10);
      expect(await open(api, token)).toMatchObject(REFUSED);
    });

    test("API token expired or valid → new token issued: POST to reauth route, token input found in the table", async () => {
      const api = await testApi({ driver: { expires: 10, authenticates: true } });
      const first = await api.token();
      const second = await renew(api, first);
      expect([await open(api, first), await open(api, second)]).toMatchObject([REFUSED, ACCEPTED]);
      travel(60);
      const third = await renew(api, second);
      expect([await open(api, second), await open(api, third)]).toMatchObject([REFUSED, ACCEPTED]);
      expect(new Set([first, second, third]).size).toBe(3);
    });

    test("S11 of 20 concurrent POSTs to the reauth route with one token exactly one makes a new token, which all get", async () => {
      const api = await testApi();
      const token = await api.token();
      const answers = await Promise.all(Array.from({ length: 20 }, () => api.post("/api/reauth", { token })));
      expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1);
      expect(answers[0]!.status).toBe(200);
      expect(await api.toldOf("api.token_renewed")).toHaveLength(1);
    });

    test("API token valid → invalid: version in config changes; caller must reauthenticate", async () => {
      const before = await testApi({ driver: { version: 1 } });
      const token = await before.token();
      expect(await open(before, token)).toMatchObject(ACCEPTED);
      const after = await testApi({ sharing: before, driver: { version: 2 } });
      expect(await open(after, token)).toMatchObject(REFUSED);
      expect(await open(after, await after.token())).toMatchObject(ACCEPTED);
    });

    test("user not authenticated → authenticated: attempt / attemptById, credentials or id match", async () => {
      const attempts = [
        Route.get("/attempt", async ({ auth }) => [await auth.attempt("bob@example.com", PASSWORD), await auth.user()]),
        Route.get("/by-id", async ({ auth, request }) => [await auth.attemptById(2), request.user()]),
      ];
      const api = await testApi({ stack: [], routes: attempts });
      for (const path of ["/api/attempt", "/api/by-id"]) {
        expect(await api.get(path)).toMatchObject({ status: 200, body: [BOB, BOB] });
      }
    });

    test("user authenticated → not authenticated: logout", async () => {
      const routes = [
        Route.get("/out", async ({ auth, request }) => {
          const before = await auth.user();
          await auth.logout();
          return [before, await auth.user(), request.user()];
        }),
      ];
      const api = await testApi({ routes, driver: { authenticates: true } });
      const token = await api.token();
      expect(await api.get("/api/out", { token })).toMatchObject({ status: 200, body: [ADA, null, null] });
      expect(await open(api, token)).toMatchObject(REFUSED);
    });
  });

  describe("Loading the user on API routes", () => {
    const who = Route.get("/who", ({ request }) => request.user());

    test("add LoadUserMiddleware to the api stack after JWTAuthenticationMiddleware", async () => {
      const api = await testApi({ stack: [JWTAuthenticationMiddleware, LoadUserMiddleware], routes: [who] });
      expect(await api.get("/api/who", { token: await api.token() })).toMatchObject({ status: 200, body: ADA });
      expect(await api.get("/api/who")).toMatchObject({ status: 401 });
    });

    test('a route uses .middleware("guard:jwt"), the suffix is the guard name', async () => {
      const guarded = Route.get("/guarded", ({ request, auth }) => [auth.guardName, request.user()]);
      const api = await testApi({ routes: [who, guarded.middleware("guard:jwt")] });
      const token = await api.token();
      expect(await api.get("/api/who", { token })).toMatchObject({ status: 200, body: null });
      expect(await api.get("/api/guarded", { token })).toMatchObject({ status: 200, body: ["jwt", ADA] });
    });

    test("both together load the same user, in either order", async () => {
      for (const stack of [
        [JWTAuthenticationMiddleware, LoadUserMiddleware],
        [LoadUserMiddleware, JWTAuthenticationMiddleware],
      ]) {
        const api = await testApi({ stack });
        expect(await api.get("/api/me", { token: await api.token() })).toMatchObject({ status: 200, body: ADA });
      }
    });

    test("an unknown guard name fails at boot, not at the first request", async () => {
      const guarded = Route.get("/guarded", () => "x").middleware("guard:jwtt");
      await expect(testApi({ routes: [guarded] })).rejects.toMatchObject({
        code: "E_UNKNOWN_GUARD",
        message: expect.stringMatching(
          /api-states\.test\.ts:\d+: GET \/api\/guarded: No guard is named "jwtt"\. Did you mean "jwt"\?$/,
        ),
      });
    });

    test("S24 interleaved requests each see their own user", async () => {
      const pause = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
      const slow = Route.get("/slow", async ({ auth, request }) => {
        await pause();
        const early = request.user();
        await pause();
        return [early, await auth.user()];
      }).middleware("guard:jwt");
      const api = await testApi({ routes: [slow] });
      const [ada, bob] = [await api.token(), await api.token("bob@example.com")];
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) => api.get("/api/slow", { token: index % 2 === 0 ? ada : bob })),
      );
      expect(answers.map(({ body }) => body)).toEqual(
        Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? [ADA, ADA] : [BOB, BOB])),
      );
    });
  });

  describe("Errors", () => {
    test("login attempt fails: attempt returns None", async () => {
      const attempts = Route.get("/attempt", async ({ auth }) => [
        await auth.attempt("ada@example.com", "wrong horse battery"),
        await auth.attempt("nobody@example.com", PASSWORD),
        await auth.attemptById(99),
        await auth.user(),
      ]);
      const api = await testApi({ stack: [], routes: [attempts] });
      expect(await api.get("/api/attempt")).toMatchObject({ status: 200, body: [null, null, null, null] });
    });

    test("no authenticated user: auth.user() and request.user() return None", async () => {
      const nobody = Route.get("/nobody", async ({ auth, request }) => [await auth.user(), request.user()]);
      const api = await testApi({ stack: [], routes: [nobody] });
      expect(await api.get("/api/nobody")).toMatchObject({ status: 200, body: [null, null] });
    });

    test("token version differs from config version: token is invalid; caller must reauthenticate", async () => {
      const before = await testApi({ driver: { version: "1" } });
      const tokens = [await before.token(), await (await testApi({ sharing: before })).token("bob@example.com")];
      const after = await testApi({ sharing: before, driver: { version: 1 } });
      for (const token of tokens) {
        expect(await open(after, token)).toMatchObject(REFUSED);
        expect(await after.post("/api/reauth", { token })).toMatchObject(REFUSED);
      }
      expect(await open(after, await after.token())).toMatchObject(ACCEPTED);
    });

    test("token expired: caller must reauthenticate (via the reauth route)", async () => {
      const api = await testApi({ driver: { expires: 1 } });
      const token = await api.token();
      travel(2);
      const { status, headers, body } = await open(api, token);
      expect([status, headers.get("www-authenticate"), body]).toEqual([
        401,
        'Bearer error="invalid_token"',
        {
          type: "about:blank",
          title: "Unauthorized",
          status: 401,
          detail: "The token is not valid.",
          code: "E_INVALID_TOKEN",
        },
      ]);
      expect(await open(api, await renew(api, token))).toMatchObject(ACCEPTED);
    });

    test.each([
      ["404", "/api/missing", "GET", 404],
      ["405", "/api/claims", "DELETE", 405],
      ["500", "/api/broken", "GET", 500],
    ])("an api route always returns JSON, even for %s", async (_, path, method, status) => {
      const routes = [
        Route.get("/missing", () => Promise.reject(new AshlarError("E_NOT_FOUND"))),
        Route.get("/broken", () => Promise.reject(new Error("broken"))),
      ];
      const api = await testApi({ routes, stack: [] });
      const { headers, ...answer } = await api.send(method, path, { headers: { accept: "text/html" } });
      expect([answer.status, headers.get("content-type")]).toEqual([status, "application/problem+json"]);
    });
  });

  describe("Limits", () => {
    test("API token lifetime (expires): minutes; None means unlimited", async () => {
      const limited = await testApi({ driver: { expires: 1440 } });
      const unlimited = await testApi();
      const [short, long] = [await limited.token(), await unlimited.token()];
      travel(1440);
      expect([await open(limited, short), await open(unlimited, long)]).toMatchObject([REFUSED, ACCEPTED]);
      travel(100 * 365 * 1440);
      expect(await open(unlimited, long)).toMatchObject(ACCEPTED);
    });
  });

  describe("Versioning", () => {
    test("1. a token carries a version number when the config version is set", async () => {
      const versioned = await testApi({ driver: { version: 7 } });
      expect(part(await versioned.token(), 1)).toMatchObject({ ver: 7 });
    });

    test("2. on validation, the token's version is compared with config version; a mismatch makes it invalid", async () => {
      const first = await testApi({ driver: { version: 7 } });
      const token = await first.token();
      const outcomes = [];
      for (const version of [7, 8, "7", null]) {
        outcomes.push((await open(await testApi({ sharing: first, driver: { version } }), token)).status);
      }
      expect(outcomes).toEqual([200, 401, 401, 401]);
    });

    test("3. default version is None", async () => {
      const api = await testApi();
      const token = await api.token();
      expect([part(token, 1).ver, await open(api, token)]).toMatchObject([undefined, ACCEPTED]);
    });
  });
});
