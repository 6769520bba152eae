import { afterEach, describe, expect, test } from "vitest";
import {
  ADA,
  BOB,
  PASSWORD,
  type TestAccounts,
  testAccounts,
  type Visitor,
} from "../../../test/support/account-application.ts";
import { type TestApi, testApi } from "../../../test/support/api-application.ts";
import { declareFeature, type Feature, Provider } from "../../boot/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { now, setClock } from "../../support/index.ts";
import { ThrottleProvider } from "../../throttle/index.ts";
import type { LoginStep } from "../proofs/login-step.ts";
import type { FeatureProof } from "../proofs/proof.ts";
import { ConfirmPasswordMiddleware } from "./confirm-password-middleware.ts";

const MINUTE = 60_000;
const JSON_ANSWER = { accept: "application/json" };
const PAGE = { accept: "text/html" };
const CODE = "314159";

afterEach(() => setClock(null));

function travel(minutes: number): void {
  const then = now() + minutes * MINUTE;
  setClock(() => then);
}

const isAda = ({ id }: { readonly id?: number }) => id === ADA.id;

const badge: FeatureProof = {
  amr: ["sc"],
  startsLogins: true,
  page: "badge",
  has: isAda,
  flows: () => [{ id: "badge", field: "number" }],
};
/** A code: further step of logins, and enough to confirm. */
const otp: FeatureProof = {
  amr: ["otp"],
  confirms: true,
  page: "otp",
  has: isAda,
  step: {
    flows: () => [{ id: "otp", field: "code" }],
    check: async ({ context, prove }) =>
      (await prove(() => context.request.bodyInput("code") === CODE)) ? "passed" : "pending",
  },
};

class FactorsProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "factors",
    proofs: { badge: () => badge, otp: () => otp },
  });
}

const confirmBy = (by: string) =>
  Route.post(`/${by}`, async ({ auth }: HttpContext) => ({ done: await auth.webGuard.confirm({ by }) })).middleware(
    "auth",
  );

function shop(): Promise<TestAccounts> {
  const routes = ["badge", "badge,10", "sc,10", "otp,10", "mfa,10", "password,10", "pwd"].map((argument) =>
    Route.get(`/needs/${argument}`, () => "passed").middleware(`confirm:${argument}`),
  );
  return testAccounts({
    providers: [FactorsProvider],
    middleware: { confirm: [ConfirmPasswordMiddleware] },
    routes: [
      ...routes,
      Route.get("/any", () => "passed").middleware("password.confirm:10"),
      Route.get("/badge", () => "Show your badge.").name("badge"),
      Route.get("/otp", () => "Enter the code.").name("otp"),
      confirmBy("badge"),
      confirmBy("otp"),
      Route.get("/ask", async ({ auth, request }: HttpContext) => {
        const minutes = request.input("minutes");
        const proof = String(request.input("proof"));
        return { is: await auth.confirmedWith(proof, ...(minutes === null ? [] : [Number(minutes)])) };
      }),
    ],
  });
}

async function loggedIn(accounts: TestAccounts, { email } = ADA as { readonly email: string }): Promise<Visitor> {
  const visitor = accounts.visitor();
  const { body } = await visitor.post("/login", { email, password: PASSWORD, remember: "1", code: CODE }, JSON_ANSWER);
  expect(body).toEqual({ data: { status: "complete" } });
  return visitor;
}

const passes = async (visitor: Visitor, argument: string): Promise<boolean> =>
  (await visitor.get(`/needs/${argument}`, PAGE)).status === 200;

