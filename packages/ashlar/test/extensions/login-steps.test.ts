import { afterEach, describe, expect, test } from "vitest";
import { Auth, GuardMiddleware } from "../../src/auth/index.ts";
import { Api, ApiProvider } from "../../src/public/api.ts";
import type { LoginStep } from "../../src/public/auth.ts";
import { type HttpContext, Route } from "../../src/public/index.ts";
import { travel, travelBack } from "../../src/public/testing.ts";
import {
  ADA,
  AdminUser,
  FullUser,
  PASSWORD,
  type TestAccounts,
  testAccounts,
  type Visitor,
} from "../support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../support/account-controllers.ts";

afterEach(() => travelBack());

/** An application with steps of its own, and every door to an account. */
async function shopWith(own: readonly LoginStep[], guards: object = {}): Promise<TestAccounts> {
  class User extends FullUser {}
  class Admin extends AdminUser {}
  const ada = ({ auth }: HttpContext) => User.findOrFail(ADA.id).then((user) => auth.loginAs(user));
  const accounts: TestAccounts = await testAccounts({
    User,
    models: [Admin],
    providers: [ApiProvider],
    middleware: { guard: [GuardMiddleware] },
    config: { api: { DRIVERS: { jwt: { secret: "x".repeat(64), model: User } } } },
    guards: { admin: { driver: "web", model: Admin }, steps: own, ...guards },
    routes: [
      ...Auth.routes({ ...ACCOUNT_CONTROLLERS }, { guard: "admin" }).prefix("/admin"),
      ...Api.routes(),
      Route.get("/terms", () => "Accept our terms.").name("terms"),
      Route.get("/admin/terms", () => "Accept our terms.").name("admin.terms"),
      Route.post("/terms", resume),
      Route.get("/identity", ({ session }) => ({ id: session.put("seen", true).id })),
      Route.post("/code", async ({ auth }) => {
        const login = await auth.pendingLogin();
        return { step: login?.step ?? null, result: await login?.pass(), pending: auth.pending };
      }),
      Route.post("/as-ada", async (context) => ({ user: await ada(context), pending: context.auth.pending })),
      Route.post("/by-id", async ({ auth }) => ({ user: await auth.attemptById(ADA.id), pending: auth.pending })),
      Route.post("/attempt", async ({ auth }) => ({
        user: await auth.attempt(ADA.email, PASSWORD),
        pending: auth.pending,
      })),
    ],
  });
  return accounts;
}

async function resume({ auth }: HttpContext) {
  const login = await auth.pendingLogin();
  if (login === null) return auth.redirectToRoute("login");
  accepted.add((login.user as FullUser).email);
  const { status } = await login.resume();
  return status === "complete" ? auth.redirectToIntended("home") : auth.redirectToStep();
}

const accepted = new Set<string>();
const emailOf = (user: object) => (user as FullUser).email;

/** A step that refuses: with a sentence of the application's own. */
const blocked: LoginStep = {
  name: "blocked",
  check: ({ user }) => (emailOf(user) === "" ? "passed" : { failed: "This account is blocked." }),
};

/** A step that waits for its page. */
const terms: LoginStep = {
  name: "terms",
  page: "terms",
  check: ({ user }) => (accepted.has(emailOf(user)) ? "passed" : "pending"),
};

/** A step that is passed by a proof of its own. */
const code: LoginStep = { name: "code", check: () => "pending" };

afterEach(() => accepted.clear());

const CREDENTIALS = { email: ADA.email, password: PASSWORD };
const isIn = async (visitor: Visitor, prefix = "") => (await visitor.get(`${prefix}/home`)).status === 200;
const target = ({ status, headers }: { status: number; headers: Headers }) => [status, headers.get("location")];
const NEW = { name: "Eve", email: "eve@example.com", password: PASSWORD, password_confirmation: PASSWORD };

