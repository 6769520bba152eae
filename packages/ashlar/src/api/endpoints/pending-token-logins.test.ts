import { afterEach, describe, expect, test } from "vitest";
import { ADA, BOB, PASSWORD, type TestApiOptions, testApi } from "../../../test/support/api-application.ts";
import { CODE, code, shopWith, terms } from "../../../test/support/login-steps.ts";
import { manyTokensApi } from "../../../test/support/many-tokens.ts";
import { mariadb, postgres } from "../../../test/support/services.ts";
import { GuardMiddleware, type LoginStep } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import { Route } from "../../routing/index.ts";
import { generateSecret } from "../../security/index.ts";
import { setClock } from "../../support/index.ts";
import { ThrottleProvider } from "../../throttle/index.ts";
import { AbilityMiddleware } from "../requests/ability-middleware.ts";
import { many } from "../settings/token-settings.ts";
import { Api } from "./api.ts";

const CREDENTIALS = { username: "ada@example.com", password: PASSWORD };
const JSON_ANSWER = { accept: "application/json" };
const MINUTE = 60_000;

afterEach(() => setClock(null));

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends JSON like an API client. */
async function post(
  { application }: { readonly application: Application },
  path: string,
  body: object = {},
  bearer?: string,
): Promise<Answered> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  const authorization = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  const init = { method: "POST", headers: { ...headers, ...authorization }, body: JSON.stringify(body) };
  const response = await application.fetch(new Request(new URL(path, "http://localhost"), init));
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? {} : JSON.parse(text) };
}

type Shop = { readonly application: Application };

/** The text for a login that waits for a code. */
async function begun(shop: Shop, path = "/api/auth", credentials: object = CREDENTIALS): Promise<string> {
  const { status, body } = await post(shop, path, credentials);
  expect([status, body]).toMatchObject([401, { code: "E_LOGIN_PENDING", pending: expect.any(String) }]);
  return body.pending as string;
}

const INVALID = { status: 401, body: { code: "E_INVALID_TOKEN" } };

/** An application without a guard that keeps logins, so without a store of them. */
const withoutStore = (steps: readonly LoginStep[], options: TestApiOptions = {}) =>
  testApi({ guards: { steps }, providers: [ThrottleProvider], ...options });

