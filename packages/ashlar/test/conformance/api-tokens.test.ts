import { afterEach, describe, expect, test } from "vitest";
import { Api, JWTAuthenticationMiddleware } from "../../src/api/index.ts";
import { LoadUserMiddleware } from "../../src/auth/index.ts";
import { Route } from "../../src/routing/index.ts";
import { SigningKey, signJwt } from "../../src/security/jwt/index.ts";
import { setClock } from "../../src/support/index.ts";
import { ADA, testApi as apiOn, BOB, PASSWORD, SECRET, type TestApiOptions } from "../support/api-application.ts";
import { onEachDatabase } from "../support/services.ts";

/** The response to every refused token, whatever the reason. */
const REFUSED = {
  status: 401,
  challenge: 'Bearer error="invalid_token"',
  type: "application/problem+json",
  body: {
    type: "about:blank",
    title: "Unauthorized",
    status: 401,
    detail: "The token is not valid.",
    code: "E_INVALID_TOKEN",
  },
};

/** The parts of a response that could reveal why a token was refused. */
function told({ status, headers, body }: { status: number; headers: Headers; body: unknown }): unknown {
  return { status, challenge: headers.get("www-authenticate"), type: headers.get("content-type"), body };
}

function travel(seconds: number): void {
  const to = Date.now() + seconds * 1000;
  setClock(() => to);
}

afterEach(() => setClock(null));

function payload(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString());
}

