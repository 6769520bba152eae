import { describe, expect, test } from "vitest";
import { Route } from "../../src/routing/index.ts";
import {
  ADA,
  testAccounts as accountsOn,
  BOB,
  NEW_PASSWORD,
  outcomeOf,
  PASSWORD,
  type PlainUser,
  type TestAccountsOptions,
  PlainUser as Unverifiable,
} from "../support/account-application.ts";
import { inPairs } from "../support/in-pairs.ts";
import { onEachDatabase } from "../support/services.ts";

const NOTICE = "/email/verify/notice";

/** A redirect's target. */
const target = ({ status, headers }: { status: number; headers: Headers }): string =>
  `${status} ${headers.get("location")}`;

await onEachDatabase("accounts", (engine) => {
  const testAccounts = (options: TestAccountsOptions = {}) => accountsOn({ engine, ...options });

  describe("attempt", () => {
    test.each([
      ["right", ADA.email, PASSWORD, "302 /home", true],
      ["wrong", ADA.email, "another password", "303 /login", false],
      ["unknown", "nobody@example.com", PASSWORD, "303 /login", false],
    ])(
      "%s: returns the model or null, and a cookie only in the first case",
      async (_, email, password, where, isIn) => {
        const accounts = await testAccounts();
        const visitor = accounts.visitor();
        const answer = await visitor.post("/login", { email, password });
        expect([target(answer), visitor.cookies.has("__Host-token")]).toEqual([where, isIn]);
      },
    );

    test("attemptById(1) sets the cookie; logout() then removes cookie and row, and user() is null", async () => {
      const routes = [
        Route.post("/by-id", async ({ auth }) => ({ user: await auth.attemptById(1) })),
        Route.post("/out", async ({ auth }) => ({ logout: await auth.logout(), user: await auth.user() })),
      ];
      const accounts = await testAccounts({ routes });
      const visitor = accounts.visitor();
      expect(await visitor.post("/by-id")).toMatchObject({ status: 200, body: { user: { id: 1 } } });
      expect([visitor.cookies.has("__Host-token"), (await accounts.rows("logins")).length]).toEqual([true, 1]);
      expect(await visitor.post("/out")).toMatchObject({ status: 200, body: { user: null } });
      expect([visitor.cookies.has("__Host-token"), await accounts.rows("logins")]).toEqual([false, []]);
    });
  });

  describe("the middleware verified", () => {
    test("a guest is redirected to /login, and after the login to the page they asked for", async () => {
      const accounts = await testAccounts();
      const visitor = accounts.visitor();
      expect(target(await visitor.get("/members?page=2"))).toBe("302 /login");
      const { headers } = await visitor.post("/login", { email: ADA.email, password: PASSWORD });
      expect(headers.get("location")).toBe("/members?page=2");
    });

    test("an unverified user is redirected to /email/verify/notice, a verified one passes", async () => {
      const accounts = await testAccounts();
      const visitor = await accounts.loggedIn();
      expect(target(await visitor.get("/members"))).toBe(`302 ${NOTICE}`);
      await (await accounts.user()).markEmailAsVerified();
      expect(await visitor.get("/members")).toMatchObject({ status: 200, body: "for members" });
    });

    test("a user whose model lacks the mixin is redirected to /email/verify/notice", async () => {
      const accounts = await testAccounts({ User: class User extends Unverifiable {} as typeof PlainUser });
      const visitor = await accounts.loggedIn();
      expect(target(await visitor.get("/members"))).toBe(`302 ${NOTICE}`);
    });

    test("a caller that accepts JSON gets the status", async () => {
      const accounts = await testAccounts();
      const visitor = accounts.visitor();
      const json = { accept: "application/json" };
      expect(await visitor.get("/members", json)).toMatchObject({ status: 401, body: { code: "E_UNAUTHENTICATED" } });
      const user = await accounts.loggedIn();
      expect(await user.get("/members", json)).toMatchObject({
        status: 403,
        body: { code: "E_FORBIDDEN", detail: "Verify your email address first." },
      });
    });
  });

  describe("registration", () => {
    const person = { name: "Cleo", email: "cleo@example.com", password: PASSWORD, password_confirmation: PASSWORD };

    test("with MustVerifyEmail: a mail is sent, and the visitor is redirected to /email/verify/notice", async () => {
      const accounts = await testAccounts();
      expect(target(await accounts.visitor().post("/register", person))).toBe(`302 ${NOTICE}`);
      const mails = await accounts.mails();
      expect(mails.map(({ to }) => to)).toEqual(["cleo@example.com"]);
      expect(mails[0]?.text).toContain("https://shop.example/email/verify/");
    });

    test("without MustVerifyEmail: no mail, and the visitor is redirected to /home", async () => {
      const accounts = await testAccounts({ User: class User extends Unverifiable {} as typeof PlainUser });
      expect(target(await accounts.visitor().post("/register", person))).toBe("302 /home");
      expect(await accounts.mails()).toEqual([]);
    });
  });

  describe("the verification link", () => {
    test("S59 D29 GET by the logged-in user verifies; other visitors get a page with one button", async () => {
      const accounts = await testAccounts();
      const ada = await accounts.loggedIn();
      await ada.post("/email/resend");
      const link = await accounts.link();
      for (const visitor of [accounts.visitor(), await accounts.loggedIn(BOB)]) {
        expect(await visitor.get(link)).toMatchObject({ status: 200, body: expect.stringContaining("<button") });
      }
      expect((await accounts.user()).hasVerifiedEmail()).toBe(false);
      expect(target(await ada.get(link))).toBe("302 /home");
      expect((await accounts.user()).hasVerifiedEmail()).toBe(true);
    });

    test("verifies once, with its button, for a logged-out visitor; is invalid with one character changed", async () => {
      const accounts = await testAccounts();
      await (await accounts.loggedIn()).post("/email/resend");
      const link = await accounts.link();
      const visitor = accounts.visitor();
      expect(await outcomeOf(visitor, link)).toBe("verified");
      expect(await outcomeOf(visitor, link)).toBe("already");
      expect((await accounts.toldOf("auth.email_verified")).length).toBe(1);
      const changed = link.replace(/.$/, (last) => (last === "A" ? "Q" : "A"));
      expect(target(await visitor.get(changed))).toBe(`302 ${NOTICE}`);
      expect(await outcomeOf(visitor, changed)).toBe("invalid");
    });

    test("a guest who posts /email/resend is redirected to /login", async () => {
      const accounts = await testAccounts();
      expect(target(await accounts.visitor().post("/email/resend"))).toBe("302 /login");
      expect(await accounts.mails()).toEqual([]);
    });
  });

  describe("logout", () => {
    test("GET /logout is 405, with Allow: POST and a page that says why; no one is logged out", async () => {
      const accounts = await testAccounts();
      const visitor = await accounts.loggedIn();
      const { status, headers, body } = await visitor.get("/logout");
      expect([status, headers.get("allow"), headers.get("cache-control")]).toEqual([405, "POST", "private, no-store"]);
      expect(body).toContain("because any other site could send you to it");
      expect(await visitor.get("/home")).toMatchObject({ status: 200, body: expect.stringContaining("Hello, Ada") });
    });

    test("POST /logout logs out", async () => {
      const accounts = await testAccounts();
      const visitor = await accounts.loggedIn();
      expect(target(await visitor.post("/logout"))).toBe("302 /login");
      expect(target(await visitor.get("/home"))).toBe("302 /login");
    });
  });

  describe("one login form, sent many times concurrently", () => {
    test("S18 each of 20 logins gets its own token, and no other login is affected", async () => {
      const accounts = await testAccounts();
      const other = await accounts.loggedIn(BOB);
      const visitor = accounts.visitor();
      await visitor.get("/login");
      const credentials = { email: ADA.email, password: PASSWORD };
      // Tabs of one browser, which all send the cookies from when the form was opened.
      const tabs = Array.from({ length: 20 }, () => visitor.copy());
      const paired = inPairs();
      const answers = await Promise.all(
        tabs.map((tab) => paired(() => tab.post("/login", credentials, { accept: "text/html" }))),
      );
      expect(answers.map(target)).toEqual(Array.from({ length: 20 }, () => "302 /home"));
      const tokens = tabs.map((tab) => tab.cookies.get("__Host-token"));
      expect(new Set(tokens).size).toBe(20);
      expect(await accounts.rows("logins")).toHaveLength(21);
      expect(await other.get("/home")).toMatchObject({ status: 200 });
    });

    test("S33 with a limit of five, only five of 20 attempts check the password", async () => {
      const buckets = [{ by: ["account", "address"], attempts: 5, windowSeconds: 60 }];
      const accounts = await testAccounts({ throttle: { login: { account: "email", buckets } } });
      const visitor = accounts.visitor();
      const wrong = { email: ADA.email, password: "not her password" };
      const paired = inPairs();
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => paired(() => visitor.copy().post("/login", wrong))),
      );
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(15);
      expect(await accounts.toldOf("auth.failed")).toHaveLength(5);
    });
  });

  describe("the account routes", () => {
    test.each([
      ["/login", "Log in"],
      ["/register", "Register"],
      ["/change_password", "Forgot your password?"],
      [NOTICE, "Verify your address"],
    ])("GET %s shows a page to every visitor", async (path, body) => {
      const accounts = await testAccounts();
      expect(await accounts.visitor().get(path)).toMatchObject({
        status: 200,
        body: expect.stringContaining(`<h1>${body}</h1>`),
      });
    });

    test("GET /home is for users", async () => {
      const accounts = await testAccounts();
      expect(target(await accounts.visitor().get("/home"))).toBe("302 /login");
      expect(await (await accounts.loggedIn()).get("/home")).toMatchObject({
        status: 200,
        body: expect.stringContaining("Hello, Ada"),
      });
    });

    test("POST /change_password mails a link to /password_reset, and POST /password_reset sets the password", async () => {
      const accounts = await testAccounts();
      const visitor = accounts.visitor();
      await visitor.post("/change_password", { email: ADA.email });
      const link = await accounts.link();
      expect(link).toMatch(/^\/password_reset\?token=[\w.-]+$/);
      expect(await visitor.get(link)).toMatchObject({
        status: 200,
        body: expect.stringContaining("<h1>Set a new password</h1>"),
      });
      const token = new URL(link, "http://localhost").searchParams.get("token");
      const passwords = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
      expect(target(await visitor.post("/password_reset", { token, ...passwords }))).toBe("302 /login");
      expect(visitor.cookies.has("__Host-token")).toBe(false);
      await accounts.loggedIn(ADA, NEW_PASSWORD);
    });

    test("passwordResetExpiration null: a link does not expire; n: it expires after n minutes", async () => {
      for (const [passwordResetExpiration, stored] of [
        [null, null],
        // As text or as a date.
        [30, expect.anything()],
      ] as const) {
        const accounts = await testAccounts({ guards: { passwordResetExpiration } });
        await accounts.resetToken();
        expect((await accounts.rows("password_resets")).map(({ expires_at }) => expires_at)).toEqual([stored]);
      }
    });
  });
});
