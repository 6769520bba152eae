import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { captureEvents, captureMail, linksIn, type TestClient, travel, travelBack } from "../../src/testing/index.ts";
import type { FullUser } from "../support/account-application.ts";
import { ADA_THERE, ExampleSiteServer, type SiteAccount, visitSite } from "../support/example-site.ts";
import { claimsOf, EMAIL, FeatureShop, PASSWORD, renewedAmr, send, type TokenPair } from "../support/feature-shop.ts";

let site: ExampleSiteServer;
let shop: FeatureShop;

beforeAll(async () => {
  site = await ExampleSiteServer.start();
  shop = await FeatureShop.install(["provider"], { environment: site.environment });
});
afterAll(async () => {
  await shop.end();
  await site.stop();
});
afterEach(() => {
  site.forged = {};
  travelBack();
});

const LOGIN = "/login/example";
const EVE_THERE: SiteAccount = { sub: "site-2", email: "eve@example.com", name: "Eve", email_verified: true };

/** A user who came from the other site, and has no password. */
async function newcomer(): Promise<{ readonly ada: FullUser; readonly client: TestClient }> {
  await shop.reset();
  const client = shop.visitor();
  (await visitSite(client, site, LOGIN)).assertRedirect("/home");
  return { ada: (await shop.User.findBy("email", EMAIL))!, client };
}

/** A client of the API that has been at the site. */
async function tokenFor(account: SiteAccount = ADA_THERE, more: object = {}) {
  const client = shop.visitor();
  const { data } = (await client.postJson("/api/example/visits")).json as { data: { url: string; state: string } };
  const { code, state } = site.visit(data.url, account);
  expect(state).toBe(data.state);
  return client.postJson("/api/example", { code, state, ...more });
}

describe("a new visitor", () => {
  test("gets an account without a password, for an address that the site has verified", async () => {
    await shop.reset();
    using events = captureEvents(shop.application);
    const mails = await captureMail(shop.application);
    const client = shop.visitor();
    await client.get("/logins");
    (await visitSite(client, site, LOGIN)).assertRedirect("/logins");
    const ada = (await shop.User.findBy("email", EMAIL))!;
    expect([ada.passwordHash(), ada.hasVerifiedEmail()]).toEqual([null, true]);
    await client.assertAuthenticatedAs(ada);
    events.assertEmitted("auth.registered");
    expect(events.of("auth.login").map(({ by }) => by)).toEqual([["example-site"]]);
    await mails.assertNothingSent();
    expect(await shop.waysIn(ada)).toEqual(["example-site"]);
  });

  test("gets none for an address that is not verified, or that has an account", async () => {
    await shop.reset();
    const client = shop.visitor();
    const unverified = await visitSite(client, site, LOGIN, { ...ADA_THERE, email_verified: false });
    (await client.follow(unverified)).assertSee("Example Site has not verified your email address.");
    await shop.addAda();
    (await client.follow(await visitSite(client, site, LOGIN))).assertSee("An account with this address exists.");
    (await tokenFor()).assertStatus(403).assertJsonContains({ code: "E_EXAMPLE_SITE" });
    await client.assertGuest();
    expect(await shop.rows("example_site_identities")).toEqual([]);
  });

  test("gets one account if two visits end at the same time", async () => {
    await shop.reset();
    const visitors = [shop.visitor(), shop.visitor()];
    await Promise.all(visitors.map((client) => visitSite(client, site, LOGIN)));
    expect([await shop.rows("users"), await shop.rows("example_site_identities")]).toEqual([
      [expect.objectContaining({ email: EMAIL })],
      [expect.objectContaining({ subject: ADA_THERE.sub })],
    ]);
  });
});