await onEachDatabase("API tokens", (engine) => {
  const testApi = (options: TestApiOptions = {}) => apiOn({ engine, ...options });

  describe("Token endpoints", () => {
    test("POST /api/auth returns { data: <jwt> } for a username and a password", async () => {
      const api = await testApi();
      const { status, headers, body } = await api.post("/api/auth", {
        username: "ada@example.com",
        password: PASSWORD,
      });
      expect([status, body]).toEqual([200, { data: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) }]);
      expect(headers.get("content-type")).toMatch(/^application\/json/);
    });

    test("POST /api/auth accepts a form as well", async () => {
      const api = await testApi();
      const form = new URLSearchParams({ username: "ada@example.com", password: PASSWORD });
      expect(await api.post("/api/auth", form)).toMatchObject({ status: 200, body: { data: expect.any(String) } });
    });

    test.each([
      ["a wrong password", "ada@example.com", "wrong horse battery"],
      ["an unknown username", "nobody@example.com", PASSWORD],
      ["text that is not an address", "ada", PASSWORD],
    ])("POST /api/auth with %s is a 401 without a token", async (_, username, password) => {
      const api = await testApi();
      expect(told(await api.post("/api/auth", { username, password }))).toEqual({
        status: 401,
        challenge: "Bearer",
        type: "application/problem+json",
        body: {
          type: "about:blank",
          title: "Unauthorized",
          status: 401,
          detail: "The credentials are not valid.",
          code: "E_INVALID_CREDENTIALS",
        },
      });
      expect(await api.storedDigest(1)).toBeNull();
    });

    test("POST /api/auth without its inputs is a 422 that names both", async () => {
      const api = await testApi();
      const required = (name: string) => {
        return [{ rule: "api.input.required", params: { name }, message: `The ${name} is required.` }];
      };
      expect(await api.post("/api/auth", {})).toMatchObject({
        status: 422,
        body: { errors: { username: required("username"), password: required("password") } },
      });
    });

    test("POST /api/auth does not accept a password in the URL", async () => {
      const api = await testApi();
      const url = `/api/auth?username=ada@example.com&password=${encodeURIComponent(PASSWORD)}`;
      expect(await api.post(url)).toMatchObject({ status: 422 });
    });

    test("POST /api/reauth returns a new token for the current one, which is valid from then on", async () => {
      const api = await testApi({ driver: { authenticates: true } });
      const token = await api.token();
      const { status, body } = await api.post("/api/reauth", { token });
      const renewed = (body as { readonly data: string }).data;
      expect([status, renewed === token]).toEqual([200, false]);
      expect(await api.get("/api/me", { token: renewed })).toMatchObject({ status: 200, body: ADA });
      expect(told(await api.get("/api/me", { token }))).toEqual(REFUSED);
    });

    test("POST /api/reauth checks the table for the old token", async () => {
      const api = await testApi();
      const first = await api.token();
      await api.token();
      expect(told(await api.post("/api/reauth", { token: first }))).toEqual(REFUSED);
    });

    test.each([[{}], [{ token: "" }], [{ token: null }], [{ token: ["a"] }]])(
      "POST /api/reauth with %j is a 422",
      async (body) => {
        const api = await testApi();
        expect(await api.post("/api/reauth", body)).toMatchObject({
          status: 422,
          body: { errors: { token: [{ rule: expect.stringMatching(/^api\.input\.(?:required|text)$/) }] } },
        });
      },
    );

    test("neither sets a cookie, and their routes have names", async () => {
      const api = await testApi();
      const auth = await api.post("/api/auth", { username: "ada@example.com", password: PASSWORD });
      const reauth = await api.post("/api/reauth", { token: (auth.body as { readonly data: string }).data });
      expect([...auth.headers.getSetCookie(), ...reauth.headers.getSetCookie()]).toEqual([]);
      const { router } = api.application;
      expect([router.to("api.auth"), router.to("api.reauth")]).toEqual(["/api/auth", "/api/reauth"]);
    });

    test("both return JSON whatever the client accepts", async () => {
      const api = await testApi();
      const headers = { accept: "text/html" };
      for (const path of ["/api/auth", "/api/reauth"]) {
        const answer = await api.post(path, {}, { headers });
        expect([answer.status, answer.headers.get("content-type")]).toEqual([422, "application/problem+json"]);
      }
    });

    test("Api.routes({ authRoute, reauthRoute }) puts them at those paths", async () => {
      const api = await testApi({ web: Api.routes({ authRoute: "/token", reauthRoute: "/token/renew" }) });
      const { body } = await api.post("/token", { username: "ada@example.com", password: PASSWORD });
      expect(await api.post("/token/renew", { token: (body as { readonly data: string }).data })).toMatchObject({
        status: 200,
      });
      expect([(await api.post("/api/auth")).status, (await api.post("/api/reauth")).status]).toEqual([404, 404]);
    });

    test("Api.routes() without one of the two options keeps that path", async () => {
      const api = await testApi({ web: Api.routes({ authRoute: "/token" }) });
      const statuses = [(await api.post("/token", {})).status, (await api.post("/api/reauth", {})).status];
      expect(statuses).toEqual([422, 422]);
    });
  });

  describe("Calling protected API routes", () => {
    test.each([["Bearer"], ["bearer"], ["BEARER"]])(
      "the header Authorization: %s <token> is the token",
      async (scheme) => {
        const api = await testApi();
        const headers = { authorization: `${scheme} ${await api.token()}` };
        expect(await api.get("/api/open", { headers })).toMatchObject({ status: 200, body: { open: true } });
      },
    );

    test("the input token is the token: JSON, form, multipart and query", async () => {
      const api = await testApi();
      const token = await api.token();
      const multipart = new FormData();
      multipart.set("token", token);
      const answers = [
        await api.post("/api/open", { token }),
        await api.post("/api/open", new URLSearchParams({ token })),
        await api.post("/api/open", multipart),
        await api.get(`/api/open?token=${token}`),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    });

    test("a missing token is a 401 with a Bearer challenge, without an error", async () => {
      const api = await testApi();
      expect(told(await api.get("/api/open"))).toEqual({
        status: 401,
        challenge: "Bearer",
        type: "application/problem+json",
        body: {
          type: "about:blank",
          title: "Unauthorized",
          status: 401,
          detail: "Authentication is required.",
          code: "E_UNAUTHENTICATED",
        },
      });
    });

    test.each(["authenticates", "no database"])("every refused token gets the same response (%s)", async (mode) => {
      const authenticates = mode === "authenticates";
      const api = await testApi({ driver: { authenticates, expires: 60, version: 2 } });
      const sign = (claims: object, secret = SECRET, algorithm: "HS256" | "HS512" = "HS512") =>
        signJwt({ sub: "1", ver: 2, ...claims }, new SigningKey(algorithm, secret));
      const parts = (await api.token()).split(".");
      const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString("base64url");
      const tokens = {
        garbage: "garbage",
        "foreign secret": sign({}, SECRET.toUpperCase()),
        "other algorithm": sign({}, SECRET, "HS256"),
        none: `${none}.${parts[1]}.`,
        expired: sign({ exp: 1 }),
        "other version": sign({ ver: 1 }),
        "version of another type": sign({ ver: "2" }),
        "missing version": signJwt({ sub: "1" }, new SigningKey("HS512", SECRET)),
        "missing subject": sign({ sub: "" }),
        ...(authenticates ? { "set on no user": sign({}), "of no user": sign({ sub: "99" }) } : {}),
      };
      for (const [what, token] of Object.entries(tokens)) {
        expect([what, told(await api.get("/api/open", { token }))]).toEqual([what, REFUSED]);
      }
    });
  });

  describe("authenticates", () => {
    test("false: a valid token costs no query, counted in the database", async () => {
      const api = await testApi();
      const token = await api.token();
      api.forgetQueries();
      expect(await api.get("/api/claims", { token })).toMatchObject({ status: 200, body: { sub: "1" } });
      expect(api.queries).toEqual([]);
    });

    test("false: a valid token is accepted even if it is not set on a user", async () => {
      const api = await testApi();
      const token = await api.token();
      await api.token();
      expect(await api.get("/api/open", { token })).toMatchObject({ status: 200 });
    });

    test("true: a valid token costs one query, whatever reads the user afterwards", async () => {
      const api = await testApi({
        driver: { authenticates: true },
        stack: [JWTAuthenticationMiddleware, LoadUserMiddleware],
      });
      const token = await api.token();
      for (const path of ["/api/open", "/api/me", "/api/user", "/api/mine"]) {
        api.forgetQueries();
        expect([(await api.get(path, { token })).status, api.queries.length]).toEqual([200, 1]);
      }
    });

    test("true: a token that was replaced or revoked, or whose user was deleted, is refused", async () => {
      const api = await testApi({ driver: { authenticates: true } });
      const [first, second] = [await api.token(), await api.token()];
      expect(told(await api.get("/api/open", { token: first }))).toEqual(REFUSED);
      expect(await api.get("/api/open", { token: second })).toMatchObject({ status: 200 });
      await (await api.User.find(1))!.revokeToken();
      expect(told(await api.get("/api/open", { token: second }))).toEqual(REFUSED);
      const third = await api.token("bob@example.com");
      await (await api.User.find(2))!.delete();
      expect(told(await api.get("/api/open", { token: third }))).toEqual(REFUSED);
    });
  });

  describe("The user of an API request", () => {
    test("request.user() is null until the user is loaded", async () => {
      const api = await testApi({ routes: [Route.get("/nobody", ({ request }) => request.user())] });
      expect(await api.get("/api/nobody", { token: await api.token() })).toMatchObject({ status: 200, body: null });
    });

    test("guard:jwt loads the user of the token, without hidden columns", async () => {
      const api = await testApi();
      expect(await api.get("/api/me", { token: await api.token() })).toMatchObject({ status: 200, body: ADA });
      const { body } = await api.get("/api/me", { token: await api.token("bob@example.com") });
      expect(body).toEqual(BOB);
    });

    test("guard:jwt on a route without the api stack does not refuse anyone", async () => {
      const web = [...Api.routes(), Route.get("/who", ({ request }) => request.user()).middleware("guard:jwt")];
      const api = await testApi({ web });
      expect(await api.get("/who", { token: await api.token() })).toMatchObject({ status: 200, body: ADA });
      expect(await api.get("/who")).toMatchObject({ status: 200, body: null });
      expect(await api.get("/who", { token: "garbage" })).toMatchObject({ status: 200, body: null });
    });

    test.each([
      ["after", [JWTAuthenticationMiddleware, LoadUserMiddleware]],
      ["before", [LoadUserMiddleware, JWTAuthenticationMiddleware]],
    ])("LoadUserMiddleware %s JWTAuthenticationMiddleware returns the same user, in one query", async (_, stack) => {
      for (const authenticates of [false, true]) {
        const api = await testApi({ stack, driver: { authenticates } });
        const token = await api.token();
        api.forgetQueries();
        expect(await api.get("/api/me", { token })).toMatchObject({ status: 200, body: ADA });
        expect(api.queries).toHaveLength(1);
      }
    });

    test("auth refuses a valid token whose user has been deleted", async () => {
      const api = await testApi();
      const token = await api.token();
      await (await api.User.find(1))!.delete();
      expect(await api.get("/api/open", { token })).toMatchObject({ status: 200 });
      expect(await api.get("/api/me", { token })).toMatchObject({ status: 200, body: null });
      expect(await api.get("/api/mine", { token })).toMatchObject({ status: 401 });
    });

    test("the operations of the Auth class work on the guard jwt", async () => {
      const routes = [
        Route.post("/operations", async ({ auth, request }) => {
          const { username, password } = request.only("username", "password");
          const attempted = await auth.attempt(username, password);
          const checked = await auth.check();
          await auth.logout();
          return [attempted, checked, await auth.user(), await auth.attemptById(2), request.user()];
        }),
      ];
      const api = await testApi({ routes });
      const token = await api.token();
      const sent = { username: "ada@example.com", password: PASSWORD };
      const { body } = await api.post("/api/operations", sent, { token });
      expect(body).toEqual([ADA, true, null, BOB, BOB]);
      expect(await api.storedDigest(1)).toBeNull();
    });
  });

  describe("Lifetime", () => {
    test("expires null: a token never expires", async () => {
      const api = await testApi();
      const token = await api.token();
      expect(payload(token)).not.toHaveProperty("exp");
      travel(50 * 365 * 86_400);
      expect(await api.get("/api/open", { token })).toMatchObject({ status: 200 });
    });

    test("expires n: a token expires after n minutes, and the reauth route renews it", async () => {
      const api = await testApi({ driver: { expires: 60 } });
      const token = await api.token();
      travel(59 * 60);
      expect(await api.get("/api/open", { token })).toMatchObject({ status: 200 });
      travel(61 * 60);
      expect(told(await api.get("/api/open", { token }))).toEqual(REFUSED);
      const { body } = await api.post("/api/reauth", { token });
      const renewed = (body as { readonly data: string }).data;
      expect(await api.get("/api/open", { token: renewed })).toMatchObject({ status: 200 });
    });

    test("reauthWithinMinutes n: the reauth route renews up to n minutes after the expiry", async () => {
      const api = await testApi({ driver: { expires: 60, reauthWithinMinutes: 30 } });
      const [ada, bob] = [await api.token(), await api.token("bob@example.com")];
      travel(89 * 60);
      expect(await api.post("/api/reauth", { token: ada })).toMatchObject({ status: 200 });
      travel(91 * 60);
      expect(told(await api.post("/api/reauth", { token: bob }))).toEqual(REFUSED);
    });
  });

  describe("Versioning", () => {
    test("a token contains the configured version, if there is one", async () => {
      const plain = await testApi();
      const versioned = await testApi({ sharing: plain, driver: { version: "2026-11" } });
      expect(payload(await plain.token())).not.toHaveProperty("ver");
      expect(payload(await versioned.token())).toMatchObject({ ver: "2026-11" });
    });

    test("a changed version invalidates existing tokens, for renewal too; credentials get a new one", async () => {
      const before = await testApi({ driver: { version: 1 } });
      const token = await before.token();
      expect(await before.get("/api/open", { token })).toMatchObject({ status: 200 });
      const after = await testApi({ sharing: before, driver: { version: 2 } });
      expect(told(await after.get("/api/open", { token }))).toEqual(REFUSED);
      expect(told(await after.post("/api/reauth", { token }))).toEqual(REFUSED);
      expect(await after.get("/api/open", { token: await after.token() })).toMatchObject({ status: 200 });
    });
  });

  describe("The token-bearing model", () => {
    test("generateJwt() returns the user's new active token, and attemptByToken() the user of an active token", async () => {
      const api = await testApi({ driver: { authenticates: true } });
      const user = (await api.User.find(1))!;
      const token = await user.generateJwt();
      expect(await api.get("/api/me", { token })).toMatchObject({ status: 200, body: ADA });
      expect(await api.User.attemptByToken(token)).toMatchObject({ id: 1 });
      await user.generateJwt();
      expect(await api.User.attemptByToken(token)).toBeNull();
    });

    test.each([[null], [undefined], [1], [["a"]], [{}], [""], ["garbage"]])(
      "attemptByToken(%j) is null",
      async (token) => {
        const api = await testApi();
        api.forgetQueries();
        expect(await api.User.attemptByToken(token)).toBeNull();
        expect(api.queries).toEqual([]);
      },
    );

    test("revokeToken() empties the column, and leaves other changes of the model unsaved", async () => {
      const api = await testApi({ driver: { authenticates: true } });
      const token = await api.token();
      const user = (await api.User.find(1))!;
      user.name = "Augusta";
      await user.revokeToken();
      expect(await api.storedDigest(1)).toBeNull();
      expect((await api.User.find(1))!.name).toBe("Ada");
      expect(told(await api.get("/api/open", { token }))).toEqual(REFUSED);
    });

    test("the column holds a digest, never the token", async () => {
      const api = await testApi();
      const token = await api.token();
      const stored = await api.storedDigest(1);
      expect(stored).toMatch(/^[\w-]{43}$/);
      expect(token).not.toContain(stored);
      expect(await api.User.attemptByToken(stored)).toBeNull();
    });

    test("static tokenColumn names another column", async () => {
      const api = await testApi();
      const { kysely } = api.application.container.make("database");
      await kysely.schema.alterTable("users").addColumn("session_key", "text").execute();
      api.User.tokenColumn = "session_key";
      const token = await api.token();
      const user = (await api.User.find(1))! as unknown as Record<string, unknown>;
      expect([user.api_token, user.session_key]).toEqual([null, expect.stringMatching(/^[\w-]{43}$/)]);
      expect(await api.post("/api/reauth", { token })).toMatchObject({ status: 200 });
    });
  });

  describe("Events", () => {
    test("api.token_issued, api.token_renewed and api.token_refused have time, user, address and guard", async () => {
      const api = await testApi();
      const sent = { ip: "203.0.113.7" };
      const { body } = await api.post("/api/auth", { username: "ada@example.com", password: PASSWORD }, sent);
      const token = (body as { readonly data: string }).data;
      await api.post("/api/reauth", { token }, sent);
      setClock(() => Date.now() + 120_000);
      await api.post("/api/reauth", { token }, sent);
      await api.get("/api/open", { ...sent, token: "garbage" });
      await api.get("/api/open", sent);
      const common = { time: expect.any(Date), address: "203.0.113.7", guard: "jwt" };
      expect(await api.toldOf("api.token_issued")).toEqual([{ ...common, userId: "1" }]);
      expect(await api.toldOf("api.token_renewed")).toEqual([{ ...common, userId: "1" }]);
      expect(await api.toldOf("api.token_refused")).toEqual([
        { ...common, userId: "1", reason: "inactive" },
        { ...common, userId: null, reason: "malformed" },
      ]);
    });

    test("S47 a token that is refused on renewal is reported as well", async () => {
      const api = await testApi();
      await api.post("/api/reauth", { token: "garbage" }, { ip: "203.0.113.7" });
      expect(await api.toldOf("api.token_refused")).toEqual([
        { time: expect.any(Date), address: "203.0.113.7", guard: "jwt", userId: null, reason: "malformed" },
      ]);
    });

    test("a refused token is reported once, however often it is read", async () => {
      const routes = [
        Route.get("/often", ({ apiToken }) => apiToken.claims).middleware("guard:jwt", "user", "guard:jwt"),
      ];
      const api = await testApi({ stack: [LoadUserMiddleware], routes });
      await api.get("/api/often", { token: "garbage" });
      expect(await api.toldOf("api.token_refused")).toHaveLength(1);
    });
  });
});