describe.each([
  ["refuses", blocked],
  ["waits", terms],
  ["throws", { name: "broken", check: () => Promise.reject(new Error("The directory is down.")) } as LoginStep],
  ["gives no outcome", { name: "vague", check: () => true as never } as LoginStep],
])("a step that %s", (_, step) => {
  test.each([
    ["/login", CREDENTIALS],
    ["/admin/login", CREDENTIALS],
    ["/register", NEW],
    ["/as-ada", {}],
    ["/by-id", {}],
    ["/attempt", {}],
  ])("lets no one in by %s", async (path, form) => {
    const accounts = await shopWith([step]);
    const visitor = accounts.visitor();
    await visitor.post(path, form);
    expect([await isIn(visitor), await isIn(visitor, "/admin"), await accounts.rows("logins")]).toEqual([
      false,
      false,
      [],
    ]);
    expect((await accounts.toldOf("auth.login")).length).toBe(0);
  });

  test("gives no token by /api/auth", async () => {
    const accounts = await shopWith([step]);
    const { status, body } = await accounts.visitor().post("/api/auth", { username: ADA.email, password: PASSWORD });
    expect([status >= 400, body]).toEqual([true, expect.not.objectContaining({ data: expect.anything() })]);
    expect((await accounts.user()).tokenDigest()).toBeNull();
  });

  test("confirms no password", async () => {
    let isOn = false;
    const check: LoginStep["check"] = (login) => (isOn ? step.check(login) : "passed");
    const accounts = await shopWith([{ ...step, check }]);
    const visitor = await accounts.loggedIn();
    const [before] = await accounts.rows("logins");
    isOn = true;
    await visitor.post("/confirm_password", { password: PASSWORD });
    expect(await accounts.rows("logins")).toEqual([before]);
  });
});

test("what a step says is told on the page and to callers of the API, once the password is right", async () => {
  const accounts = await shopWith([blocked]);
  const visitor = accounts.visitor();
  await visitor.post("/login", { ...CREDENTIALS, password: "wrong" });
  expect(String((await visitor.get("/login")).body)).not.toContain("blocked");
  await visitor.post("/login", CREDENTIALS);
  expect(String((await visitor.get("/login")).body)).toContain("This account is blocked.");
  const ask = async (password: string) => (await visitor.post("/api/auth", { username: ADA.email, password })).body;
  expect(await ask("wrong")).toMatchObject({ status: 401, code: "E_INVALID_CREDENTIALS" });
  const refused = { status: 403, code: "E_LOGIN_REFUSED", detail: "This account is blocked.", step: "blocked" };
  expect(await ask(PASSWORD)).toMatchObject(refused);
});

test("D31 the token endpoint names the step that is asked for, and attempt gives no user", async () => {
  const accounts = await shopWith([terms]);
  const visitor = accounts.visitor();
  const { body } = await visitor.post("/api/auth", { username: ADA.email, password: PASSWORD });
  expect(body).toMatchObject({ status: 401, code: "E_LOGIN_PENDING", step: "terms" });
  for (const path of ["/attempt", "/as-ada", "/by-id"]) {
    expect((await visitor.post(path)).body).toEqual({ user: null, pending: "terms" });
  }
});

