import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { declareFeature, type Feature, Provider } from "../../src/public/index.ts";
import { captureEvents, type TestClient, type TestResponse } from "../../src/testing/index.ts";
import type { FullUser } from "../support/account-application.ts";
import { Authenticator, addPasskey, sendAnswer } from "../support/authenticator.ts";
import { ADA_THERE, ExampleSiteServer, visitSite } from "../support/example-site.ts";
import { claimsOf, EMAIL, FeatureShop, PASSWORD, renewedAmr, send, type TokenPair } from "../support/feature-shop.ts";
import { codeOf, currentPeriod } from "./totp/codes.ts";

// Authenticator apps, passkeys and accounts at another site, installed together. On SQLite: the time stands still here, but a
// process with a database on a server goes by the server's clock. On a server, so that locks are of the database.

let site: ExampleSiteServer;
let shop: FeatureShop;

/** The notifications to features about ended access: each feature's name, once per notification. */
const ended: string[] = [];

/** Two more proofs, which no one has, and which have something that must not outlast access. */
class Devices extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "devices",
    proofs: {
      "trusted-devices": () => ({ amr: [], has: () => false, endAccess: () => void ended.push("trusted-devices") }),
      "session-keys": () => ({ amr: [], has: () => false, endAccess: () => void ended.push("session-keys") }),
    },
  });
}

beforeAll(async () => {
  site = await ExampleSiteServer.start();
  const { environment } = site;
  const options = { environment, providers: [Devices] };
  shop = await FeatureShop.install(["totp", "passkeys", "provider"], options);
});
afterAll(async () => {
  await shop.end();
  await site.stop();
});
beforeEach(() => {
  // Codes change with the time.
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
});

interface Ada {
  readonly ada: FullUser;
  /** Logged in by the password and a code. */
  readonly client: TestClient;
  readonly device: Authenticator;
  /** Waits for another code of the authenticator app. */
  readonly nextCode: () => string;
}

/** A user with a password, an authenticator app, a passkey and an account at the site. */
async function userWithAll(): Promise<Ada> {
  const ada = await shop.addAda();
  const client = await shop.loggedIn();
  const device = await addPasskey(client, "Phone");
  await client.follow(await visitSite(client, site, "/account/example/connect"));
  const page = await client.get("/account/totp");
  const [secret = ""] = /[A-Z2-7]{32}/.exec(page.pageText) ?? [];
  const nextCode = () => {
    vi.setSystemTime(Date.now() + 30_000);
    return codeOf(secret, currentPeriod());
  };
  const totp_code = nextCode();
  (await client.submit(page, '[action="/account/totp"]', { totp_code })).assertRedirect("/home");
  return { ada, client, device, nextCode };
}

/** The token endpoint's response to a passkey. */
async function tokenFor(device: Authenticator, answering: object, more: object = {}): Promise<TestResponse> {
  const client = shop.visitor();
  const { data } = (await client.postJson("/api/passkey/challenge")).json as { data: string };
  return client.postJson("/api/passkey", { assertion: device.answer(data, answering), ...more });
}

async function byOf(client: TestClient): Promise<unknown> {
  const { data } = (await client.getJson("/logins")).json as {
    data: { logins: { isCurrent: boolean; by: unknown }[] };
  };
  return data.logins.find(({ isCurrent }) => isCurrent)?.by;
}

const MISSING = "Enter the code from your authenticator app.";

describe("the step of one proof after another proof", () => {
  test("a passkey without a fingerprint, or the other site, leads to the code's page, which says why", async () => {
    const { device, nextCode } = await userWithAll();
    const [byPasskey, bySite] = [shop.visitor(), shop.visitor()];
    await byPasskey.get("/logins");
    (await sendAnswer(byPasskey, "/login/passkey", device)).assertRedirect("/login/totp");
    await byPasskey.assertGuest();
    const page = (await byPasskey.get("/login/totp")).assertSee(MISSING);
    (await byPasskey.submit(page, { totp_code: nextCode() })).assertRedirect("/logins");
    (await visitSite(bySite, site, "/login/example")).assertRedirect("/login/totp");
    (await send(bySite, "/login/totp", { totp_code: nextCode() })).assertRedirect("/home");
    expect([await byOf(byPasskey), await byOf(bySite)]).toEqual([
      ["passkey", "totp"],
      ["example-site", "totp"],
    ]);
  });

  test("JSON clients get the step and the reason", async () => {
    const { device, nextCode } = await userWithAll();
    const client = shop.visitor().withCsrfToken();
    const { data } = (await client.getJson("/login/passkey")).json as { data: { challenge: string } };
    const assertion = device.answer(data.challenge);
    const flows = [{ id: "totp", field: "totp_code", url: "/login/totp" }];
    const pending = { status: "pending", step: "totp", message: MISSING, flows };
    (await client.postJson("/login/passkey", { assertion })).assertJson({ data: pending });
    (await client.postJson("/login/totp", { totp_code: nextCode() })).assertJson({ data: { status: "complete" } });
    expect(await byOf(client)).toEqual(["passkey", "totp"]);
  });

  test("a passkey with a fingerprint counts as two factors, so no code is required", async () => {
    const { device } = await userWithAll();
    const client = shop.visitor();
    (await sendAnswer(client, "/login/passkey", device, { userVerified: true })).assertRedirect("/home");
    expect(await byOf(client)).toEqual(["passkey"]);
    const pair = (await tokenFor(device, { userVerified: true })).assertStatus(200).json as TokenPair;
    expect(await renewedAmr(shop.visitor(), pair)).toEqual([
      ["hwk", "user", "mfa"],
      ["hwk", "user", "mfa"],
    ]);
  });

  test("a token needs the code, and records both proofs", async () => {
    const { device, nextCode } = await userWithAll();
    const refused = { code: "E_LOGIN_PENDING", step: "totp", detail: MISSING };
    (await tokenFor(device, {})).assertStatus(401).assertJsonContains(refused);
    const pair = (await tokenFor(device, {}, { totp_code: nextCode() })).assertStatus(200).json as TokenPair;
    // Both are something that the user has.
    expect(await renewedAmr(shop.visitor(), pair)).toEqual([
      ["hwk", "otp"],
      ["hwk", "otp"],
    ]);
    const client = shop.visitor();
    const { data } = (await client.postJson("/api/example/visits")).json as { data: { url: string } };
    const { code, state } = site.visit(data.url, ADA_THERE);
    const token = await client.postJson("/api/example", { code, state, totp_code: nextCode() });
    expect(claimsOf((token.assertStatus(200).json as TokenPair).data).amr).toEqual(["otp"]);
  });
});