describe("a route that wants a certain proof", () => {
  test("leads to the page of that proof, and back", async () => {
    const visitor = await loggedIn(await shop());
    const { status, headers } = await visitor.get("/needs/badge", PAGE);
    expect([status, headers.get("location")]).toEqual([302, "/badge"]);
    expect((await visitor.post("/badge", { code: CODE })).body).toEqual({ done: true });
    expect((await visitor.get("/needs/badge", PAGE)).body).toBe("passed");
  });

  test("tells API clients how to give it, and names no other proof", async () => {
    const visitor = await loggedIn(await shop());
    expect(await visitor.get("/needs/badge", JSON_ANSWER)).toMatchObject({
      status: 403,
      body: {
        code: "E_PASSWORD_NOT_CONFIRMED",
        methods: ["badge"],
        flows: [{ id: "badge", field: "number", url: "/badge" }],
      },
    });
  });

  test("counts a proof by its factor, and two factors as several, each as long as it is fresh", async () => {
    const accounts = await shop();
    travel(0);
    const visitor = await loggedIn(accounts);
    const all = async () =>
      Promise.all(["password,10", "pwd", "otp,10", "mfa,10", "sc,10", "badge,10"].map((one) => passes(visitor, one)));
    expect(await all()).toEqual([true, true, true, true, false, false]);
    travel(10);
    expect(await all()).toEqual([false, true, false, false, false, false]);
    // A fresh code alone is one factor.
    await visitor.post("/otp");
    expect(await all()).toEqual([false, true, true, false, false, false]);
    await visitor.post("/badge", { code: CODE });
    expect(await all()).toEqual([false, true, true, false, true, true]);
    await visitor.post("/confirm_password", { password: PASSWORD, code: CODE });
    expect(await all()).toEqual([true, true, true, true, true, true]);
  });

  test("is closed to users who don't have the proof: they would be led in circles", async () => {
    const visitor = await loggedIn(await shop(), BOB);
    for (const accept of [JSON_ANSWER, PAGE]) expect((await visitor.get("/needs/badge", accept)).status).toBe(403);
    expect((await visitor.get("/needs/badge", JSON_ANSWER)).body).toMatchObject({
      methods: [],
      flows: [],
      detail: "Your account has no way to confirm this. Add one to your account first.",
    });
  });

  test("treats guests as auth does", async () => {
    const { status, headers } = await (await shop()).visitor().get("/needs/badge", PAGE);
    expect([status, headers.get("location")]).toEqual([302, "/login"]);
  });

  test.each([
    ["bagde", 'no proof or step is named "bagde", and none satisfies such a factor. Did you mean "badge"?'],
    ["otp,0", "it takes the name of a proof or a factor, a whole number of minutes above 0, or both."],
  ])("with the argument %s makes startup fail", async (argument, problem) => {
    const booting = testAccounts({
      providers: [FactorsProvider],
      routes: [
        Route.get("/", () => "").middleware(`password.confirm:${argument}`),
        Route.get("/badge", () => "").name("badge"),
      ],
    });
    await expect(booting).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining(problem),
    });
  });
});

test("a code is enough to confirm, if its proof says so, and is not asked for twice", async () => {
  const accounts = await shop();
  travel(0);
  const visitor = await loggedIn(accounts);
  travel(11);
  const refused = (await visitor.get("/any", JSON_ANSWER)).body as { readonly methods: readonly string[] };
  expect(refused.methods).toEqual(["password", "badge", "otp"]);
  expect((await visitor.post("/otp")).body).toEqual({ done: true });
  expect((await visitor.get("/any", PAGE)).body).toBe("passed");
});

test("auth.confirmedWith reports on proofs and factors, within minutes; not on guests", async () => {
  const accounts = await shop();
  travel(0);
  const visitor = await loggedIn(accounts);
  const ask = async (who: Visitor, query: string) => (await who.get(`/ask?${query}`)).body;
  travel(20);
  for (const proof of ["password", "pwd", "otp", "mfa"]) {
    expect(await ask(visitor, `proof=${proof}`)).toEqual({ is: true });
    expect(await ask(visitor, `proof=${proof}&minutes=20`)).toEqual({ is: false });
    expect(await ask(visitor, `proof=${proof}&minutes=21`)).toEqual({ is: true });
    expect(await ask(accounts.visitor(), `proof=${proof}`)).toEqual({ is: false });
  }
  expect(await ask(visitor, "proof=badge")).toEqual({ is: false });
});

const code: LoginStep = {
  name: "code",
  amr: ["otp"],
  async check({ context, prove, purpose, user }) {
    if (purpose === "renewal" || !isAda(user as { readonly id?: number })) return "passed";
    return (await prove(() => context.request.bodyInput("code") === CODE)) ? "passed" : "pending";
  },
};

const tokens = (driver: object = { authenticationClaims: true }) =>
  testApi({
    driver,
    guards: { steps: [code] },
    providers: [ThrottleProvider],
    middleware: { confirm: [ConfirmPasswordMiddleware] },
    routes: [
      Route.get("/fresh", () => "passed").middleware("confirm:10"),
      Route.get("/factors", () => "passed").middleware("confirm:mfa,10"),
      Route.get("/code", () => "passed").middleware("confirm:code"),
      Route.get("/asked", async ({ auth }) => ({
        mfa: await auth.confirmedWith("mfa"),
        otp: await auth.confirmedWith("otp", 5),
      })),
    ],
  });

async function tokenOf(api: TestApi, inputs: object = {}): Promise<string> {
  const { body } = await api.post("/api/auth", {
    username: "ada@example.com",
    password: PASSWORD,
    code: CODE,
    ...inputs,
  });
  return (body as { readonly data: string }).data;
}