describe.each<[string, (steps: readonly LoginStep[]) => Promise<Shop>]>([
  ["with a store of logins", shopWith],
  ["without a store", withoutStore],
])("a login at the token endpoint that waits, %s", (_, open) => {
  test("says how it continues, and is completed by a second request with the step's proof", async () => {
    const shop = await open([code]);
    const { body, headers } = await post(shop, "/api/auth", CREDENTIALS);
    expect(body).toMatchObject({ step: "code", flows: [{ id: "code", url: "/api/auth" }] });
    expect([headers.get("cache-control"), headers.get("set-cookie")]).toEqual(["no-store", null]);
    const { status, body: issued } = await post(shop, "/api/auth", { code: CODE }, body.pending as string);
    expect([status, issued]).toEqual([200, { data: expect.any(String) }]);
  });

  test("stays open after a wrong proof", async () => {
    const shop = await open([code]);
    const pending = await begun(shop);
    const wrong = await post(shop, "/api/auth", { code: "000000" }, pending);
    expect([wrong.status, wrong.body]).toMatchObject([401, { code: "E_LOGIN_PENDING", step: "code", pending }]);
    expect((await post(shop, "/api/auth", { code: CODE }, pending)).status).toBe(200);
  });

  test("goes from step to step, and a step that was passed is not asked again", async () => {
    const asked: string[] = [];
    const second: LoginStep = {
      name: "second",
      flows: () => [{ id: "card", field: "card" }],
      async check({ context, passed, prove }) {
        asked.push(passed.join());
        const given = context.request.bodyInput("card");
        return given !== null && (await prove(() => given === "7")) ? "passed" : "pending";
      },
    };
    const shop = await open([code, second]);
    const first = await begun(shop);
    const { body } = await post(shop, "/api/auth", { code: CODE }, first);
    expect(body).toMatchObject({ step: "second", flows: [{ id: "card", field: "card", url: "/api/auth" }] });
    expect((await post(shop, "/api/auth", { card: "7" }, body.pending as string)).status).toBe(200);
    expect(asked).toEqual(["code", "code"]);
  });

  test("S51 ends after ten minutes, and when access to the account ends", async () => {
    const shop = await open([code]);
    const User = (shop as unknown as { User: { find(id: number): Promise<{ endAccess(): Promise<unknown> }> } }).User;
    const start = Date.now();
    const late = await begun(shop);
    setClock(() => start + 10 * MINUTE + 1000);
    expect(await post(shop, "/api/auth", { code: CODE }, late)).toMatchObject(INVALID);
    const stale = await begun(shop);
    await (await User.find(ADA.id)).endAccess();
    expect(await post(shop, "/api/auth", { code: CODE }, stale)).toMatchObject(INVALID);
  });

  test("S51 a step that was passed gives it no more time", async () => {
    const shop = await open([code, { name: "second", check: () => "pending" }]);
    const start = Date.now();
    const first = await begun(shop);
    setClock(() => start + 9 * MINUTE);
    const { body } = await post(shop, "/api/auth", { code: CODE }, first);
    expect(body.step).toBe("second");
    setClock(() => start + 10 * MINUTE + 1000);
    expect(await post(shop, "/api/auth", {}, body.pending as string)).toMatchObject(INVALID);
  });

  test("S33 the proof is limited by account, as everywhere", async () => {
    const shop = await open([code]);
    const pending = await begun(shop);
    const statuses: number[] = [];
    for (let guess = 0; guess < 7; guess++) {
      statuses.push((await post(shop, "/api/auth", { code: "000000" }, pending)).status);
    }
    expect([statuses.indexOf(429), statuses.at(-1)]).toEqual([5, 429]);
    // Another login to the account has no additional attempts.
    expect((await post(shop, "/api/auth", { code: CODE }, await begun(shop))).status).toBe(429);
  });

  test("S69 is not continued at another endpoint's guard, and belongs to its user", async () => {
    const shop = await open([code]);
    const pending = await begun(shop);
    const altered = `${pending.slice(0, -6)}${pending.at(-6) === "A" ? "B" : "A"}${pending.slice(-5)}`;
    for (const text of [altered, pending.slice(8), `x${pending}`, "pending_", pending.slice(0, 40)]) {
      expect((await post(shop, "/api/auth", { code: CODE }, text)).body).toMatchObject(INVALID.body);
    }
    const { body } = await post(shop, "/api/auth", { code: CODE, user_id: BOB.id, id: BOB.id }, pending);
    const [, payload] = (body.data as string).split(".");
    expect(JSON.parse(Buffer.from(payload!, "base64url").toString())).toMatchObject({ sub: String(ADA.id) });
  });

  test("a step that refuses ends it", async () => {
    let refuses = false;
    const closing: LoginStep = {
      name: "closing",
      check: () => (refuses ? { failed: "Closed." } : "pending"),
    };
    const shop = await open([closing]);
    const pending = await begun(shop);
    refuses = true;
    const { status, body } = await post(shop, "/api/auth", {}, pending);
    expect([status, body]).toMatchObject([403, { code: "E_LOGIN_REFUSED", step: "closing" }]);
  });

  test("requests with a password begin another login, whatever they carry", async () => {
    const shop = await open([code]);
    const pending = await begun(shop);
    const { status, body } = await post(shop, "/api/auth", CREDENTIALS, pending);
    expect([status, body.code, body.pending === pending]).toEqual([401, "E_LOGIN_PENDING", false]);
    const { body: missing } = await post(shop, "/api/auth", { code: CODE });
    expect(missing).toMatchObject({ code: "E_INVALID_INPUT" });
  });
});

describe.each([
  ["SQLite", undefined],
  ["PostgreSQL", postgres],
  ["MariaDB", mariadb],
])("S142 on %s", (_, engine) => {
  test("of twenty requests at once with one text, one gets a token, and none after it", async () => {
    const free: LoginStep = {
      name: "free",
      check: ({ context }) => (context.request.bodyInput("go") ? "passed" : "pending"),
    };
    const shop = await shopWith([free], engine === undefined ? {} : { engine });
    const pending = await begun(shop);
    const all = await Promise.all(Array.from({ length: 20 }, () => post(shop, "/api/auth", { go: true }, pending)));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200, 401]));
    expect(await post(shop, "/api/auth", { go: true }, pending)).toMatchObject(INVALID);
  });
});

test("S142 an earlier text of a login is used up once a step was passed with it", async () => {
  const shop = await shopWith([code, terms]);
  const first = await begun(shop);
  const { body } = await post(shop, "/api/auth", { code: CODE }, first);
  expect(body).toMatchObject({ step: "terms" });
  expect(await post(shop, "/api/auth", { code: CODE }, first)).toMatchObject(INVALID);
});

