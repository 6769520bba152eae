import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { captureEvents, captureMail, linksIn, type TestClient, travel, travelBack } from "../../src/testing/index.ts";
import type { FullUser } from "../support/account-application.ts";
import { Authenticator, addPasskey, challengeOf, sendAnswer } from "../support/authenticator.ts";
import { claimsOf, FeatureShop, PASSWORD, renewedAmr, send, type TokenPair } from "../support/feature-shop.ts";

let shop: FeatureShop;

beforeAll(async () => {
  shop = await FeatureShop.install(["passkeys"]);
});
afterAll(() => shop.end());

const LOGIN = "/login/passkey";

/** A user who has added a passkey, and is logged in. */
async function userWithPasskey(): Promise<{ ada: FullUser; client: TestClient; device: Authenticator }> {
  const ada = await shop.addAda();
  const client = await shop.loggedIn();
  return { ada, client, device: await addPasskey(client, "Phone") };
}

/** The same, without a password. */
async function userWithoutPassword(): Promise<{ ada: FullUser; client: TestClient; device: Authenticator }> {
  const user = await userWithPasskey();
  const { kysely } = shop.application.container.make("database");
  await kysely.updateTable("users").set({ password: null }).execute();
  const client = shop.visitor();
  (await sendAnswer(client, LOGIN, user.device)).assertRedirect("/home");
  return { ...user, client };
}

/** The user as a client of the API that has a challenge. */
async function tokenFor(client: TestClient, device: Authenticator, answering: object = {}, more: object = {}) {
  const { data } = (await client.postJson("/api/passkey/challenge")).assertStatus(200).json as { data: string };
  return client.postJson("/api/passkey", { assertion: device.answer(data, answering), ...more });
}

describe("logging in", () => {
  test("with a form, to the visitor's destination", async () => {
    const { ada, device } = await userWithPasskey();
    const client = shop.visitor();
    await client.get("/logins");
    (await sendAnswer(client, LOGIN, device)).assertRedirect("/logins");
    await client.assertAuthenticatedAs(ada);
    (await client.get(LOGIN)).assertRedirect("/home");
  });

  test("by JSON", async () => {
    const { ada, device } = await userWithPasskey();
    const client = shop.visitor().withCsrfToken();
    const { data } = (await client.getJson(LOGIN)).json as { data: { challenge: string } };
    const answer = await client.postJson(LOGIN, { assertion: device.answer(data.challenge) });
    answer.assertStatus(200).assertJson({ data: { status: "complete" } });
    await client.assertAuthenticatedAs(ada);
    (await client.postJson(LOGIN, { assertion: "not one" })).assertStatus(422);
  });

  test("a token records its proofs, even after a renewal", async () => {
    const { device } = await userWithPasskey();
    const client = shop.visitor();
    const pair = (await tokenFor(client, device)).assertStatus(200).json as TokenPair;
    expect(await renewedAmr(client, pair)).toEqual([["hwk"], ["hwk"]]);
    const verified = (await tokenFor(client, device, { userVerified: true })).json as TokenPair;
    expect(claimsOf(verified.data)).toMatchObject({
      amr: ["hwk", "user", "mfa"],
      auth_time: expect.any(Number),
    });
  });

  test("the login list and the event name the proof", async () => {
    const { device } = await userWithPasskey();
    using events = captureEvents(shop.application);
    const client = shop.visitor();
    await sendAnswer(client, LOGIN, device);
    events.assertEmitted("auth.login", { by: ["passkey"] });
    const { data } = (await client.getJson("/logins")).json as { data: { logins: { by: unknown }[] } };
    expect(data.logins.map(({ by }) => by)).toEqual([["passkey"], ["password"]]);
  });
});