describe("an API token", () => {
  test("is refused by a route that wants a fresh login once its login is too old, as RFC 9470 has it", async () => {
    const api = await tokens();
    travel(0);
    const token = await tokenOf(api);
    expect((await api.get("/api/fresh", { token })).status).toBe(200);
    travel(10);
    const { status, headers, body } = await api.get("/api/fresh", { token });
    expect([status, headers.get("www-authenticate")]).toEqual([
      401,
      'Bearer error="insufficient_user_authentication", max_age="600"',
    ]);
    expect(body).toMatchObject({
      code: "E_INSUFFICIENT_AUTHENTICATION",
      max_age: 600,
      flows: [{ id: "login", url: "/api/auth" }],
    });
    // A renewal proves nothing.
    const renewed = (await api.post("/api/reauth", { token })).body as { readonly data: string };
    expect((await api.get("/api/fresh", { token: renewed.data })).status).toBe(401);
    expect((await api.get("/api/fresh", { token: await tokenOf(api) })).status).toBe(200);
  });

  test("is refused by a route that wants factors which its login lacked, and the challenge names them", async () => {
    const api = await tokens();
    const [ada, bob] = [await tokenOf(api), await tokenOf(api, { username: "bob@example.com" })];
    expect((await api.get("/api/factors", { token: ada })).status).toBe(200);
    expect((await api.get("/api/asked", { token: ada })).body).toEqual({ mfa: true, otp: true });
    expect((await api.get("/api/asked", { token: bob })).body).toEqual({ mfa: false, otp: false });
    const { status, headers, body } = await api.get("/api/factors", { token: bob });
    expect([status, headers.get("www-authenticate")]).toEqual([
      401,
      'Bearer error="insufficient_user_authentication", acr_values="mfa", max_age="600"',
    ]);
    expect(body).toMatchObject({ acr_values: "mfa", max_age: 600 });
  });

  test("S14 that is missing or invalid is refused as everywhere", async () => {
    const api = await tokens();
    for (const path of ["/api/fresh", "/api/factors"]) {
      expect((await api.get(path)).body).toMatchObject({ code: "E_UNAUTHENTICATED" });
      expect((await api.get(path, { token: "made-up" })).body).toMatchObject({ code: "E_INVALID_TOKEN" });
    }
  });

  test("is never fresh if its driver doesn't say when its login was", async () => {
    const api = await tokens({});
    const token = await tokenOf(api);
    for (const path of ["/api/fresh", "/api/factors"]) expect((await api.get(path, { token })).status).toBe(401);
  });

  test("S206 issued without a proof is never fresh", async () => {
    const api = await tokens();
    const ada = (await api.User.find(ADA.id)) as unknown as { generateJwt(): Promise<string> };
    const token = await ada.generateJwt();
    expect((await api.get("/api/fresh", { token })).status).toBe(401);
  });
});

describe("application.authenticate tells other frameworks how fresh a user's proof is, and by what", () => {
  test("for a login in a cookie", async () => {
    const accounts = await shop();
    setClock(() => 1_900_000_000_000);
    const visitor = await loggedIn(accounts);
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const request = new Request("https://shop.example/", { headers: { cookie } });
    const found = await accounts.application.authenticate(request, { readOnly: true });
    const at = new Date(1_900_000_000_000);
    expect(found).toMatchObject({
      authenticatedAt: at,
      methods: [
        { by: "password", at, amr: ["pwd"] },
        { by: "otp", at, amr: ["otp"] },
      ],
      amr: ["pwd", "otp", "mfa"],
    });
    expect([found.confirmedWith("otp", 1), found.confirmedWith("badge")]).toEqual([true, false]);
  });

  test("for a token, and not for a guest", async () => {
    const api = await tokens();
    setClock(() => 1_900_000_000_000);
    const authorization = `Bearer ${await tokenOf(api)}`;
    const request = (headers: Record<string, string>) =>
      api.application.authenticate(new Request("http://localhost/", { headers }), { readOnly: true });
    const found = await request({ authorization });
    expect(found).toMatchObject({
      authenticatedAt: new Date(1_900_000_000_000),
      methods: [],
      amr: ["pwd", "otp", "mfa"],
    });
    expect([found.confirmedWith("mfa", 1), found.confirmedWith("hwk")]).toEqual([true, false]);
    expect(await request({})).toMatchObject({ user: null, authenticatedAt: null, methods: [], amr: [] });
  });
});
