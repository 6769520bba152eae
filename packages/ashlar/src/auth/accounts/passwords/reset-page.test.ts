import { afterEach, describe, expect, test } from "vitest";
import { ADA, NEW_PASSWORD, type TestAccounts, testAccounts } from "../../../../test/support/account-application.ts";
import { ACCOUNT_CONTROLLERS } from "../../../../test/support/account-controllers.ts";
import { Route } from "../../../routing/index.ts";
import { setClock } from "../../../support/index.ts";
import { authRoutes } from "../pages/auth-routes.ts";

afterEach(() => setClock(null));

const pathOf = (token: string): string => `/password_reset?token=${encodeURIComponent(token)}`;

/** Uses a token. */
async function reset(accounts: TestAccounts, token: string): Promise<string | null> {
  const sent = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
  return (await accounts.visitor().post("/password_reset", sent)).headers.get("location");
}

/** What has happened to a link, and how to get there. */
const DEAD: readonly (readonly [state: string, kill: (accounts: TestAccounts, token: string) => Promise<unknown>])[] = [
  ["used", reset],
  ["replaced", (accounts) => accounts.resetToken()],
  ["expired", async () => setClock(() => Date.now() + 25 * 3_600_000)],
  [
    "invalidated by the end of all access",
    async (accounts) => {
      const user = await accounts.user();
      await user.setPassword("yet another password");
      await user.save();
    },
  ],
];

describe("the page behind a reset link", () => {
  test("S39 tells password managers the account, and does not use up the link", async () => {
    const accounts = await testAccounts();
    const token = await accounts.resetToken();
    for (let look = 0; look < 3; look++) {
      const { status, body } = await accounts.visitor().get(pathOf(token));
      expect(status).toBe(200);
      expect(body).toContain(`<input type="text" autocomplete="username" value="${ADA.email}" hidden>`);
      expect(body).toContain('name="password_confirmation"');
    }
    expect(await reset(accounts, token)).toBe("/login");
  });

  test.each(DEAD)("reports immediately that a link was %s, and names no account", async (_, kill) => {
    const accounts = await testAccounts();
    const token = await accounts.resetToken();
    await kill(accounts, token);
    const { status, body } = await accounts.visitor().get(pathOf(token));
    expect([status, body]).toEqual([410, expect.stringContaining("has expired, was already used, or was replaced")]);
    expect(body).toContain('href="/change_password"');
    expect(body).not.toContain('type="password"');
    expect(body).not.toContain(ADA.email);
  });

  test("S33 is limited, and a made-up token causes no other query", async () => {
    const accounts = await testAccounts();
    accounts.forgetQueries();
    const statuses: number[] = [];
    for (let guess = 0; guess < 32; guess++) {
      statuses.push((await accounts.visitor({ ip: "203.0.113.7" }).get(pathOf(`x${guess}`))).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 30 }, () => 410), 429, 429]);
    expect(accounts.queriesBesideLimits).toEqual([]);
    // A genuine link is counted on its own: other visitors' guesses from the same address don't lock its owner out.
    const genuine = pathOf(await accounts.resetToken());
    expect((await accounts.visitor({ ip: "203.0.113.7" }).get(genuine)).status).toBe(200);
  });

  test("redirects to the login if no page can request a new link", async () => {
    const accounts = await testAccounts({ leftOut: { requestPasswordReset: false } });
    const { status, body } = await accounts.visitor().get(pathOf("x"));
    expect([status, body]).toEqual([410, expect.stringContaining('href="/login"')]);
    expect(body).not.toContain("/change_password");
    expect(await reset(accounts, "x")).toBe("/login");
    expect((await accounts.visitor().get("/password_reset")).status).toBe(410);
  });
});

describe("/.well-known/change-password", () => {
  const PATH = "/.well-known/change-password";

  test("redirects to the page for changing the password", async () => {
    const accounts = await testAccounts();
    for (const visitor of [accounts.visitor(), await accounts.loggedIn()]) {
      const { status, headers } = await visitor.get(PATH);
      expect([status, headers.get("location")]).toEqual([302, "/account/password"]);
    }
    // The resource with which a password manager checks whether the site's status codes can be trusted.
    const absent = "/.well-known/resource-that-should-not-exist-whose-status-code-should-not-be-200";
    expect((await accounts.visitor().get(absent)).status).toBe(404);
  });

  test("redirects to the page for a forgotten password if that is the only one, and is a 404 without either", async () => {
    const forgotten = await testAccounts({ leftOut: { changePassword: false } });
    expect((await forgotten.visitor().get(PATH)).headers.get("location")).toBe("/change_password");
    const none = await testAccounts({ leftOut: { changePassword: false, requestPasswordReset: false } });
    expect((await none.visitor().get(PATH)).status).toBe(404);
  });

  test("stays at the root under a prefix, exists once for all guards, and is replaced by a route of the application", async () => {
    const admin = authRoutes(ACCOUNT_CONTROLLERS, { guard: "admin" }).prefix("/admin");
    expect([...admin].some(({ attributes }) => attributes.path.includes("well-known"))).toBe(false);
    const prefixed = authRoutes(ACCOUNT_CONTROLLERS).prefix("/konto").name("konto.");
    const accounts = await testAccounts({ routes: [...prefixed] });
    expect((await accounts.visitor().get(PATH)).status).toBe(302);
    expect((await accounts.visitor().get(`/konto${PATH}`)).status).toBe(404);
    const own = await testAccounts({ routes: [Route.get(PATH, () => "own")] });
    expect((await own.visitor().get(PATH)).body).toBe("own");
  });
});
