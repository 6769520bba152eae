import { afterEach, describe, expect, expectTypeOf, test } from "vitest";
import type { Issuer } from "../../src/public/api.ts";
import type { CompleteLogin, LoginStep } from "../../src/public/auth.ts";
import { digest } from "../../src/security/index.ts";
import {
  ADA,
  AdminUser,
  NEW_PASSWORD,
  outcomeOf,
  PASSWORD,
  type TestAccounts,
  type Visitor,
} from "../support/account-application.ts";
import type { Page } from "../support/browser.ts";
import {
  accepted,
  blocked,
  CODE,
  CREDENTIALS,
  code,
  isIn,
  loginsOf,
  shopWith,
  target,
  terms,
} from "../support/login-steps.ts";

afterEach(() => accepted.clear());

const NEW = { name: "Eve", email: "eve@example.com", password: PASSWORD, password_confirmation: PASSWORD };

/** A step that applies from a later point on: a user may already be logged in. */
function later(step: LoginStep): { readonly step: LoginStep; begin(): void } {
  let isOn = false;
  return {
    step: { ...step, check: (login) => (isOn ? step.check(login) : "passed") },
    begin: () => {
      isOn = true;
    },
  };
}

describe.each([
  ["refuses", blocked],
  ["waits", terms],
  ["throws", { name: "broken", check: () => Promise.reject(new Error("The directory is down.")) } as LoginStep],
  ["returns no outcome", { name: "vague", check: () => true as never } as LoginStep],
])("a step that %s", (_, step) => {
  test.each([
    ["/login", CREDENTIALS],
    ["/admin/login", CREDENTIALS],
    ["/register", NEW],
    ["/as-ada", {}],
    ["/by-id", {}],
    ["/attempt", {}],
  ])("doesn't let users in through %s", async (path, form) => {
    const accounts = await shopWith([step]);
    const visitor = accounts.visitor();
    await visitor.post(path, form);
    expect([await isIn(visitor), await isIn(visitor, "/admin"), await loginsOf(accounts)]).toEqual([false, false, []]);
    expect((await accounts.toldOf("auth.login")).length).toBe(0);
  });

  test("returns no token from /api/auth", async () => {
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
    expect(await loginsOf(accounts)).toEqual([before]);
  });
});

