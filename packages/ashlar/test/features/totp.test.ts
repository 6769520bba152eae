import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { captureEvents, type TestClient, type TestResponse } from "../../src/testing/index.ts";
import type { FullUser } from "../support/account-application.ts";
import { claimsOf, EMAIL, FeatureShop, PASSWORD, renewedAmr, send, type TokenPair } from "../support/feature-shop.ts";
import { codeOf, currentPeriod } from "./totp/codes.ts";

let shop: FeatureShop;

beforeAll(async () => {
  shop = await FeatureShop.install(["totp"]);
});
afterAll(() => shop.end());

const CREDENTIALS = { email: EMAIL, password: PASSWORD };

beforeEach(() => {
  // Codes change with the time.
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
});

/** An authenticator app: it shows another code every 30 seconds. */
class App {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  /** The code that it shows now. */
  get shown(): string {
    return codeOf(this.#secret, currentPeriod());
  }

  /** Waits for another code. */
  next(): string {
    vi.setSystemTime(Date.now() + 30_000);
    return this.shown;
  }
}

/** A user who has turned it on. */
async function userWithApp(): Promise<{ readonly ada: FullUser; readonly client: TestClient; readonly app: App }> {
  const ada = await shop.addAda();
  const client = await shop.loggedIn();
  const page = await client.get("/account/totp");
  const [secret = ""] = /[A-Z2-7]{32}/.exec(page.pageText) ?? [];
  const app = new App(secret);
  const on = await client.submit(page, '[action="/account/totp"]', { totp_code: app.shown });
  (await client.follow(on)).assertSee("From now on, a login asks for a code.");
  return { ada, client, app };
}

/** A visitor who has entered the correct password. */
async function halfIn(address?: string): Promise<{ readonly client: TestClient; readonly page: TestResponse }> {
  const client = shop.visitor(address);
  const page = await client.follow(await send(client, "/login", CREDENTIALS));
  return { client, page };
}

describe("logging in", () => {
  test("a form leads to the code's page, which says why", async () => {
    const { app } = await userWithApp();
    const { client, page } = await halfIn();
    page.assertSee("Enter the code from your authenticator app.", "Six-digit code");
    await client.assertGuest();
    const wrong = await client.submit(page, { totp_code: "000000" });
    (await client.follow(wrong)).assertSee("This code is not valid.");
    (await client.submit(await client.get("/login/totp"), { totp_code: app.next() })).assertRedirect("/home");
    (await client.get("/home")).assertStatus(200);
  });

  test("JSON clients get the missing step and the reason, and send the code to its URL or along with the password", async () => {
    const { app } = await userWithApp();
    const client = shop.visitor().withCsrfToken();
    const missing = "Enter the code from your authenticator app.";
    const pending = {
      status: "pending",
      step: "totp",
      message: missing,
      flows: [{ id: "totp", field: "totp_code", url: "/login/totp" }],
    };
    (await client.postJson("/login", CREDENTIALS)).assertJson({ data: pending });
    const wrong = { ...pending, message: "This code is not valid. Enter the one that your app shows now." };
    (await client.postJson("/login/totp", { totp_code: "000000" })).assertJson({ data: wrong });
    (await client.postJson("/login/totp", { totp_code: app.next() })).assertJson({ data: { status: "complete" } });
    const other = shop.visitor().withCsrfToken();
    const along = { ...CREDENTIALS, totp_code: app.next() };
    (await other.postJson("/login", along)).assertJson({ data: { status: "complete" } });
    (await shop.visitor().withCsrfToken().postJson("/login/totp", { totp_code: app.next() })).assertStatus(401);
  });

  test("a token needs the code too, records it, and is renewed without another", async () => {
    const { app } = await userWithApp();
    const client = shop.visitor();
    const credentials = { username: EMAIL, password: PASSWORD };
    const refused = { code: "E_LOGIN_PENDING", step: "totp", detail: "Enter the code from your authenticator app." };
    (await client.postJson("/api/auth", credentials)).assertStatus(401).assertJsonContains(refused);
    const detail = "This code is not valid. Enter the one that your app shows now.";
    const wrong = await client.postJson("/api/auth", { ...credentials, totp_code: "000000" });
    wrong.assertStatus(401).assertJsonContains({ ...refused, detail });
    const issued = await client.postJson("/api/auth", { ...credentials, totp_code: app.next() });
    const pair = issued.assertStatus(200).json as TokenPair;
    expect(claimsOf(pair.data)).toMatchObject({ amr: ["pwd", "otp", "mfa"], auth_time: expect.any(Number) });
    expect(await renewedAmr(client, pair)).toEqual([
      ["pwd", "otp", "mfa"],
      ["pwd", "otp", "mfa"],
    ]);
  });

  test("a code works once, even if it is sent twice at the same time", async () => {
    const { app } = await userWithApp();
    const [one, other] = [await halfIn(), await halfIn()];
    const code = app.next();
    await Promise.all([one, other].map(({ client, page }) => client.submit(page, { totp_code: code })));
    const homes = await Promise.all([one, other].map(({ client }) => client.get("/home")));
    expect(homes.map(({ status }) => status).sort()).toEqual([200, 302]);
    const third = await halfIn();
    await third.client.submit(third.page, { totp_code: code });
    await third.client.assertGuest();
  });

  test("users without an app need no code", async () => {
    await shop.addAda();
    (await (await shop.loggedIn()).get("/home")).assertStatus(200);
  });
});

test("the login list and the events name the proofs", async () => {
  const { app } = await userWithApp();
  using events = captureEvents(shop.application);
  const { client, page } = await halfIn();
  await client.submit(page, { totp_code: app.next() });
  expect(events.of("auth.login").map(({ by }) => by)).toEqual([["password", "totp"]]);
  const { data } = (await client.getJson("/logins")).json as {
    data: { logins: { isCurrent: boolean; by: unknown }[] };
  };
  expect(data.logins.find(({ isCurrent }) => isCurrent)?.by).toEqual(["password", "totp"]);
});

test("a confirmation requires the code too, once in ten minutes, and no other proof", async () => {
  const { client, app } = await userWithApp();
  vi.setSystemTime(Date.now() + 11 * 60_000);
  (await client.get("/account/totp")).assertRedirect("/confirm_password");
  (await send(client, "/confirm_password", { password: PASSWORD })).assertRedirect("/login/totp");
  (await send(client, "/login/totp", { totp_code: app.next() })).assertRedirect("/account/totp");
  (await client.get("/account/totp")).assertSee("Logins ask for a code.");
  const fields = { email: "ada@example.org", password: PASSWORD };
  (await send(client, "/account/email", fields)).assertRedirect("/home");
});

test("S33 wrong codes are announced, and limited by account; right ones use up nothing", async () => {
  const { app } = await userWithApp();
  using events = captureEvents(shop.application);
  for (let round = 0; round < 6; round++) {
    const { client, page } = await halfIn();
    (await client.submit(page, { totp_code: app.next() })).assertRedirect("/home");
  }
  events.assertNotEmitted("auth.failed");
  const statuses: number[] = [];
  for (let guess = 0; guess < 6; guess++) {
    const { client, page } = await halfIn(`203.0.113.${guess + 1}`);
    statuses.push((await client.submit(page, { totp_code: "000000" })).status);
  }
  expect([statuses.indexOf(429), statuses.length]).toEqual([5, 6]);
  const failed = events.of("auth.failed");
  expect(failed.map(({ by }) => by)).toEqual(Array(5).fill("totp"));
});

test("a code for a blocked account, or for one whose access has ended, starts nothing", async () => {
  const { ada, app } = await userWithApp();
  const { client, page } = await halfIn();
  await shop.block(ada);
  await client.submit(page, { totp_code: app.next() });
  await client.assertGuest();
  await shop.unblock(ada);
  const second = await halfIn();
  await shop.endAccess(ada);
  await second.client.submit(second.page, { totp_code: app.next() });
  await second.client.assertGuest();
  const third = await halfIn();
  await third.client.withCsrfToken().post("/login/totp", { totp_code: app.next(), end_access: "1" });
  await third.client.assertGuest();
  expect(await shop.logins()).toEqual([]);
});

describe("turning it on and off", () => {
  test("asks for the password, refuses a wrong code, and ends logins without a code on other devices", async () => {
    await shop.addAda();
    const [client, other] = [await shop.loggedIn(), await shop.loggedIn()];
    const wrong = await send(client, "/account/totp", { totp_code: "000000" });
    (await client.follow(wrong)).assertSee("This code is not valid.");
    expect(await shop.rows("totp_secrets")).toEqual([]);
    const [secret = ""] = /[A-Z2-7]{32}/.exec((await client.get("/account/totp")).pageText) ?? [];
    (await send(client, "/account/totp", { totp_code: new App(secret).shown })).assertRedirect("/home");
    await other.assertGuest();
    expect(JSON.stringify(await shop.rows("totp_secrets"))).not.toContain(secret);
    const idle = shop.visitor();
    await idle.actingAs((await shop.User.findBy("email", EMAIL))!);
    (await idle.get("/account/totp")).assertRedirect("/confirm_password");
  });

  test("it outlasts a new password, and is gone when it is turned off", async () => {
    const { client, app } = await userWithApp();
    const fields = {
      current_password: PASSWORD,
      password: "another of hers",
      password_confirmation: "another of hers",
    };
    (await send(client, "/account/password", fields)).assertRedirect("/login/totp");
    (await send(client, "/login/totp", { totp_code: app.next() })).assertRedirect("/account/password");
    (await send(client, "/account/password", fields)).assertRedirect("/home");
    const next = shop.visitor();
    (await send(next, "/login", { email: EMAIL, password: "another of hers" })).assertRedirect("/login/totp");
    (await client.follow(await send(client, "/account/totp"))).assertSee("Logins no longer ask for a code.");
    (await shop.loggedIn(EMAIL, "another of hers")).assertAuthenticatedAs((await shop.User.findBy("email", EMAIL))!);
    expect(await shop.rows("totp_secrets")).toEqual([]);
  });
});

test("an export lists it without the secret, and it is deleted with the account", async () => {
  const { ada } = await userWithApp();
  const [row] = await shop.rows("totp_secrets");
  const { totp } = await shop.exported(ada);
  expect(totp).toEqual([{ created_at: expect.any(Date) }]);
  expect(row).toMatchObject({ user_id: ada.id });
  await shop.delete(ada);
  expect(await shop.rows("totp_secrets")).toEqual([]);
});

test("it is not a way in", async () => {
  const { ada } = await userWithApp();
  expect(await shop.waysIn(ada)).toEqual(["password"]);
});
