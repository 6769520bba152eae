import { afterEach, describe, expect, test } from "vitest";
import type { LoginStep } from "../../src/public/auth.ts";
import { databaseSessions } from "../../src/public/session.ts";
import { freeze, travel, travelBack } from "../../src/public/testing.ts";
import {
  ADA,
  APP_URL,
  NEW_PASSWORD,
  PASSWORD,
  type TestAccounts,
  type Visitor,
} from "../support/account-application.ts";
import {
  accepted,
  blocked,
  CODE,
  CREDENTIALS,
  code,
  loginsOf,
  shopWith,
  target,
  terms,
} from "../support/login-steps.ts";

afterEach(() => travelBack());
afterEach(() => accepted.clear());

const PASSWORD_FORM = {
  current_password: PASSWORD,
  password: NEW_PASSWORD,
  password_confirmation: NEW_PASSWORD,
};
const EMAIL_FORM = { email: "ada@new.example", password: PASSWORD };

/** The forms that ask for the password, the name of that input, and whether the change was made. */
const FORMS: readonly [
  path: string,
  form: object,
  field: string,
  isMade: (accounts: TestAccounts) => Promise<boolean>,
][] = [
  [
    "/account/password",
    PASSWORD_FORM,
    "current_password",
    async (accounts) => (await accounts.toldOf("auth.password_changed")).length === 1,
  ],
  [
    "/account/email",
    EMAIL_FORM,
    "password",
    async (accounts) => (await accounts.toldOf("auth.email_change_requested")).length === 1,
  ],
];

/** A visitor who is logged in, past the step's page. */
async function loggedIn(accounts: TestAccounts): Promise<Visitor> {
  const visitor = accounts.visitor();
  await visitor.post("/login", CREDENTIALS);
  expect(target(await visitor.post("/code", { code: CODE }))).toEqual([302, "/home"]);
  return visitor;
}

describe.each(FORMS)("the form at %s", (path, form, field, isMade) => {
  test.each<[string, object, Record<string, string>]>([
    ["a cookie, without a Referer", {}, {}],
    ["the database", { config: { session: { SESSION: { store: databaseSessions() } } } }, { referer: APP_URL + path }],
  ])(
    "leads to the step's page and back, and can then be sent again, with a session in %s",
    async (_, options, headers) => {
      const accounts = await shopWith([code], options);
      const visitor = await loggedIn(accounts);
      expect(target(await visitor.post(path, form, headers))).toEqual([303, "/code"]);
      expect(target(await visitor.post("/code", { code: "000000" }))).toEqual([302, "/code"]);
      expect(target(await visitor.post(path, form, headers))).toEqual([303, "/code"]);
      expect(await isMade(accounts)).toBe(false);
      expect(target(await visitor.post("/code", { code: CODE }))).toEqual([302, path]);
      expect(String((await visitor.get(path)).body)).not.toContain("Incorrect password");
      expect(target(await visitor.post(path, form, headers))).toEqual([302, "/home"]);
      expect([await isMade(accounts), (await loginsOf(accounts)).length]).toEqual([true, 1]);
    },
  );

  test("still asks for the password, and reports a wrong one, even while a step is pending", async () => {
    const accounts = await shopWith([code]);
    const visitor = await loggedIn(accounts);
    const wrong = { ...form, [field]: "wrong" };
    for (const meanwhile of ["at first", "once it waits"]) {
      expect([meanwhile, ...target(await visitor.post(path, wrong))]).toEqual([meanwhile, 303, path]);
      expect(String((await visitor.get(path)).body)).toContain("Incorrect password.");
      expect(target(await visitor.post(path, form))).toEqual([303, "/code"]);
    }
    await visitor.post("/code", { code: CODE });
    expect(target(await visitor.post(path, wrong))).toEqual([303, path]);
    expect(String((await visitor.get(path)).body)).toContain("Incorrect password.");
    expect(await isMade(accounts)).toBe(false);
  });

  test("names the step to an API client", async () => {
    const accounts = await shopWith([code]);
    const visitor = await loggedIn(accounts);
    const { status, body } = await visitor.post(path, form, { accept: "application/json" });
    expect([status, body]).toEqual([401, expect.objectContaining({ code: "E_LOGIN_PENDING", step: "code" })]);
    expect(await isMade(accounts)).toBe(false);
  });

  test("is an error if the step has no page", async () => {
    const pin: LoginStep = { name: "pin", check: ({ purpose }) => (purpose === "login" ? "passed" : "pending") };
    const logged: Record<string, unknown>[] = [];
    const accounts = await shopWith([pin], { logged });
    expect((await (await accounts.loggedIn()).post(path, form)).status).toBe(401);
    expect([await isMade(accounts), logged]).toEqual([false, []]);
  });

  test("shows why a step refuses", async () => {
    let isOn = false;
    const check: LoginStep["check"] = (login) => (isOn ? blocked.check(login) : "passed");
    const accounts = await shopWith([{ ...blocked, check }]);
    const visitor = await accounts.loggedIn();
    isOn = true;
    expect(target(await visitor.post(path, form))).toEqual([303, path]);
    const page = String((await visitor.get(path)).body);
    expect([page.includes("This account is blocked."), page.includes("Incorrect")]).toEqual([true, false]);
    expect(await isMade(accounts)).toBe(false);
  });
});

