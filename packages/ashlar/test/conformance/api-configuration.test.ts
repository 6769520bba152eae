import { generateKeyPairSync, randomBytes } from "node:crypto";
import { jwtVerify } from "jose";
import { afterEach, describe, expect, test } from "vitest";
import { JWTAuthenticationMiddleware } from "../../src/api/index.ts";
import { LoadUserMiddleware } from "../../src/auth/index.ts";
import { AshlarError, Route } from "../../src/index.ts";
import { setClock } from "../../src/support/index.ts";
import { ADA, BOB, PASSWORD, SECRET, type TestApi, testApi } from "../support/api-application.ts";

const REFUSED = { status: 401, body: { code: "E_INVALID_TOKEN" } };
const ACCEPTED = { status: 200, body: { open: true } };

afterEach(() => setClock(null));

function travel(minutes: number): void {
  const to = Date.now() + minutes * 60_000;
  setClock(() => to);
}

/** One of the parts of a token that are JSON. */
function part(token: string, index: 0 | 1): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[index]!, "base64url").toString());
}

function open(api: TestApi, token: string) {
  return api.get("/api/open", { token });
}

async function renew(api: TestApi, token: string): Promise<string> {
  const { status, body } = await api.post("/api/reauth", { token });
  expect(status).toBe(200);
  return (body as { readonly data: string }).data;
}

describe("API configuration (DRIVERS, driver jwt)", () => {
  test("algorithm: string, HS512 by default: signing algorithm of the JWT", async () => {
    const api = await testApi();
    expect(part(await api.token(), 0)).toEqual({ alg: "HS512", typ: "JWT" });
    const other = await testApi({ driver: { algorithm: "HS256" } });
    expect(part(await other.token(), 0)).toEqual({ alg: "HS256", typ: "JWT" });
    const { privateKey } = generateKeyPairSync("ed25519", { privateKeyEncoding: { type: "pkcs8", format: "pem" } });
    const asymmetric = await testApi({ driver: { algorithm: "EdDSA", secret: privateKey } });
    const token = await asymmetric.token();
    expect([part(token, 0), await open(asymmetric, token)]).toEqual([
      { alg: "EdDSA", typ: "JWT" },
      expect.objectContaining(ACCEPTED),
    ]);
  });

  test("secret: string: used to encode and decode the token", async () => {
    const api = await testApi();
    const token = await api.token();
    const { payload } = await jwtVerify(token, Buffer.from(SECRET));
    expect(payload.sub).toBe("1");
    const other = await testApi({ sharing: api, driver: { secret: randomBytes(64).toString("base64url") } });
    expect(await open(other, token)).toMatchObject(REFUSED);
    const rotated = { secret: randomBytes(64).toString("base64url"), previousSecrets: [SECRET] };
    expect(await open(await testApi({ sharing: api, driver: rotated }), token)).toMatchObject(ACCEPTED);
  });

  test.each([[undefined], [null], [""], ["short"], ["x".repeat(63)]])(
    "S12 secret: %j ends the boot",
    async (secret) => {
      await expect(testApi({ driver: { secret } })).rejects.toMatchObject({
        code: "E_WEAK_SECRET",
        message: expect.stringMatching(/^config\/api\.ts: DRIVERS\.jwt\.secret: .*npx ashlar api:install/),
      });
    },
  );

  test("model: model class: model that owns tokens", async () => {
    const api = await testApi();
    await api.token("bob@example.com");
    expect([await api.storedDigest(1), await api.storedDigest(2)]).toEqual([null, expect.any(String)]);
    await expect(testApi({ driver: { model: undefined } })).rejects.toMatchObject({ code: "E_INVALID_MODEL" });
  });

  test("expires: integer minutes or None, None by default: token lifetime in minutes", async () => {
    const forever = await (await testApi()).token();
    expect(part(forever, 1)).not.toHaveProperty("exp");
    const { iat, exp } = part(await (await testApi({ driver: { expires: 60 } })).token(), 1);
    expect((exp as number) - (iat as number)).toBe(3600);
  });

  test.each([[0], [-1], [1.5], [Number.NaN], [Number.POSITIVE_INFINITY], ["60"], [true]])(
    "S9 expires: %j is a configuration error",
    async (expires) => {
      await expect(testApi({ driver: { expires } })).rejects.toMatchObject({
        code: "E_INVALID_CONFIGURATION",
        message: expect.stringMatching(/^config\/api\.ts: DRIVERS\.jwt\.expires: .*minutes/),
      });
    },
  );

  test("authenticates: False by default: no database call is made to validate", async () => {
    const api = await testApi();
    const token = await api.token();
    await (await api.User.find(1))!.revokeToken();
    api.forgetQueries();
    expect([await open(api, token), api.queries]).toEqual([expect.objectContaining(ACCEPTED), []]);
  });

  test("authenticates: when True, every request checks the database that the token is set on a user", async () => {
    const api = await testApi({ driver: { authenticates: true } });
    const token = await api.token();
    api.forgetQueries();
    for (const count of [1, 2]) {
      expect(await open(api, token)).toMatchObject(ACCEPTED);
      expect(api.queries).toHaveLength(count);
    }
    await (await api.User.find(1))!.revokeToken();
    expect(await open(api, token)).toMatchObject(REFUSED);
  });

  test("version: value or None, None by default: token version", async () => {
    expect(part(await (await testApi()).token(), 1)).not.toHaveProperty("ver");
    for (const version of [2, "2026-11"]) {
      expect(part(await (await testApi({ driver: { version } })).token(), 1)).toMatchObject({ ver: version });
    }
  });
});

describe("Token response", () => {
  test("JSON object with one field data (string): the JWT", async () => {
    const api = await testApi();
    const auth = await api.post("/api/auth", { username: "ada@example.com", password: PASSWORD });
    const { data } = auth.body as { readonly data: string };
    const reauth = await api.post("/api/reauth", { token: data });
    for (const { status, body, headers } of [auth, reauth]) {
      expect([status, body]).toEqual([200, { data: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) }]);
      expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    }
  });

  test("S16 it is stored by no cache, and neither is its refusal", async () => {
    const api = await testApi();
    const bodies = [{ username: "ada@example.com", password: PASSWORD }, { username: "a", password: "b" }, {}];
    const answers = await Promise.all(bodies.map((body) => api.post("/api/auth", body)));
    expect(answers.map(({ status, headers }) => [status, headers.get("cache-control")])).toEqual([
      [200, "no-store"],
      [401, "no-store"],
      [422, "no-store"],
    ]);
  });

  test("claims: sub, iat, jti; exp, ver, iss, aud as configured; nothing personal", async () => {
    const plain = part(await (await testApi()).token(), 1);
    expect(plain).toEqual({ sub: "1", iat: expect.any(Number), jti: expect.stringMatching(/^[\w-]{22}$/) });
    const driver = { expires: 5, version: 3, issuer: "https://shop.example", audience: "app" };
    expect(part(await (await testApi({ driver })).token(), 1)).toEqual({
      sub: "1",
      iat: expect.any(Number),
      exp: expect.any(Number),
      jti: expect.any(String),
      ver: 3,
      iss: "https://shop.example",
      aud: "app",
    });
  });
});

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

  test("S11 of 20 parallel POSTs to the reauth route with one token exactly one succeeds", async () => {
    const api = await testApi();
    const token = await api.token();
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.post("/api/reauth", { token })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 401)]);
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
        /api-configuration\.test\.ts:\d+: GET \/api\/guarded: No guard is named "jwtt"\. Did you mean "jwt"\?$/,
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
  ])("an api route always answers JSON, also for %s", async (_, path, method, status) => {
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