describe("logging in", () => {
  test("with a visit to the site, whatever the address there is now", async () => {
    const { ada } = await newcomer();
    const client = shop.visitor();
    const moved = { ...ADA_THERE, email: "ada@example.net" };
    (await visitSite(client, site, LOGIN, moved)).assertRedirect("/home");
    await client.assertAuthenticatedAs(ada);
  });

  test("by JSON", async () => {
    const { ada } = await newcomer();
    const client = shop.visitor().withCsrfToken();
    const { data } = (await client.getJson(LOGIN)).json as { data: { url: string } };
    const { code, state } = site.visit(data.url, ADA_THERE);
    const answer = await client.postJson(`${LOGIN}/callback`, { code, state });
    answer.assertStatus(200).assertJson({ data: { status: "complete" } });
    await client.assertAuthenticatedAs(ada);
    (await client.postJson(`${LOGIN}/callback`, { code, state })).assertStatus(403);
  });

  test("a token records the time, and is renewed", async () => {
    await newcomer();
    const pair = (await tokenFor()).assertStatus(200).json as TokenPair;
    expect(claimsOf(pair.data)).toMatchObject({ auth_time: expect.any(Number) });
    expect(await renewedAmr(shop.visitor(), pair)).toEqual([[], []]);
    const created = (await tokenFor(EVE_THERE)).assertStatus(200).json as TokenPair;
    const eve = (await shop.User.findBy("email", EVE_THERE.email))!;
    expect(claimsOf(created.data).sub).toBe(String(eve.id));
  });

  test("the login list names the proof", async () => {
    const { client } = await newcomer();
    const { data } = (await client.getJson("/logins")).json as { data: { logins: { by: unknown }[] } };
    expect(data.logins.map(({ by }) => by)).toEqual([["example-site"]]);
  });
});

describe("refused, announced and counted:", () => {
  test.each([
    ["a token for another nonce", { nonce: "another" }],
    ["a token for another application", { aud: "another" }],
    ["a token of another issuer", { iss: "https://another.example" }],
    ["a token that has expired", { exp: 1 }],
  ])("%s", async (_, forged) => {
    await newcomer();
    site.forged = forged;
    using events = captureEvents(shop.application);
    const client = shop.visitor();
    const failed = await client.follow(await visitSite(client, site, LOGIN));
    failed.assertSee("Example Site did not confirm who you are.");
    (await tokenFor()).assertStatus(401).assertJsonContains({ code: "E_INVALID_CREDENTIALS" });
    await client.assertGuest();
    expect(events.of("auth.failed").map(({ by }) => by)).toEqual(["example-site", "example-site"]);
  });

  test("a visit that another visitor, or an API client, has begun", async () => {
    await newcomer();
    const [thief, victim] = [shop.visitor(), shop.visitor()];
    const going = await thief.get(LOGIN);
    const { path } = site.visit(going.redirectsTo!, EVE_THERE);
    await victim.get(LOGIN);
    await victim.get(path);
    await victim.assertGuest();
    const { data } = (await victim.postJson("/api/example/visits")).json as { data: { url: string } };
    await victim.get(site.visit(data.url, EVE_THERE).path);
    await victim.assertGuest();
    const { code, state } = site.visit((await victim.get(LOGIN)).redirectsTo!, ADA_THERE);
    (await victim.postJson("/api/example", { code, state })).assertStatus(401);
  });

  test("the 31st from an address; successful visits are given back", async () => {
    await newcomer();
    const client = shop.visitor();
    const statuses: number[] = [];
    for (let visit = 0; visit < 31; visit++) (await tokenFor()).assertStatus(200);
    for (let visit = 0; visit < 31; visit++) statuses.push((await client.postJson("/api/example")).status);
    expect([statuses.indexOf(429), statuses[0]]).toEqual([30, 401]);
  });
});

test("a blocked account is refused, and one whose access has ended since the proof starts nothing", async () => {
  const { ada } = await newcomer();
  await shop.block(ada);
  const client = shop.visitor();
  (await client.follow(await visitSite(client, site, LOGIN))).assertSee("This account is blocked.");
  (await tokenFor()).assertStatus(403).assertJsonContains({ code: "E_LOGIN_REFUSED", step: "blocked" });
  await shop.unblock(ada);
  const going = await client.get(LOGIN);
  await client.get(`${site.visit(going.redirectsTo!, ADA_THERE).path}&end_access=1`);
  await client.assertGuest();
  (await tokenFor(ADA_THERE, { end_access: "1" })).assertStatus(401);
  expect([await shop.logins(), await shop.rows("api_tokens")]).toEqual([[], []]);
});

