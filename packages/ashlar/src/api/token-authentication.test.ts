import { describe, expect, test } from "vitest";
import { ADA, BOB, PASSWORD, type TestApi, type TestApiOptions, testApi } from "../../test/support/api-application.ts";
import { manyTokensApi } from "../../test/support/many-tokens.ts";
import type { LoginStep } from "../auth/index.ts";
import { declareFeature, type Feature, Provider } from "../boot/index.ts";
import type { HttpContext } from "../http/index.ts";
import { Route } from "../routing/index.ts";
import { setClock } from "../support/index.ts";
import { ThrottleProvider } from "../throttle/index.ts";
import { Api } from "./endpoints/api.ts";

const CREDENTIALS = { username: ADA.email, password: PASSWORD };
const START = 1_900_000_000_000;

/** A proof that logs a user in by their name. */
class BadgeProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "badge",
    proofs: { badge: () => ({ amr: ["sc"], startsLogins: true, has: () => true }) },
  });
}

const code: LoginStep = {
  name: "code",
  amr: ["otp"],
  async check({ amr, context, prove, purpose }) {
    if (purpose === "renewal" || amr.includes("mfa")) return "passed";
    const given = context.request.bodyInput("code");
    if (given === null) return { pending: "A code is missing." };
    return (await prove(() => given === "314159")) ? "passed" : { pending: "This code is wrong." };
  },
};

/** A token endpoint for badges. */
function badgeRoute(options: { readonly guard?: string; readonly amr?: readonly string[] } = {}) {
  const { guard: name = "jwt", amr } = options;
  return Route.post("/badge", async (context: HttpContext) => {
    const guard = context.auth.guard(name as "jwt");
    const user = await (guard as unknown as { model: { findByAuthId(id: number): Promise<never> } }).model.findByAuthId(
      Number(context.request.bodyInput("id")),
    );
    const by = { by: "badge", ...(amr !== undefined && { amr }) };
    return Api.respond(context, user === null ? await guard.fail({ by: "badge" }) : await guard.enter(user, by));
  }).respondsWithJson();
}

/** The claims of a response's access token. */
function claimsIn(body: unknown): Record<string, unknown> {
  const [, payload] = (body as { readonly data: string }).data.split(".");
  return JSON.parse(Buffer.from(payload!, "base64url").toString()) as Record<string, unknown>;
}

const saying = (driver: object = {}): TestApiOptions => ({
  driver: { authenticationClaims: true, ...driver },
  guards: { steps: [code] },
  providers: [ThrottleProvider, BadgeProvider],
  web: [...Api.routes(), badgeRoute()],
});

async function renewed(api: TestApi, body: unknown): Promise<unknown> {
  const { data, refresh = data } = body as { readonly data: string; readonly refresh?: string };
  return (await api.post("/api/reauth", { token: refresh })).body;
}

describe.each([
  ["one per user", testApi],
  ["several per user", async (options: TestApiOptions) => (await manyTokensApi(options)).api],
])("authenticationClaims, tokens: %s", (_, open) => {
  test("record their user's proof and its time, even after renewals", async () => {
    const api = await open(saying());
    setClock(() => START);
    const answer = await api.post("/api/auth", { ...CREDENTIALS, code: "314159" });
    const said = { auth_time: START / 1000, amr: ["pwd", "otp", "mfa"] };
    expect(claimsIn(answer.body)).toMatchObject(said);
    setClock(() => START + 120_000);
    const again = await renewed(api, answer.body);
    expect(claimsIn(again)).toMatchObject({ ...said, iat: expect.any(Number) });
    setClock(() => START + 240_000);
    expect(claimsIn(await renewed(api, again))).toMatchObject(said);
    setClock(null);
  });

  test("say nothing unless they are on", async () => {
    const api = await open({});
    const claims = claimsIn((await api.post("/api/auth", CREDENTIALS)).body);
    expect([claims.auth_time, claims.amr]).toEqual([undefined, undefined]);
  });

  test("Api.respond() answers a login by any proof as the token endpoint does", async () => {
    const api = await open(saying());
    const missing = await api.post("/badge", { id: BOB.id });
    expect([missing.status, missing.body]).toMatchObject([
      401,
      { code: "E_LOGIN_PENDING", step: "code", detail: "A code is missing." },
    ]);
    const wrong = await api.post("/badge", { id: BOB.id, code: "0" });
    expect(wrong.body).toMatchObject({ code: "E_LOGIN_PENDING", detail: "This code is wrong." });
    const answer = await api.post("/badge", { id: BOB.id, code: "314159" });
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(claimsIn(answer.body)).toMatchObject({ sub: String(BOB.id), amr: ["sc", "otp"] });
    const { data } = answer.body as { readonly data: string };
    expect((await api.get("/api/me", { token: data })).body).toMatchObject({ id: BOB.id });
    const unknown = await api.post("/badge", { id: 4711 });
    expect([unknown.status, unknown.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(unknown.body).toMatchObject({ code: "E_INVALID_CREDENTIALS" });
    expect(await api.toldOf("auth.failed")).toMatchObject([{ by: "code" }, { by: "badge", user: null }]);
  });
});

test("a proof that was two factors this time lets the step for a second one pass", async () => {
  const options = saying();
  const api = await testApi({ ...options, web: [badgeRoute({ amr: ["hwk", "user", "mfa"] })] });
  const answer = await api.post("/badge", { id: ADA.id });
  expect(claimsIn(answer.body)).toMatchObject({ amr: ["hwk", "user", "mfa"] });
});
