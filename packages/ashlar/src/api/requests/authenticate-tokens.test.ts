import { describe, expect, onTestFinished, test } from "vitest";
import { ADA, PASSWORD, type TestApi, testApi } from "../../../test/support/api-application.ts";
import { UserWithToken } from "../../../test/support/application-parts.ts";
import { manyTokensApi } from "../../../test/support/many-tokens.ts";
import { onEachDatabase } from "../../../test/support/services.ts";
import { startIssuer, type TokenIssuer } from "../../../test/support/token-issuer.ts";
import type { Application } from "../../boot/index.ts";
import { Route } from "../../routing/index.ts";
import { generateSecret } from "../../security/index.ts";
import { setClock } from "../../support/index.ts";
import { JWTAuthenticationMiddleware } from "../index.ts";

test("a request of another framework is a user's with an API token, and needs no CSRF token", async () => {
  const api = await testApi();
  const { application } = api;
  const body = new URLSearchParams({ username: ADA.email, password: PASSWORD });
  const issued = await application.fetch(new Request("http://localhost/api/auth", { method: "POST", body }));
  const { data: token } = (await issued.json()) as { data: string };
  const sent = (authorization: string, init: RequestInit = {}) =>
    new Request("http://localhost/orders", { ...init, headers: { authorization } });
  const ada = await application.authenticate(sent(`Bearer ${token}`), { guard: "jwt" });
  expect(ada).toMatchObject({ user: { id: 1 }, guard: "jwt", login: null, claims: { sub: "1" } });
  const post = sent(`Bearer ${token}`, { method: "POST", body: "item=tea&token=other" });
  expect(await application.authenticate(post, { guard: "jwt" })).toMatchObject({ user: { id: 1 } });
  expect(post.bodyUsed).toBe(false);
  for (const forged of [`Bearer ${token}x`, `Basic ${token}`, "Bearer "]) {
    const guest = await application.authenticate(sent(forged), { guard: "jwt" });
    expect(guest).toMatchObject({ user: null, claims: null });
    const response = await guest.refuse();
    expect([response.status, response.headers.get("www-authenticate")?.startsWith("Bearer")]).toEqual([401, true]);
  }
});

test.each([null, "*/*", "text/html,*/*;q=0.8"])(
  "a guest without a token gets JSON, as from the API: accept %s",
  async (accept) => {
    const { application } = await testApi();
    const request = (path: string) =>
      new Request(`http://localhost${path}`, accept === null ? {} : { headers: { accept } });
    const guest = await application.authenticate(request("/orders"), { guard: "jwt" });
    const thrown = await application.errorResponse(request("/orders"), await refusalOf(() => guest.requireUser()));
    const own = await application.fetch(request("/api/me"));
    const expected = [401, "application/problem+json", own.headers.get("www-authenticate"), await own.text()];
    for (const response of [await guest.refuse(), thrown]) {
      const { headers, status } = response;
      const type = headers.get("content-type");
      expect([status, type, headers.get("www-authenticate"), await response.text()]).toEqual(expected);
    }
  },
);

/** Another driver's users. */
class Admin extends UserWithToken {
  static override table = "admins";
}

/** An application that also has another driver, and one for the tokens of another issuer. */
async function severalDrivers(): Promise<{ readonly api: TestApi; readonly issuer: TokenIssuer }> {
  const issuer = await startIssuer();
  const idp = { issuer: issuer.issuer, audience: "https://api.shop.example", jwks: issuer.url, user: () => null };
  const api = await testApi({
    stack: [],
    guards: { default: "web", web: { model: Admin } },
    driver: { authenticates: true, expires: 10, version: 1 },
    drivers: { admin: { secret: generateSecret(), model: Admin }, idp },
    middleware: { jwt: [JWTAuthenticationMiddleware] },
    routes: ["jwt", "idp"].map((driver) => Route.get(`/by/${driver}`, () => ({})).middleware(`jwt:${driver}`)),
  });
  return { api, issuer };
}