describe("a user without a password", () => {
  test("confirms by going there again, with the connected account", async () => {
    const { client } = await newcomer();
    (await visitSite(shop.visitor(), site, LOGIN, EVE_THERE)).assertRedirect("/home");
    travel(11);
    (await client.get("/account/example/connect")).assertRedirect("/confirm/example");
    const foreign = await visitSite(client, site, "/confirm/example", EVE_THERE);
    (await client.follow(foreign)).assertSee("This account at Example Site is not connected to yours.");
    (await visitSite(client, site, "/confirm/example")).assertRedirect("/account/example/connect");
    (await client.get("/account/example/connect")).assertRedirect(/\/authorize\?/);
    const required = { code: "E_PASSWORD_NOT_CONFIRMED", methods: ["example-site"] };
    travel(22);
    (await client.getJson("/account/example/connect")).assertStatus(403).assertJsonContains(required);
  });

  test("changes the address after that, and sets a first password", async () => {
    const { ada, client } = await newcomer();
    const mails = await captureMail(shop.application);
    travel(11);
    (await send(client, "/account/email", { email: "ada@example.org" })).assertRedirect("/confirm/example");
    const back = await client.follow(await visitSite(client, site, "/confirm/example"));
    (await client.submit(back, '[action="/account/email"]')).assertRedirect("/home");
    await client.get(linksIn(await mails.assertSent(({ to }) => to === "ada@example.org"))[0]!);
    expect((await shop.User.findOrFail(ada.id)).email).toBe("ada@example.org");
    const chosen = { password: "a first one of hers", password_confirmation: "a first one of hers" };
    (await send(client, "/account/password", chosen)).assertRedirect("/home");
    await (await shop.loggedIn("ada@example.org", "a first one of hers")).assertAuthenticatedAs(ada);
  });
});

describe("connecting", () => {
  test("a logged-in user connects an account after a confirmation, and logs in with it", async () => {
    const ada = await shop.addAda();
    const idle = await shop.visitor().actingAs(ada);
    (await idle.get("/account/example/connect")).assertRedirect("/confirm_password");
    const client = await shop.loggedIn();
    (await client.get("/account/example")).assertSee("Connect");
    const connected = await client.follow(await visitSite(client, site, "/account/example/connect"));
    connected.assertSee("Your account at Example Site was connected.", "You can log in with ada@example.com");
    const other = shop.visitor();
    (await visitSite(other, site, LOGIN)).assertRedirect("/home");
    await other.assertAuthenticatedAs(ada);
  });

  test("an account there is connected to only one user", async () => {
    await newcomer();
    await shop.addUser("Eve", EVE_THERE.email);
    const eve = await shop.loggedIn(EVE_THERE.email, PASSWORD);
    const used = await eve.follow(await visitSite(eve, site, "/account/example/connect"));
    used.assertSee("This account at Example Site is connected to another account.");
    expect(await shop.rows("example_site_identities")).toHaveLength(1);
  });

  test("is undone, unless it is the last way in", async () => {
    const { ada, client } = await newcomer();
    const last = await client.follow(await send(client, "/account/example"));
    last.assertSee("This is your only way to log in. Set a password first.");
    const chosen = { password: "a first one of hers", password_confirmation: "a first one of hers" };
    (await send(client, "/account/password", chosen)).assertRedirect("/home");
    const gone = await client.follow(await send(client, "/account/example"));
    gone.assertSee("Your account at Example Site was disconnected.");
    expect(await shop.waysIn(ada)).toEqual(["password"]);
  });
});

test("it outlasts the end of access, is exported, and deleted with the account", async () => {
  const { ada, client } = await newcomer();
  await shop.endAccess(ada);
  await client.assertGuest();
  (await visitSite(client, site, LOGIN)).assertRedirect("/home");
  expect((await shop.exported(ada))["example-site"]).toEqual([{ subject: ADA_THERE.sub, email: EMAIL }]);
  await shop.delete(ada);
  expect(await shop.rows("example_site_identities")).toEqual([]);
});
