import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { TestClient, TestResponse } from "../../src/testing/index.ts";
import { freeze, travel, travelBack } from "../../src/testing/index.ts";
import { type App, PASSWORD, TwoFactorShop } from "../support/two-factor-shop.ts";

let shop: TwoFactorShop;

beforeAll(async () => {
  shop = await TwoFactorShop.install({
    edits: [
      [
        "routes/web.ts",
        [
          "  ...Csrf.routes(),",
          '  ...Csrf.routes(),\n  Route.get("/payouts", () => "Payouts").middleware("auth", "password.confirm:mfa,5"),\n  Route.get("/keys", () => "Keys").middleware("auth", "password.confirm:otp,5"),\n  Route.get("/app", () => "App").middleware("auth", "password.confirm:totp"),',
        ],
      ],
    ],
  });
});
afterAll(() => shop.end());
beforeEach(() => void freeze());
afterEach(() => travelBack());

/** Confirms on the page that a route has led to, with the password and a code. */
async function confirm(client: TestClient, asked: TestResponse, app: App): Promise<TestResponse> {
  const page = await client.follow(asked.assertRedirect("/confirm_password"));
  const next = await client.submit(page, '[action="/confirm_password"]', { password: PASSWORD });
  const codePage = await client.follow(next.assertRedirect("/login/two_factor"));
  return client.submit(codePage, '[action="/login/two_factor"]', { code: app.next() });
}

test("S142 a route that wants both factors within five minutes asks for both again, however recently a confirmation had a code", async () => {
  const { client, app } = await shop.userWithApp();
  for (let time = 0; time < 3; time++) {
    // Less than the ten minutes for which other confirmations don't ask for the code again.
    travel(6);
    (await confirm(client, await client.get("/payouts"), app)).assertRedirect("/payouts");
    (await client.get("/payouts")).assertStatus(200);
  }
});

test("an API client is asked for both again, too", async () => {
  const { client, app } = await shop.userWithApp();
  client.withCsrfToken();
  for (let time = 0; time < 3; time++) {
    travel(6);
    const { code } = (await client.getJson("/payouts")).assertStatus(403).json as { code: string };
    expect(code).toBe("E_PASSWORD_NOT_CONFIRMED");
    const waiting = await client.postJson("/confirm_password", { password: PASSWORD });
    expect(waiting.json).toMatchObject({ data: { status: "pending", step: "two_factor" } });
    await client.postJson("/login/two_factor", { code: app.next() });
    (await client.getJson("/payouts")).assertStatus(200);
  }
});

test("a route that wants a code, by its factor or its name, gets one", async () => {
  const { client, app } = await shop.userWithApp();
  travel(6);
  (await confirm(client, await client.get("/keys"), app)).assertRedirect("/keys");
  (await client.get("/keys")).assertStatus(200);
  (await client.get("/app")).assertStatus(200);
});

test("a user without a second factor is not sent around for a code", async () => {
  await shop.addUser("Bea", "bea@example.com");
  const client = await shop.loggedIn("bea@example.com");
  for (const path of ["/keys", "/app"]) {
    const { methods, flows } = (await client.getJson(path)).assertStatus(403).json as Record<string, unknown>;
    expect([methods, flows]).toEqual([[], []]);
    expect((await client.get(path)).redirectsTo).toBe(null);
  }
});
