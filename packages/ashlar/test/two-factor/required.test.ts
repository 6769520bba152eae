import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { captureEvents, captureMail, freeze, travel, travelBack } from "../../src/testing/index.ts";
import { ashlar } from "../support/command-line.ts";
import { send } from "../support/feature-shop.ts";
import { App, CREDENTIALS, codesOn, EMAIL, PASSWORD, secretOn, TwoFactorShop } from "../support/two-factor-shop.ts";

let shop: TwoFactorShop;

beforeAll(async () => {
  shop = await TwoFactorShop.install({
    settings: ['required: (user: { name: string }) => user.name !== "Bob"', "graceDays: 3"],
    edits: [
      [
        "routes/web.ts",
        [
          "  ...Csrf.routes(),",
          '  ...Csrf.routes(),\n  Route.get("/payouts", () => "Payouts").middleware("auth", "two-factor"),',
        ],
      ],
    ],
  });
});
afterAll(() => shop.end());
beforeEach(() => void freeze());
afterEach(() => travelBack());

const DAYS = 24 * 60;

/** A user who needs a second factor, and whose days without one are over. */
async function adaAfterGrace() {
  const ada = await shop.addAda();
  await (await shop.loggedIn()).assertAuthenticatedAs(ada);
  travel(3 * DAYS);
  return ada;
}

describe("a user who needs a second factor", () => {
  test("S140 can do without for the days of grace, and then waits until it is set up, which authenticates nothing before", async () => {
    const ada = await adaAfterGrace();
    const { client, page } = await shop.halfIn();
    page.assertSee("Set up your authenticator app", "Your account needs a second factor.");
    await client.assertGuest();
    (await client.get("/account/two_factor")).assertRedirect("/login/two_factor/setup");
    const app = new App(secretOn(page));
    const wrong = await client.submit(page, { code: "000000" });
    (await client.follow(wrong)).assertSee("This code is not valid.");
    await client.assertGuest();
    expect(await shop.authenticators("totp")).toEqual([]);
    using events = captureEvents(shop.application);
    const done = await client.submit(await client.get("/login/two_factor/setup"), { code: app.shown });
    expect(codesOn(done.assertStatus(201))).toHaveLength(10);
    await client.assertAuthenticatedAs(ada);
    expect(events.of("auth.login").map(({ by }) => by)).toEqual([["password", "totp"]]);
    expect(events.of("two_factor.added")).toHaveLength(1);
    (await client.get("/payouts")).assertStatus(200);
    const next = await shop.halfIn();
    next.page.assertSee("Six-digit code");
    await next.client.submit(next.page, { code: app.next() });
    await next.client.assertAuthenticatedAs(ada);
  });

  test("S140 gets no token either, and a token from before isn't renewed", async () => {
    await shop.addAda();
    const client = shop.visitor();
    const token = { username: EMAIL, password: PASSWORD };
    const { refresh } = (await client.postJson("/api/auth", token)).assertStatus(200).json as { refresh: string };
    travel(3 * DAYS);
    const refused = { code: "E_LOGIN_PENDING", step: "two_factor_setup" };
    (await client.postJson("/api/auth", token)).assertStatus(401).assertJsonContains(refused);
    (await client.postJson("/api/reauth", { token: refresh })).assertStatus(401).assertJsonContains(refused);
  });

  test("who is logged in already is logged out, and led to set it up", async () => {
    await shop.addAda();
    const client = shop.visitor();
    await client.submit(await client.get("/login"), { ...CREDENTIALS, remember: "1" });
    (await client.get("/home")).assertStatus(200);
    travel(3 * DAYS);
    (await client.getJson("/logins")).assertStatus(401);
    const other = await client.follow(await client.get("/home"));
    expect(other.pageText).toContain("Log in");
    const page = await client.follow(await send(client, "/login", CREDENTIALS));
    page.assertSee("Set up your authenticator app");
  });

  test("can't turn it off, and another user can", async () => {
    await shop.addAda();
    const client = await shop.loggedIn();
    const { app } = await shop.enrol(client);
    const own = await shop.loggedInWith(app);
    (await own.get("/account/two_factor")).assertDontSee("Turn off");
    (await own.withCsrfToken().deleteJson("/account/two_factor")).assertStatus(422);
    expect(await shop.authenticators("totp")).toHaveLength(1);
    await shop.addUser("Bob", "bob@example.com");
    const bob = await shop.loggedIn("bob@example.com");
    await shop.enrol(bob);
    (await bob.get("/account/two_factor")).assertSee("Turn off");
  });
});