describe("steps passed in a confirmation", () => {
  /** A visitor who has passed the code's page on the way to a form. */
  async function confirmed(accounts: TestAccounts): Promise<Visitor> {
    const visitor = await loggedIn(accounts);
    await visitor.post("/account/email", EMAIL_FORM);
    expect(target(await visitor.post("/code", { code: CODE }))).toEqual([302, "/account/email"]);
    return visitor;
  }

  test("are required again after ten minutes, even if the password was confirmed in the meantime", async () => {
    freeze();
    const accounts = await shopWith([code]);
    const visitor = await confirmed(accounts);
    travel(9);
    expect(target(await visitor.post("/confirm_password", { password: PASSWORD }))).toEqual([302, "/home"]);
    travel(1);
    expect(target(await visitor.post("/account/email", EMAIL_FORM))).toEqual([303, "/code"]);
  });

  test("count from the time of the confirmation, and not before it if the clock is set back", async () => {
    freeze();
    const accounts = await shopWith([code]);
    const visitor = await confirmed(accounts);
    expect(target(await visitor.post("/account/password", { ...PASSWORD_FORM, password: "x" }))).toEqual([
      303,
      "/account/password",
    ]);
    travel(-1);
    expect(target(await visitor.post("/account/email", EMAIL_FORM))).toEqual([303, "/code"]);
  });

  test("lead back to no URL that only accepts submitted forms", async () => {
    const visitor = await loggedIn(await shopWith([code]));
    expect(target(await visitor.post("/only-sent"))).toEqual([303, "/code"]);
    expect(target(await visitor.post("/code", { code: CODE }))).toEqual([302, "/home"]);
  });

  test("are required again in another login, whatever happens to the session", async () => {
    const accounts = await shopWith([code]);
    const visitor = await confirmed(accounts);
    const other = await loggedIn(accounts);
    visitor.cookies.set("__Host-token", other.cookies.get("__Host-token")!);
    expect(target(await visitor.post("/account/email", EMAIL_FORM))).toEqual([303, "/code"]);
    expect((await accounts.toldOf("auth.email_change_requested")).length).toBe(0);
  });

  test("are required even right after the login, where they served another purpose", async () => {
    const atConfirmation: LoginStep = {
      ...code,
      check: (login) => (login.purpose === "confirmation" ? code.check(login) : "passed"),
    };
    const accounts = await shopWith([atConfirmation]);
    const visitor = await accounts.loggedIn(ADA);
    expect(target(await visitor.post("/account/password", PASSWORD_FORM))).toEqual([303, "/code"]);
    expect(target(await visitor.post("/code", { code: CODE }))).toEqual([302, "/account/password"]);
    expect(target(await visitor.post("/account/password", PASSWORD_FORM))).toEqual([302, "/home"]);
  });

  test("do not skip another step, so a user who has been blocked since is refused", async () => {
    let isBlocked = false;
    const check: LoginStep["check"] = (login) => (isBlocked ? blocked.check(login) : "passed");
    const accounts = await shopWith([{ ...blocked, check }, code]);
    const visitor = await confirmed(accounts);
    isBlocked = true;
    expect(target(await visitor.post("/confirm_password", { password: PASSWORD }))).toEqual([303, "/confirm_password"]);
    expect(target(await visitor.post("/account/email", EMAIL_FORM))).toEqual([303, "/account/email"]);
    expect(await accounts.toldOf("auth.email_change_requested")).toEqual([]);
    isBlocked = false;
    expect(target(await visitor.post("/account/email", EMAIL_FORM))).toEqual([302, "/home"]);
  });

  test("count even on a page whose step proves nothing", async () => {
    const accounts = await shopWith([terms]);
    accepted.add(ADA.email);
    const visitor = await accounts.loggedIn();
    accepted.clear();
    expect(target(await visitor.post("/account/email", EMAIL_FORM))).toEqual([303, "/terms"]);
    expect(target(await visitor.post("/terms"))).toEqual([302, "/account/email"]);
    accepted.clear();
    expect(target(await visitor.post("/account/email", EMAIL_FORM))).toEqual([302, "/home"]);
  });

  test.each([
    ["a login until the browser is closed", {}, false],
    ["a remembered login", { remember: true }, true],
  ])(
    "lead to a new login like the previous one, which was %s, with the password confirmed",
    async (_, sent, isKept) => {
      const accounts = await shopWith([code]);
      const visitor = accounts.visitor();
      await visitor.post("/login", { ...CREDENTIALS, ...sent, code: CODE });
      expect(target(await visitor.post("/confirm_password", { password: PASSWORD }))).toEqual([302, "/code"]);
      await accounts.database.kysely.updateTable("logins").set({ authenticated_at: null }).execute();
      const { setCookies } = await visitor.post("/code", { code: CODE });
      const token = setCookies.find((cookie) => cookie.startsWith("__Host-token="));
      expect([token?.includes("Max-Age="), await loginsOf(accounts)]).toEqual([
        isKept,
        [expect.objectContaining({ authenticated_at: expect.anything() })],
      ]);
    },
  );

  test("count even if they were passed with an input next to the password", async () => {
    const accounts = await shopWith([code]);
    const visitor = await loggedIn(accounts);
    const form = { password: PASSWORD, code: CODE };
    expect(target(await visitor.post("/confirm_password", form))).toEqual([302, "/home"]);
    expect(target(await visitor.post("/account/email", EMAIL_FORM))).toEqual([302, "/home"]);
  });
});