/** Creates a token, and puts it into a state in which it is refused. */
const REFUSED: Readonly<Record<string, (api: TestApi, issuer: TokenIssuer) => Promise<string>>> = {
  malformed: async () => "x.y.z",
  "not a JWT": async () => "garbage",
  forged: async (api) => `${await api.token()}x`,
  expired: async (api) => {
    const token = await api.token();
    setClock(() => Date.now() + 11 * 60_000);
    return token;
  },
  revoked: async (api) => {
    const token = await api.token();
    await api.post("/api/logout", {}, { token });
    return token;
  },
  replaced: async (api) => {
    const token = await api.token();
    await api.token();
    return token;
  },
  "of a user who was deleted": async (api) => {
    const token = await api.token();
    await (await api.User.find(ADA.id))!.delete();
    return token;
  },
  "of another version": async (api) => api.application.container.make("api").issue(ADA.id, { ver: 2 }),
  "of another driver": async (api) => api.application.container.make("apiDrivers").issuer("admin").issue(ADA.id),
  "of another issuer": async (_, issuer) => issuer.token(),
};

/** The parts of a response that are visible to a client. */
async function seen(response: Response): Promise<readonly unknown[]> {
  const headers = ["content-type", "www-authenticate", "retry-after", "cache-control", "location"];
  return [response.status, ...headers.map((name) => response.headers.get(name)), await response.text()];
}

/** Another framework's responses to a guest: by `refuse`, and with the error from `requireUser`. */
async function refusals(
  application: Application,
  request: () => Request,
  guard: string | readonly string[],
): Promise<readonly (readonly unknown[])[]> {
  const guest = await application.authenticate(request(), { guard });
  expect(guest).toMatchObject({ user: null, claims: null });
  const thrown = await application.errorResponse(request(), await refusalOf(() => guest.requireUser()));
  return [await seen(await guest.refuse()), await seen(thrown)];
}

const GUARDS = ["jwt", ["web", "jwt"], ["jwt", "web"]] as const;
const ACCEPTS = ["application/json", "*/*", "text/html,*/*;q=0.8"];

describe.each(Object.keys(REFUSED))("a token that is refused: %s", (state) => {
  test("gets the same response as from the API's own routes, whatever the caller accepts", async () => {
    onTestFinished(() => setClock(null));
    const { api, issuer } = await severalDrivers();
    const authorization = `Bearer ${await REFUSED[state]!(api, issuer)}`;
    for (const accept of ACCEPTS) {
      const request = (path = "/orders") =>
        new Request(`http://localhost${path}`, { headers: { authorization, accept } });
      const own = await seen(await api.application.fetch(request("/api/by/jwt")));
      expect(own.slice(0, 3)).toEqual([401, "application/problem+json", 'Bearer error="invalid_token"']);
      expect(JSON.parse(String(own.at(-1)))).toMatchObject({
        code: "E_INVALID_TOKEN",
        detail: "The token is not valid.",
      });
      for (const guard of GUARDS) expect(await refusals(api.application, request, guard)).toEqual([own, own]);
    }
  });
});

test("an unverifiable token from another issuer gets the same response as from the API's own routes", async () => {
  const { api, issuer } = await severalDrivers();
  issuer.respond = (_request, response) => issuer.publish(response, 500);
  const authorization = `Bearer ${await issuer.token()}`;
  const request = (path = "/orders") =>
    new Request(`http://localhost${path}`, { headers: { authorization, accept: "text/html" } });
  const own = await seen(await api.application.fetch(request("/api/by/idp")));
  expect([own[0], own[3], JSON.parse(String(own.at(-1))).code]).toEqual([503, "5", "E_ISSUER_UNAVAILABLE"]);
  // This applies even if the driver didn't issue the token, because it may be valid.
  for (const guard of ["idp", ["web", "idp"], ["jwt", "idp"], ["idp", "jwt"]]) {
    expect(await refusals(api.application, request, guard)).toEqual([own, own]);
  }
});