describe("the middleware two-factor", () => {
  test("leads users without a second factor to the page that sets it up, and the others to a proof", async () => {
    await shop.addAda();
    await shop.addUser("Bob", "bob@example.com");
    const client = await shop.loggedIn("bob@example.com");
    (await client.get("/payouts")).assertRedirect("/account/two_factor/app");
    (await client.getJson("/payouts")).assertStatus(403).assertJsonContains({ code: "E_TWO_FACTOR_SETUP_REQUIRED" });
    const { app } = await shop.enrol(client);
    (await client.getJson("/payouts")).assertStatus(403).assertJsonContains({ code: "E_TWO_FACTOR_REQUIRED" });
    (await client.get("/payouts")).assertRedirect("/confirm_password");
    await send(client, "/confirm_password", { password: PASSWORD });
    const done = await client.submit(await client.get("/login/two_factor"), { code: app.next() });
    done.assertRedirect("/payouts");
    (await client.get("/payouts")).assertStatus(200);
    (await shop.visitor().get("/payouts")).assertRedirect("/login");
  });
});

test("a secret that an earlier key has sealed still works, and is sealed again with the present one", async () => {
  const { ada, app } = await shop.userWithApp();
  const { Totp } = await import("../../src/two-factor/factors/totp.ts");
  const { key } = shop.application.settings;
  const authenticators = shop.application.container.make("authenticators");
  const next = "another key of the application, which is long enough";
  const rotated = new Totp(authenticators, { key: next, previousKeys: [key] });
  const [before] = await shop.authenticators("totp");
  expect(await rotated.accept(await shop.User.findOrFail(ada.id), app.next())).toBe(true);
  const [after] = await shop.authenticators("totp");
  expect(after!.data).not.toBe(before!.data);
  const alone = new Totp(authenticators, { key: next, previousKeys: [] });
  expect(await alone.accept(await shop.User.findOrFail(ada.id), app.next())).toBe(true);
  expect((await shop.authenticators("totp"))[0]!.data).toBe(after!.data);
});

test("two-factor:reset removes everything, ends access, mails the owner, and writes an audit line", async () => {
  const { ada, client } = await shop.userWithApp();
  using events = captureEvents(shop.application);
  const mail = await captureMail(shop.application);
  const { run } = await import("../../src/two-factor/commands/two-factor-reset.ts");
  const lines: string[] = [];
  const context = {
    root: shop.root,
    print: (line = "") => void lines.push(line),
    application: async () => shop.application,
    publish: async () => {},
  };
  await run({ ...context, args: [EMAIL, "--by", "desk", "--reason", "Lost phone"] });
  expect(lines).toEqual([
    `Two-factor authentication has been turned off for the user ${ada.id}. All access to the account has ended.`,
  ]);
  await client.assertGuest();
  // The days of grace don't begin again.
  expect((await shop.rows("authenticators")).map(({ kind }) => kind)).toEqual(["two_factor_grace"]);
  const [deed] = events.of("auth.command");
  expect([deed?.command, deed?.by, deed?.reason]).toEqual(["two-factor:reset", "desk", "Lost phone"]);
  expect((await mail.all()).map(({ subject }) => subject)).toEqual(["Two-factor authentication was reset"]);
  await expect(run({ ...context, args: ["nobody@example.com"] })).rejects.toThrow("There is no such user.");
  await expect(run({ ...context, args: [] })).rejects.toThrow("Usage: two-factor:reset <user>");
  const { output } = await ashlar(shop.root, "--help");
  expect(output).toContain("two-factor:reset");
});
