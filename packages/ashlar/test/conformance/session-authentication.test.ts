import { describe, expect, test } from "vitest";
import { Route } from "../../src/routing/index.ts";
import { digest } from "../../src/security/index.ts";
import { onEachDatabase } from "../support/services.ts";
import { ADA, BOB, PASSWORD, testWeb } from "../support/web-application.ts";

const tokensOf = (cookies: readonly string[]) => cookies.filter((cookie) => cookie.startsWith("token="));

await onEachDatabase("Auth class operations", (engine) => {
  test("attempt: a right password returns the model and sets the cookie; a wrong one or an unknown user returns null", async () => {
    const web = await testWeb({ engine });
    const attempts = [
      { email: ADA.email, password: PASSWORD },
      { email: ADA.email, password: "wrong horse battery" },
      { email: "nobody@example.com", password: PASSWORD },
    ];
    const answers = await Promise.all(attempts.map((attempt) => web.browser().post("/login", attempt)));
    expect(answers.map(({ body }) => body)).toEqual([{ user: ADA }, { user: null }, { user: null }]);
    expect(answers.map(({ setCookies }) => tokensOf(setCookies).length)).toEqual([1, 0, 0]);
  });

  test("attemptById sets the cookie; logout removes cookie and row, and user() is null", async () => {
    const web = await testWeb({ engine });
    const browser = web.browser();
    const { body } = await browser.post("/login/1");
    const token = browser.cookies.get("token")!;
    expect([body, (await web.rows()).map(({ token_hash }) => token_hash)]).toEqual([{ user: ADA }, [digest(token)]]);
    expect((await browser.post("/logout")).body).toEqual({ user: null, known: null });
    expect([browser.cookies.has("token"), await web.rows()]).toEqual([false, []]);
    expect((await browser.get("/me")).body).toEqual({ user: null });
  });

  test("attemptById with an unknown key returns null, and sets no cookie", async () => {
    const web = await testWeb({ engine });
    const { body, setCookies } = await web.browser().post("/login/99");
    expect([body, setCookies]).toEqual([{ user: null }, []]);
  });

  test("user is the current authenticated user, or null", async () => {
    const web = await testWeb({ engine });
    expect((await (await web.loggedIn(BOB)).get("/me")).body).toEqual({ user: BOB });
    expect((await web.browser().get("/me")).body).toEqual({ user: null });
  });

  test("guard() supports the same operations on the guard it switches to", async () => {
    const web = await testWeb({
      engine,
      guard: { cookie: "first" },
      routes: [
        Route.post("/second", async ({ auth, request }) => {
          const guard = auth.guard("web");
          const seen = [await guard.check(), await guard.attempt(ADA.email, PASSWORD), await guard.user()];
          await guard.logout();
          return [...seen, await guard.attemptById(2), await guard.check(), request.user()];
        }),
      ],
    });
    const browser = web.browser();
    expect((await browser.post("/second")).body).toEqual([false, ADA, ADA, BOB, true, BOB]);
    expect((await browser.get("/me")).body).toEqual({ user: BOB });
    expect(browser.cookies.has("first")).toBe(true);
  });
});

describe("Authentication, Session", () => {
  test("the token cookie is later used to fetch the user", async () => {
    const web = await testWeb();
    const token = (await web.loggedIn()).cookies.get("token");
    expect((await web.browser().get("/me", { cookie: `token=${token}` })).body).toEqual({ user: ADA });
  });

  test("the password is never in a response", async () => {
    const web = await testWeb();
    const { body } = await web.browser().post("/login", { email: ADA.email, password: PASSWORD });
    expect(JSON.stringify(body)).not.toMatch(/password|argon2/);
  });
});