test("an input named token in a page's URL doesn't turn the visitor into an API client", async () => {
  const { api } = await severalDrivers();
  const request = (accept: string) => () =>
    new Request("http://localhost/invitation?token=abc", { headers: { accept } });
  const [[status, , , , , location] = []] = await refusals(api.application, request("text/html"), ["web", "jwt"]);
  expect([status, location]).toEqual([302, "/login"]);
  for (const [accept, guard] of [
    ["application/json", ["web", "jwt"]],
    ["text/html", "jwt"],
  ] as const) {
    for (const [status, , challenge, , , , text] of await refusals(api.application, request(accept), guard)) {
      expect([status, challenge]).toEqual([401, 'Bearer error="invalid_token"']);
      expect(JSON.parse(String(text))).toMatchObject({ code: "E_INVALID_TOKEN" });
    }
  }
});

test("a guest without a token is redirected to the login page on pages that accept one", async () => {
  const { api } = await severalDrivers();
  for (const headers of [{}, { authorization: "Basic MTox" }, { authorization: "Bearer " }]) {
    const request = () => new Request("http://localhost/orders", { headers: headers as Record<string, string> });
    const [refused] = await refusals(api.application, request, ["web", "jwt"]);
    expect(refused?.[0]).toBe(302);
  }
});

test("a guest with a token is redirected to the login page on pages that accept none, too", async () => {
  const { api } = await severalDrivers();
  const headers = { authorization: `Bearer ${await api.token()}` };
  const [refused] = await refusals(api.application, () => new Request("http://localhost/orders", { headers }), "web");
  expect([refused?.[0], refused?.[5]]).toEqual([302, "/login"]);
});

test("a response varies by everything that was used to identify the user", async () => {
  const { api } = await severalDrivers();
  const authorization = `Bearer ${await api.token()}`;
  const vary = async (guard: string | readonly string[], headers: Record<string, string> = {}) => {
    const visitor = await api.application.authenticate(new Request("http://localhost/orders", { headers }), { guard });
    return [visitor.user !== null, visitor.headers.get("vary")];
  };
  expect(await vary("web")).toEqual([false, "cookie"]);
  expect(await vary("jwt")).toEqual([false, "authorization"]);
  expect(await vary("jwt", { authorization: "Bearer x.y.z" })).toEqual([false, "authorization"]);
  expect(await vary("jwt", { authorization })).toEqual([true, "cookie, authorization"]);
  expect(await vary(["web", "jwt"])).toEqual([false, "cookie, authorization"]);
  expect(await vary(["web", "jwt"], { authorization })).toEqual([true, "cookie, authorization"]);
});

test("CSRF tokens need sessions, even to be checked by the handler", async () => {
  const { application } = await testApi();
  const visitor = await application.authenticate(new Request("http://localhost/orders", { method: "POST" }), {
    guard: "jwt",
  });
  expect(await refusalOf(() => visitor.verifyCsrf("x"))).toMatchObject({ code: "E_SESSION" });
});

async function refusalOf(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    return error;
  }
}

await onEachDatabase("a request of another framework with a token of many()", (engine) => {
  test.each([true, false])("records its use unless readOnly: %s", async (readOnly) => {
    const tokens = await manyTokensApi({ engine, driver: { authenticates: true } });
    // Checks what is stored after a shutdown, which writes pending uses.
    const other = await manyTokensApi({ engine, sharing: tokens.api });
    const { data } = await tokens.login();
    const usedAt = async () => (await other.rows())[0]?.last_used_at;
    const before = await usedAt();
    setClock(() => Date.now() + 6 * 60_000);
    onTestFinished(() => setClock(null));
    const request = new Request("http://localhost/orders", { headers: { authorization: `Bearer ${data}` } });
    const { user } = await tokens.api.application.authenticate(request, { guard: "jwt", readOnly });
    expect(user).toMatchObject({ id: ADA.id });
    await tokens.api.application.shutdown();
    if (readOnly) expect(await usedAt()).toEqual(before);
    else expect(await usedAt()).not.toEqual(before);
  });
});