test("a step's inputs are sent to the endpoint, not to its page, where no login waits", async () => {
  const flows = () => [
    { id: "code", field: "code" },
    { id: "passkey", field: "assertion", url: "/passkey" },
  ];
  const shop = await shopWith([{ ...code, flows }]);
  const { body } = await post(shop, "/api/auth", CREDENTIALS);
  expect(body.flows).toEqual([
    { id: "code", field: "code", url: "/api/auth" },
    { id: "passkey", field: "assertion", url: "/api/auth" },
  ]);
});

test("S69 the text of one driver's login is refused by another driver with the same users", async () => {
  const { api } = await manyTokensApi({
    drivers: { app: { secret: generateSecret(), tokens: many() } },
    guards: { default: "jwt", steps: [code] },
    providers: [ThrottleProvider],
    web: [...Api.routes(), ...Api.routes({ driver: "app" })],
  });
  const { body } = await post(api, "/api/app/auth", CREDENTIALS);
  expect(body.flows).toEqual([{ id: "code", url: "/api/app/auth" }]);
  const pending = body.pending as string;
  expect(await post(api, "/api/auth", { code: CODE }, pending)).toMatchObject(INVALID);
  expect((await post(api, "/api/app/auth", { code: CODE }, pending)).status).toBe(200);
});

/** All ways in which an API request names its user. */
const ROUTES = [
  Route.post("/guarded", ({ request }) => request.user()).middleware("guard:jwt", "auth"),
  Route.post("/writes", () => "written").middleware("ability:orders.write"),
  Route.post("/by-claims", ({ apiToken }) => ({ claims: apiToken.claims })),
];

describe.each([
  ["looked up in the database", true],
  ["only verified", false],
])("S140 nothing of a login that waits authenticates, with tokens %s", (_, authenticates) => {
  const opened = () =>
    withoutStore([code], {
      driver: { authenticates },
      routes: ROUTES,
      abilities: ["orders.write"],
      middleware: { guard: [GuardMiddleware], ability: [AbilityMiddleware] },
    });
  const REFUSED = ["/api/guarded", "/api/writes", "/api/by-claims", "/api/open", "/api/reauth"];

  test.each(REFUSED)("at %s", async (path) => {
    const api = await opened();
    const pending = await begun(api);
    for (const sent of [
      () => post(api, path, {}, pending),
      () => post(api, path, { token: pending }),
      () => post(api, `${path}?token=${pending}`, {}),
    ]) {
      const { status } = await sent();
      expect([401, 422]).toContain(status);
    }
    // Once the login is complete, the text doesn't work either.
    expect((await post(api, "/api/auth", { code: CODE }, pending)).status).toBe(200);
    expect((await post(api, path, {}, pending)).status).not.toBe(200);
  });

  test("at any guard, also for other frameworks, and a logout with it ends nothing", async () => {
    const api = await opened();
    const held = (await post(api, "/api/auth", { ...CREDENTIALS, code: CODE })).body.data as string;
    const pending = await begun(api);
    for (const guard of api.application.container.make("auth").names) {
      for (const headers of [
        { authorization: `Bearer ${pending}` },
        { cookie: `token=${pending}; __Host-token=${pending}` },
      ]) {
        const request = new Request("http://localhost/", { headers: headers as Record<string, string> });
        const found = await api.application.authenticate(request, { guard, readOnly: true });
        expect([guard, found.user, found.claims]).toEqual([guard, null, null]);
      }
    }
    await post(api, "/api/logout", {}, pending);
    expect((await post(api, "/api/guarded", {}, held)).status).toBe(200);
    expect((await post(api, "/api/auth", { code: CODE }, pending)).status).toBe(200);
  });
});

test("S140 it isn't a login in a cookie either, and guards that keep logins hand out no texts", async () => {
  const shop = await shopWith([code]);
  const pending = await begun(shop);
  for (const guard of ["web", "admin", "jwt"]) {
    for (const name of ["token", "__Host-token", "admin_token", "__Host-admin_token"]) {
      const request = new Request("http://localhost/", { headers: { cookie: `${name}=${pending}` } });
      expect((await shop.application.authenticate(request, { guard, readOnly: true })).user).toBeNull();
    }
  }
  const { body } = await shop.visitor().post("/login", { email: ADA.email, password: PASSWORD }, JSON_ANSWER);
  expect(body).toEqual({ data: { status: "pending", step: "code", flows: [{ id: "code", url: "/code" }] } });
});