describe("a pending login", () => {
  test("goes on from the page of its step to where the visitor was heading", async () => {
    const accounts = await shopWith([terms]);
    const visitor = accounts.visitor();
    await visitor.get("/logins");
    expect(target(await visitor.post("/login", { ...CREDENTIALS, remember: "1" }))).toEqual([302, "/terms"]);
    // A page for users leads there as well.
    expect(target(await visitor.get("/logins"))).toEqual([302, "/terms"]);
    expect(target(await visitor.post("/terms"))).toEqual([302, "/logins"]);
    expect(await isIn(visitor)).toBe(true);
    const [{ authenticated_at, created_at, expires_at } = {}] = await accounts.rows("logins");
    expect(authenticated_at).toEqual(created_at);
    // What was chosen with the password counts.
    expect(Date.parse(String(expires_at)) - Date.parse(String(created_at))).toBe(30 * 86_400_000);
    expect((await accounts.toldOf("auth.login")).length).toBe(1);
    // It is used up.
    await visitor.post("/logout");
    expect([target(await visitor.post("/terms")), await isIn(visitor)]).toEqual([[302, "/login"], false]);
  });

  test("is a registration's too", async () => {
    const accounts = await shopWith([terms]);
    const visitor = accounts.visitor();
    expect(target(await visitor.post("/register", NEW))).toEqual([302, "/terms"]);
    await visitor.post("/terms");
    expect(await isIn(visitor)).toBe(true);
  });

  test("of a confirmation goes on as a login in place of the one before, with the password proved", async () => {
    accepted.add(ADA.email);
    const accounts = await shopWith([terms]);
    const visitor = await accounts.loggedIn();
    const [before] = await accounts.rows("logins");
    accepted.clear();
    expect(target(await visitor.post("/confirm_password", { password: PASSWORD }))).toEqual([302, "/terms"]);
    await visitor.post("/terms");
    const rows = await accounts.rows("logins");
    expect([rows.length, rows[0]!.id === before!.id, await isIn(visitor)]).toEqual([1, false, true]);
  });

  test("waits for each step in turn, and a step that is passed by a proof is not asked again", async () => {
    const accounts = await shopWith([terms, code]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    const page = await visitor.get("/home");
    expect(target(page)).toEqual([302, "/terms"]);
    expect((await visitor.post("/terms")).status).toBe(401);
    expect(await isIn(visitor)).toBe(false);
    const { body } = await visitor.post("/code");
    expect(body).toMatchObject({ step: "code", result: { status: "complete", user: { id: ADA.id } }, pending: null });
    expect(await isIn(visitor)).toBe(true);
  });

  test("passes the step that is asked for, and no other", async () => {
    const accounts = await shopWith([terms, code]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    expect((await visitor.post("/code")).body).toMatchObject({ step: "terms", pending: "code" });
    expect(await isIn(visitor)).toBe(false);
  });

  test.each<[string, (accounts: TestAccounts) => unknown]>([
    ["ten minutes have passed", () => travel(10)],
    ["S51 access to the account has ended", async (accounts) => (await accounts.user()).endAccess()],
    ["the user is gone", async (accounts) => (await accounts.user()).delete()],
  ])("is none any more once %s", async (_, meanwhile) => {
    const accounts = await shopWith([terms]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    await meanwhile(accounts);
    expect([target(await visitor.post("/terms")), await isIn(visitor)]).toEqual([[302, "/login"], false]);
  });

  test("S52 does not take effect if access ends while it goes on", async () => {
    const accounts = await shopWith([terms]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    const store = accounts.application.container.make("logins").of("web");
    const { start } = store;
    store.start = async (login, proof) => {
      await (await accounts.user()).endAccess();
      return start.call(store, login, proof);
    };
    expect([target(await visitor.post("/terms")), await isIn(visitor)]).toEqual([[302, "/login"], false]);
    expect(await accounts.rows("logins")).toEqual([]);
  });

  test("S69 is of one guard, and of one visitor", async () => {
    const accounts = await shopWith([terms]);
    const [visitor, stranger] = [accounts.visitor(), accounts.visitor()];
    await visitor.post("/admin/login", CREDENTIALS);
    for (const one of [visitor, stranger]) expect(target(await one.post("/terms"))).toEqual([302, "/login"]);
    expect(await accounts.rows("logins")).toEqual([]);
  });

  test("S18 is kept under a new identity of the visitor", async () => {
    const accounts = await shopWith([terms]);
    const visitor = accounts.visitor();
    const identity = async () => (await visitor.get("/identity")).body;
    const before = await identity();
    expect(await identity()).toEqual(before);
    await visitor.post("/login", CREDENTIALS);
    expect(await identity()).not.toEqual(before);
  });
});

describe("steps in the configuration", () => {
  test("of one guard hold for that guard alone, after those of all", async () => {
    const accounts = await shopWith([], { admin: { driver: "web", model: AdminUser, steps: [terms] } });
    const visitor = accounts.visitor();
    expect(target(await visitor.post("/login", CREDENTIALS))).toEqual([302, "/home"]);
    expect(target(await visitor.post("/admin/login", CREDENTIALS))).toEqual([302, "/admin/terms"]);
  });

  test.each<[string, unknown, string]>([
    ["no list", {}, "config/auth.ts: GUARDS.steps"],
    ["no step", [{ name: "terms" }], "config/auth.ts: GUARDS.steps"],
    ["two of a name", [code, code], 'two steps are named "code"'],
    [
      "a page that is not there",
      [{ ...terms, page: "conditions" }],
      'leads to the route "conditions", which does not exist',
    ],
  ])("that are %s end the boot", async (_, steps, problem) => {
    await expect(shopWith([], { steps })).rejects.toThrow(problem);
  });
});