describe("refused, announced and counted:", () => {
  test.each<[string, (device: Authenticator, challenge: string, former: string) => string]>([
    ["a passkey that no one has", (_, challenge) => new Authenticator().answer(challenge)],
    ["a signature for another challenge", (device, _, former) => device.answer(former)],
    ["a counter that was used", (device, challenge) => device.answer(challenge, { counter: 0 })],
    ["another signature", (device, challenge) => `${device.answer(challenge).split(".")[0]}.${"A".repeat(86)}`],
    ["no assertion", () => "."],
  ])("%s", async (_, assertionOf) => {
    const { device } = await userWithPasskey();
    using events = captureEvents(shop.application);
    const client = shop.visitor("203.0.113.7");
    const former = challengeOf(await client.get(LOGIN), LOGIN);
    const page = await client.get(LOGIN);
    const assertion = assertionOf(device, challengeOf(page, LOGIN), former);
    const refused = await client.submit(page, { assertion });
    (await client.follow(refused)).assertSee("Incorrect email address or password.");
    await client.assertGuest();
    events.assertEmitted("auth.failed", { by: "passkey" });
    (await tokenFor(client, new Authenticator()))
      .assertStatus(401)
      .assertJsonContains({ code: "E_INVALID_CREDENTIALS" });
  });

  test("an assertion that is sent again, even at the same time", async () => {
    const { device } = await userWithPasskey();
    const client = shop.visitor();
    const { data } = (await client.postJson("/api/passkey/challenge")).json as { data: string };
    const assertion = device.answer(data);
    const sent = await Promise.all([1, 2, 3].map(() => client.postJson("/api/passkey", { assertion })));
    expect(sent.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
    (await client.postJson("/api/passkey", { assertion })).assertStatus(401);
  });

  test("a challenge after five minutes", async () => {
    const { device } = await userWithPasskey();
    const client = shop.visitor();
    const page = await client.get(LOGIN);
    travel(6);
    try {
      await client.submit(page, { assertion: device.answer(challengeOf(page, LOGIN)) });
    } finally {
      travelBack();
    }
    await client.assertGuest();
  });

  test("the sixth attempt at an account from an address; successful attempts are given back", async () => {
    const { device } = await userWithPasskey();
    const client = shop.visitor();
    for (let round = 0; round < 6; round++) (await tokenFor(client, device)).assertStatus(200);
    const statuses: number[] = [];
    for (let guess = 0; guess < 6; guess++) statuses.push((await tokenFor(client, device, { counter: 0 })).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
  });
});

test("a blocked account is refused, and one whose access has ended since the proof starts nothing", async () => {
  const { ada, device } = await userWithPasskey();
  await shop.block(ada);
  const client = shop.visitor();
  (await client.follow(await sendAnswer(client, LOGIN, device))).assertSee("This account is blocked.");
  (await tokenFor(client, device)).assertStatus(403).assertJsonContains({ code: "E_LOGIN_REFUSED", step: "blocked" });
  await shop.unblock(ada);
  const page = await client.get(LOGIN);
  const assertion = device.answer(challengeOf(page, LOGIN));
  const ended = await client.withCsrfToken().post(LOGIN, { assertion, end_access: "1" });
  (await client.follow(ended)).assertSee("Incorrect email address or password.");
  (await tokenFor(client, device, {}, { end_access: "1" })).assertStatus(401);
  await client.assertGuest();
  expect([await shop.logins(), await shop.rows("api_tokens")]).toEqual([[], []]);
  (await sendAnswer(client, LOGIN, device)).assertRedirect("/home");
});

describe("a user without a password", () => {
  test("confirms with the passkey, which leads back", async () => {
    const { client, device } = await userWithoutPassword();
    travel(11);
    try {
      (await client.get("/account/passkeys")).assertRedirect("/confirm/passkey");
      const foreign = await sendAnswer(client, "/confirm/passkey", new Authenticator());
      (await client.follow(foreign)).assertSee("This passkey is not yours.");
      (await sendAnswer(client, "/confirm/passkey", device)).assertRedirect("/account/passkeys");
      (await client.get("/account/passkeys")).assertStatus(200);
    } finally {
      travelBack();
    }
  });

  test("reads in JSON how to confirm", async () => {
    const { client, device } = await userWithoutPassword();
    client.withCsrfToken();
    travel(11);
    try {
      const required = { code: "E_PASSWORD_NOT_CONFIRMED", methods: ["passkey"] };
      (await client.getJson("/account/passkeys")).assertStatus(403).assertJsonContains(required);
      const { data } = (await client.getJson("/confirm/passkey")).json as { data: { challenge: string } };
      const confirmed = await client.postJson("/confirm/passkey", { assertion: device.answer(data.challenge) });
      confirmed.assertJson({ data: { status: "confirmed" } });
      (await client.getJson("/account/passkeys")).assertStatus(200);
    } finally {
      travelBack();
    }
  });

  test("changes the address after that, and sets a first password", async () => {
    const { ada, client, device } = await userWithoutPassword();
    const mails = await captureMail(shop.application);
    travel(11);
    try {
      const moved = await send(client, "/account/email", { email: "ada@example.org" });
      moved.assertRedirect("/confirm/passkey");
      const back = await client.follow(await sendAnswer(client, "/confirm/passkey", device));
      (await client.submit(back, '[action="/account/email"]')).assertRedirect("/home");
      const mail = await mails.assertSent(({ to }) => to === "ada@example.org");
      await client.get(linksIn(mail)[0]!);
      expect((await shop.User.findOrFail(ada.id)).email).toBe("ada@example.org");
      const chosen = { password: "a first one of hers", password_confirmation: "a first one of hers" };
      (await send(client, "/account/password", chosen)).assertRedirect("/home");
    } finally {
      travelBack();
    }
    await (await shop.loggedIn("ada@example.org", "a first one of hers")).assertAuthenticatedAs(ada);
    (await sendAnswer(shop.visitor(), LOGIN, device)).assertRedirect("/home");
  });
});

test("a user with a password can confirm with a passkey, and is offered it", async () => {
  const { client, device } = await userWithPasskey();
  travel(11);
  try {
    (await client.get("/account/passkeys")).assertRedirect("/confirm_password");
    (await client.get("/confirm_password")).assertSee("Confirm with a passkey");
    (await sendAnswer(client, "/confirm/passkey", device)).assertRedirect("/account/passkeys");
  } finally {
    travelBack();
  }
});

describe("the passkey page", () => {
  test("adds a passkey, and refuses a passkey that isn't new or belongs to another user", async () => {
    const { client, device } = await userWithPasskey();
    const page = await client.get("/account/passkeys");
    const again = device.make(challengeOf(page, "/account/passkeys"));
    const refused = await client.submit(page, '[action="/account/passkeys"]', { name: "Again", assertion: again });
    (await client.follow(refused)).assertSee("This passkey could not be added.");
    const other = await client.get("/account/passkeys");
    const forOther = new Authenticator().make("another challenge");
    await client.submit(other, '[action="/account/passkeys"]', { name: "Other", assertion: forOther });
    expect(await shop.rows("passkeys")).toHaveLength(1);
  });

  test("removes one of several, but neither the last way in nor another user's", async () => {
    const { client, device } = await userWithoutPassword();
    await addPasskey(client, "Laptop");
    const [phone, laptop] = (await shop.rows("passkeys")).map(({ id }) => `/account/passkeys/${id}`);
    const eve = await shop.addUser("Eve", "eve@example.com");
    const stranger = await shop.visitor().actingAs(eve, { by: "password" });
    (await stranger.withCsrfToken().delete(phone!)).assertRedirect("/account/passkeys");
    expect(await shop.rows("passkeys")).toHaveLength(2);
    const page = await client.get("/account/passkeys");
    (await client.follow(await client.submit(page, `[action="${laptop}"]`))).assertSee("The passkey was removed.");
    const last = await client.submit(await client.get("/account/passkeys"), `[action="${phone}"]`);
    (await client.follow(last)).assertSee("This is your only way to log in. Set a password first.");
    (await client.withCsrfToken().deleteJson(phone!)).assertStatus(422);
    (await sendAnswer(shop.visitor(), LOGIN, device)).assertRedirect("/home");
  });

  test("leaves one if the last two are removed at the same time", async () => {
    const { client } = await userWithoutPassword();
    await addPasskey(client, "Laptop");
    client.withCsrfToken();
    const paths = (await shop.rows("passkeys")).map(({ id }) => `/account/passkeys/${id}`);
    const removed = await Promise.all(paths.map((path) => client.deleteJson(path)));
    expect(removed.map(({ status }) => status).sort()).toEqual([200, 422]);
    expect(await shop.rows("passkeys")).toHaveLength(1);
  });

  test("removes the last one if the user has a password", async () => {
    const { client, ada } = await userWithPasskey();
    expect(await shop.waysIn(ada)).toEqual(["password", "passkey"]);
    const [row] = await shop.rows("passkeys");
    await client.submit(await client.get("/account/passkeys"), `[action="/account/passkeys/${row!.id}"]`);
    expect(await shop.waysIn(ada)).toEqual(["password"]);
  });

  test("asks to confirm first", async () => {
    const ada = await shop.addAda();
    const client = await shop.visitor().actingAs(ada);
    (await client.get("/account/passkeys")).assertRedirect("/confirm_password");
  });
});

test("a passkey outlasts a new password, is exported without its key, and deleted with the account", async () => {
  const { ada, client, device } = await userWithPasskey();
  const fields = { current_password: PASSWORD, password: "another of hers", password_confirmation: "another of hers" };
  (await send(client, "/account/password", fields)).assertRedirect("/home");
  (await sendAnswer(shop.visitor(), LOGIN, device)).assertRedirect("/home");
  const { passkey } = await shop.exported(ada);
  expect(passkey).toEqual([{ name: "Phone", created_at: expect.any(Date), last_used_at: expect.any(Date) }]);
  await shop.delete(ada);
  expect(await shop.rows("passkeys")).toEqual([]);
  const stranger = shop.visitor();
  await sendAnswer(stranger, LOGIN, device);
  await stranger.assertGuest();
});