test("a step's message is shown on the page and to API clients once the password is correct", async () => {
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

test.each([
  ["/register", NEW, "/login"],
  ["/confirm_password", { password: PASSWORD }, "/confirm_password"],
])("a step's message for a refusal at %s is shown on the following page", async (path, form, next) => {
  const asked = later(blocked);
  const accounts = await shopWith([asked.step]);
  const visitor = path === "/register" ? accounts.visitor() : await accounts.loggedIn();
  asked.begin();
  await visitor.post(path, form);
  const page = String((await visitor.get(next)).body);
  expect([page.includes("This account is blocked."), page.includes("Incorrect password")]).toEqual([true, false]);
});

test("a step's message for a refused pending login is shown on the login page", async () => {
  const asked = later(blocked);
  const accounts = await shopWith([asked.step, terms]);
  const visitor = accounts.visitor();
  await visitor.post("/login", CREDENTIALS);
  asked.begin();
  expect(target(await visitor.post("/terms"))).toEqual([302, "/login"]);
  expect(String((await visitor.get("/login")).body)).toContain("This account is blocked.");
  expect(await isIn(visitor)).toBe(false);
});

test("D31 the token endpoint names the required step, and attempt returns no user", async () => {
  const accounts = await shopWith([terms]);
  const visitor = accounts.visitor();
  const { body } = await visitor.post("/api/auth", { username: ADA.email, password: PASSWORD });
  expect(body).toMatchObject({ status: 401, code: "E_LOGIN_PENDING", step: "terms" });
  for (const path of ["/attempt", "/as-ada", "/by-id"]) {
    expect((await visitor.post(path)).body).toEqual({ user: null, pending: "terms" });
  }
});

const tokenOf = async (accounts: TestAccounts) => (await accounts.user()).generateJwt();
const told = async (answer: Promise<Page>) => {
  const { status, headers, body } = await answer;
  return headers.has("location")
    ? [status, headers.get("location")]
    : [status, (body as { readonly code?: string }).code];
};

/** What a logged-in visitor with an API token tries in each place. */
const DOORS: readonly (readonly [door: string, open: (visitor: Visitor, token: string) => Promise<Page>])[] = [
  ["POST /login", (visitor) => visitor.post("/login", CREDENTIALS)],
  ["POST /admin/login", (visitor) => visitor.post("/admin/login", CREDENTIALS)],
  ["POST /register", (visitor) => visitor.post("/register", NEW)],
  ["POST /confirm_password", (visitor) => visitor.post("/confirm_password", { password: PASSWORD })],
  ["POST /api/auth", (visitor) => visitor.post("/api/auth", { username: ADA.email, password: PASSWORD })],
  ["POST /api/reauth", (visitor, token) => visitor.post("/api/reauth", { token })],
];

/** Redirects to the form, which says why. */
const backTo = (form: string) => [303, form];
const REFUSED_BY_API = [403, "E_LOGIN_REFUSED"];
const PENDING_BY_API = [401, "E_LOGIN_PENDING"];

describe.each<[string, LoginStep, readonly unknown[]]>([
  [
    "a blocked account",
    blocked,
    [
      backTo("/login"),
      backTo("/admin/login"),
      [302, "/login"],
      backTo("/confirm_password"),
      REFUSED_BY_API,
      REFUSED_BY_API,
    ],
  ],
  [
    "terms to be accepted",
    terms,
    [[302, "/terms"], [302, "/admin/terms"], [302, "/terms"], [302, "/terms"], PENDING_BY_API, PENDING_BY_API],
  ],
  [
    "a second factor",
    code,
    [[302, "/code"], [302, "/admin/code"], [302, "/code"], [302, "/code"], PENDING_BY_API, PENDING_BY_API],
  ],
])("%s", (_, step, expected) => {
  test.each(DOORS.map(([door, open], index) => [door, open, expected[index]] as const))(
    "is required at %s, which does nothing else",
    async (_door, open, answer) => {
      const asked = later(step);
      const accounts = await shopWith([asked.step]);
      const visitor = await accounts.loggedIn();
      const token = await tokenOf(accounts);
      const before = [await loginsOf(accounts), (await accounts.user()).tokenDigest()];
      asked.begin();
      expect(await told(open(visitor, token))).toEqual(answer);
      expect([await loginsOf(accounts), (await accounts.user()).tokenDigest()]).toEqual(before);
    },
  );

  test("doesn't let users in through a password reset or a verified address", async () => {
    const asked = later(step);
    const accounts = await shopWith([asked.step]);
    const visitor = accounts.visitor();
    await visitor.post("/register", NEW);
    const link = await accounts.link();
    await visitor.post("/logout");
    asked.begin();
    expect(await outcomeOf(visitor, link)).toBe("verified");
    const token = await accounts.resetToken();
    const form = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    expect(target(await visitor.post("/password_reset", form))).toEqual([302, "/login"]);
    expect([await isIn(visitor), await loginsOf(accounts)]).toEqual([false, []]);
  });
});

test("only the pipeline can create a complete login: a lookalike does not compile", () => {
  interface Lookalike {
    readonly status: "complete";
    readonly user: object;
  }
  expectTypeOf<Lookalike>().not.toExtend<CompleteLogin>();
  expectTypeOf<CompleteLogin>().toExtend<Lookalike>();
  // What issues and renews tokens, and what makes a login last, requires one.
  expectTypeOf<Issuer["issueTo"]>().parameter(0).toEqualTypeOf<CompleteLogin>();
  expectTypeOf<Issuer["renew"]>().parameter(2).returns.resolves.toEqualTypeOf<CompleteLogin>();
});

describe("the renewal of a token", () => {
  const renew = (visitor: Visitor, token: string, more: object = {}) => visitor.post("/api/reauth", { token, ...more });

  test("is refused to a blocked account, whose token stays unchanged", async () => {
    const asked = later(blocked);
    const accounts = await shopWith([asked.step]);
    const token = await tokenOf(accounts);
    asked.begin();
    const refused = { status: 403, code: "E_LOGIN_REFUSED", detail: "This account is blocked.", step: "blocked" };
    expect((await renew(accounts.visitor(), token)).body).toMatchObject(refused);
    expect((await accounts.toldOf("auth.failed")).length).toBe(1);
    expect((await accounts.user()).tokenDigest()).toBe(digest(token));
  });

  test("is refused to a blocked account even if a recent renewal's response could be repeated", async () => {
    const asked = later(blocked);
    const accounts = await shopWith([asked.step]);
    const token = await tokenOf(accounts);
    expect((await renew(accounts.visitor(), token)).status).toBe(200);
    expect((await renew(accounts.visitor(), token)).status).toBe(200);
    asked.begin();
    expect((await renew(accounts.visitor(), token)).body).toMatchObject({ status: 403, code: "E_LOGIN_REFUSED" });
  });

  test("reveals nothing about the account to a client whose token is no longer active", async () => {
    const accounts = await shopWith([blocked]);
    const old = await tokenOf(accounts);
    await tokenOf(accounts);
    expect((await renew(accounts.visitor(), old)).body).toMatchObject({ status: 401, code: "E_INVALID_TOKEN" });
    expect((await accounts.toldOf("auth.failed")).length).toBe(0);
  });

  test("asks for a code, and accepts it with the token", async () => {
    const accounts = await shopWith([code]);
    const token = await tokenOf(accounts);
    const visitor = accounts.visitor();
    expect((await renew(visitor, token)).body).toMatchObject({ code: "E_LOGIN_PENDING", step: "code" });
    expect((await renew(visitor, token, { code: "000000" })).status).toBe(401);
    const { status, body } = await renew(visitor, token, { code: CODE });
    expect([status, body]).toEqual([200, { data: expect.any(String) }]);
  });

  test("continues without a code if the step allows it, while a login still requires one", async () => {
    const atLogin: LoginStep = {
      ...code,
      check: (login) => (login.purpose === "renewal" ? "passed" : code.check(login)),
    };
    const accounts = await shopWith([atLogin]);
    const visitor = accounts.visitor();
    expect((await renew(visitor, await tokenOf(accounts))).status).toBe(200);
    expect((await visitor.post("/api/auth", { username: ADA.email, password: PASSWORD })).status).toBe(401);
  });
});

describe("a step that verifies a proof", () => {
  test.each([
    ["/login", CREDENTIALS],
    ["/register", NEW],
  ])("is passed immediately if %s includes the proof", async (path, form) => {
    const accounts = await shopWith([code]);
    const visitor = accounts.visitor();
    await visitor.post(path, { ...form, code: CODE });
    expect(await isIn(visitor)).toBe(true);
  });

  test("D31 is passed at the token endpoint by an input next to the password", async () => {
    const accounts = await shopWith([code]);
    const ask = async (more: object) =>
      (await accounts.visitor().post("/api/auth", { username: ADA.email, password: PASSWORD, ...more })).body;
    expect(await ask({})).toMatchObject({ status: 401, code: "E_LOGIN_PENDING", step: "code" });
    expect(await ask({ code: "000000" })).toMatchObject({ status: 401, code: "E_LOGIN_PENDING", step: "code" });
    expect(await ask({ code: CODE })).toEqual({ data: expect.any(String) });
  });

  test("is passed on its page, and not required again in that login", async () => {
    const accounts = await shopWith([code, terms]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    expect(target(await visitor.post("/code", { code: "000000" }))).toEqual([302, "/code"]);
    expect(target(await visitor.post("/code", { code: CODE }))).toEqual([302, "/terms"]);
    expect(target(await visitor.post("/terms"))).toEqual([302, "/home"]);
  });

  test("is required again when the password is confirmed, only for that", async () => {
    const sudo: LoginStep = {
      ...code,
      check: (login) => (login.purpose === "confirmation" ? code.check(login) : "passed"),
    };
    const accounts = await shopWith([sudo]);
    const visitor = await accounts.loggedIn();
    expect(target(await visitor.post("/confirm_password", { password: PASSWORD }))).toEqual([302, "/code"]);
    // It is still a confirmation, not a login, which the step would let pass.
    expect(target(await visitor.post("/code"))).toEqual([302, "/code"]);
    expect(target(await visitor.post("/code", { code: CODE }))).toEqual([302, "/home"]);
    expect((await loginsOf(accounts)).length).toBe(1);
  });

  test("but fails at the end is required again", async () => {
    const twice: LoginStep = {
      ...code,
      async check({ context, prove }) {
        await prove(() => true);
        return context.request.bodyInput("sure") === "1" ? "passed" : "pending";
      },
    };
    const accounts = await shopWith([twice]);
    const visitor = accounts.visitor();
    await visitor.post("/login", CREDENTIALS);
    expect(target(await visitor.post("/code"))).toEqual([302, "/code"]);
    expect(target(await visitor.post("/code", { sure: "1" }))).toEqual([302, "/home"]);
  });
});

describe("steps in the configuration", () => {
  test("of one guard apply only to that guard, after the general ones", async () => {
    const accounts = await shopWith([], { guards: { admin: { driver: "web", model: AdminUser, steps: [terms] } } });
    const visitor = accounts.visitor();
    expect(target(await visitor.post("/login", CREDENTIALS))).toEqual([302, "/home"]);
    expect(target(await visitor.post("/admin/login", CREDENTIALS))).toEqual([302, "/admin/terms"]);
  });

  test.each<[string, Parameters<typeof shopWith>, readonly unknown[]]>([
    [
      "of one guard, and the same users can log in with another without them, are warned of at boot",
      [[blocked], { webSteps: [terms, code] }],
      [
        'The guard "jwt" logs in the same users as "web" without its login steps: "terms", "code". List them in GUARDS.steps in config/auth.ts, or in GUARDS.jwt.steps as well.',
      ],
    ],
    ["of all guards are no reason for a warning", [[terms, code]], []],
    [
      "of one guard with its own users are no reason for a warning",
      [[], { guards: { admin: { driver: "web", model: AdminUser, steps: [terms] } } }],
      [],
    ],
  ])("%s", async (_, [steps, options], expected) => {
    const logged: Record<string, unknown>[] = [];
    await shopWith(steps, { ...options, logged });
    expect(logged.filter(({ level }) => level === "warn").map(({ msg }) => msg)).toEqual(expected);
  });

  test.each<[string, unknown, string]>([
    ["not a list", {}, "config/auth.ts: GUARDS.steps"],
    ["not steps", [{ name: "terms" }], "config/auth.ts: GUARDS.steps"],
    ["not objects", [null], "config/auth.ts: GUARDS.steps"],
    ["only names", ["terms"], "config/auth.ts: GUARDS.steps"],
    ["two with the same name", [code, code], 'two steps are named "code"'],
    [
      "on a page that does not exist",
      [{ ...terms, page: "conditions" }],
      'leads to the route "conditions", which does not exist',
    ],
  ])("make the boot fail if they are %s", async (_, steps, problem) => {
    await expect(shopWith([], { guards: { steps } })).rejects.toThrow(problem);
  });
});