test("a confirmation with any of them requires the code, unless it counts as two factors", async () => {
  const { client, device, nextCode } = await userWithAll();
  const later = () => vi.setSystemTime(Date.now() + 11 * 60_000);
  later();
  (await client.get("/account/passkeys")).assertRedirect("/confirm_password");
  (await client.get("/confirm_password")).assertSee("Confirm with a passkey", "Confirm with Example Site");
  (await visitSite(client, site, "/confirm/example")).assertRedirect("/login/totp");
  (await send(client, "/login/totp", { totp_code: nextCode() })).assertRedirect("/account/passkeys");
  later();
  (await sendAnswer(client, "/confirm/passkey", device, { userVerified: true })).assertRedirect("/home");
  (await client.get("/account/passkeys")).assertStatus(200);
  // The confirmation that waited for the code has begun another login.
  expect(await byOf(client)).toEqual(["example-site", "totp", "passkey"]);
});

test("wrong proofs are announced under their own names, and counted by their own limits", async () => {
  const { nextCode } = await userWithAll();
  using events = captureEvents(shop.application);
  for (let guess = 0; guess < 4; guess++) await sendAnswer(shop.visitor(), "/login/passkey", new Authenticator());
  const client = shop.visitor();
  (await send(client, "/login", { email: EMAIL, password: "wrong" })).assertStatus(303);
  (await send(client, "/login", { email: EMAIL, password: PASSWORD })).assertRedirect("/login/totp");
  await send(client, "/login/totp", { totp_code: "000000" });
  (await send(client, "/login/totp", { totp_code: nextCode() })).assertRedirect("/home");
  expect(events.of("auth.failed").map(({ by }) => by)).toEqual([...Array(4).fill("passkey"), "password", "totp"]);
});

describe("a user without a password", () => {
  test("can't log in with only an authenticator app", async () => {
    const { ada, device } = await userWithAll();
    const { kysely } = shop.application.container.make("database");
    await kysely.updateTable("users").set({ password: null }).execute();
    await kysely.deleteFrom("example_site_identities").execute();
    const client = shop.visitor();
    await sendAnswer(client, "/login/passkey", device, { userVerified: true });
    const [passkey] = await shop.rows("passkeys");
    const page = await client.get("/account/passkeys");
    const last = await client.submit(page, `[action="/account/passkeys/${passkey!.id}"]`);
    (await client.follow(last)).assertSee("This is your only way to log in.");
    expect(await shop.waysIn(ada)).toEqual(["passkey"]);
  });
});

test("once access has ended, each feature was notified once, and the credentials are still there", async () => {
  const { ada, client, device, nextCode } = await userWithAll();
  ended.length = 0;
  await shop.endAccess(ada);
  expect(ended.sort()).toEqual(["session-keys", "trusted-devices"]);
  await client.assertGuest();
  ended.length = 0;
  const next = shop.visitor();
  (await sendAnswer(next, "/login/passkey", device, { userVerified: true })).assertRedirect("/home");
  const fields = { current_password: PASSWORD, password: "another of hers", password_confirmation: "another of hers" };
  (await send(next, "/account/password", fields)).assertRedirect("/login/totp");
  (await send(next, "/login/totp", { totp_code: nextCode() })).assertRedirect("/account/password");
  (await send(next, "/account/password", fields)).assertRedirect("/home");
  expect(ended.sort()).toEqual(["session-keys", "trusted-devices"]);
  expect(await shop.waysIn(ada)).toEqual(["password", "example-site", "passkey"]);
});

test("everything is exported, and deleted with the account", async () => {
  const { ada } = await userWithAll();
  const { totp, passkey, "example-site": identity } = await shop.exported(ada);
  expect([totp, passkey, identity]).toEqual([[expect.anything()], [expect.anything()], [expect.anything()]]);
  await shop.delete(ada);
  const tables = ["totp_secrets", "passkeys", "example_site_identities"];
  expect(await Promise.all(tables.map((table) => shop.rows(table)))).toEqual([[], [], []]);
});
