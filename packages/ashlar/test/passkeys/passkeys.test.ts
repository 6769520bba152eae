import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { captureEvents, captureMail, linksIn, type TestClient, travel, travelBack } from "../../src/testing/index.ts";
import { claimsOf, type TokenPair } from "../support/feature-shop.ts";
import { checkTypes } from "../support/generated-application.ts";
import { addPasskey, ORIGIN, optionsFor, PasskeyDevice, proveBy } from "../support/passkey-device.ts";
import { EMAIL, PASSWORD, PasskeyShop } from "../support/passkey-shop.ts";

let shop: PasskeyShop;

beforeAll(async () => {
  shop = await PasskeyShop.install();
});
afterAll(() => shop.end());

test("the installed files pass the type checker", () => checkTypes(shop.root));

const LOGIN = "/login/passkey";
const PAGE = "/account/passkeys";

/** The response to an app that logs in with a passkey. */
async function tokenFor(client: TestClient, device: PasskeyDevice) {
  const { data } = (await client.postJson("/api/passkey/options")).assertStatus(200).json as { data: object };
  return client.postJson("/api/passkey", { assertion: device.get(data) });
}

interface Page {
  readonly data: { readonly passkeys: readonly { readonly id: string; readonly name: string }[] };
}

async function listed(client: TestClient): Promise<Page["data"]["passkeys"]> {
  return ((await client.getJson(PAGE)).assertStatus(200).json as Page).data.passkeys;
}

describe("adding a passkey", () => {
  test("stores its public key, under a random user handle, and mails the owner", async () => {
    await shop.addAda();
    const mails = await captureMail(shop.application);
    using events = captureEvents(shop.application);
    const client = await shop.loggedIn();
    const options = await optionsFor(client, PAGE);
    expect(options).toMatchObject({
      rp: { id: "localhost" },
      user: { name: EMAIL, displayName: "Ada" },
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      attestation: "none",
      excludeCredentials: [],
    });
    const device = new PasskeyDevice();
    const added = await client.postJson(PAGE, { credential: device.create(options), name: "My phone" });
    added.assertStatus(201).assertJsonContains({ data: { status: "added", passkey: { name: "My phone" } } } as never);
    const [row] = await shop.rows("authenticators");
    const data = JSON.parse(row!.data as string) as Record<string, unknown>;
    expect(row).toMatchObject({ kind: "passkey", name: "My phone", handle: expect.stringMatching(/^[\w-]{43}$/) });
    expect(data).toMatchObject({ userHandle: (options.user as { id: string }).id, transports: expect.any(Array) });
    expect(Buffer.from(data.userHandle as string, "base64url")).toHaveLength(32);
    events.assertEmitted("passkeys.added", { name: "My phone" });
    const mail = await mails.assertSent(({ subject }) => subject === "A passkey was added to your account");
    expect(mail.text).toContain("My phone");
    expect(mail.text).toContain("/account/passkeys");
    // The second one gets the same handle, and excludes the first one.
    const more = await optionsFor(client, PAGE);
    expect(more.user).toEqual(options.user);
    expect(more.excludeCredentials).toHaveLength(1);
  });

  test("proposes the name of its model, or else a description", async () => {
    await shop.addAda();
    const client = await shop.loggedIn();
    (await addPasskey(client, new PasskeyDevice(), "")).assertStatus(201);
    expect((await listed(client)).map(({ name }) => name)).toEqual(["Passkey"]);
  });

  test.each<[string, (device: PasskeyDevice, options: object) => unknown]>([
    [
      "of another origin",
      (device, options) =>
        device.but({ origin: "https://evil.example" }).create({ ...options, rp: { id: "evil.example", name: "" } }),
    ],
    [
      "of another domain",
      (device, options) => ({
        ...device.create(options),
        response: {
          ...(device
            .but({ origin: "http://other.localhost" })
            .create({ ...options, rp: { id: "other.localhost", name: "" } }).response as object),
        },
      }),
    ],
    ["without a fingerprint or PIN", (device, options) => device.but({ userVerified: false }).create(options)],
    ["for another challenge", (device, options) => device.create({ ...options, challenge: "AAAA" })],
    ["that isn't one", () => "no passkey"],
  ])("refuses one %s", async (_, made) => {
    await shop.addAda();
    const client = await shop.loggedIn();
    const options = await optionsFor(client, PAGE);
    (await client.postJson(PAGE, { credential: made(new PasskeyDevice(), options) })).assertStatus(422);
    expect(await shop.rows("authenticators")).toEqual([]);
  });

  test("refuses a challenge that was answered, that is another user's, or that is for a login", async () => {
    await shop.addAda();
    const client = await shop.loggedIn();
    const device = new PasskeyDevice();
    const options = await optionsFor(client, PAGE);
    (await client.postJson(PAGE, { credential: device.create(options) })).assertStatus(201);
    (await client.postJson(PAGE, { credential: new PasskeyDevice().create(options) })).assertStatus(422);
    const eve = await shop.visitor().actingAs(await shop.addUser("Eve", "eve@example.com"), { by: "password" });
    const ofEve = await optionsFor(eve, PAGE);
    (await client.postJson(PAGE, { credential: new PasskeyDevice().create(ofEve) })).assertStatus(422);
    const own = await optionsFor(client, PAGE);
    const { challenge } = await optionsFor(shop.visitor(), LOGIN);
    (await client.postJson(PAGE, { credential: new PasskeyDevice().create({ ...own, challenge }) })).assertStatus(422);
    expect(await shop.rows("authenticators")).toHaveLength(1);
  });

  test("refuses a passkey that an account has already", async () => {
    const { client, device } = await shop.userWithPasskey();
    const eve = await shop.visitor().actingAs(await shop.addUser("Eve", "eve@example.com"), { by: "password" });
    const [known] = await shop.rows("authenticators");
    const options = await optionsFor(eve, PAGE);
    const credential = device.create({ ...options, excludeCredentials: [] });
    const { credentialId } = JSON.parse(known!.data as string) as { credentialId: string };
    expect(credential.id).not.toBe(credentialId);
    (await eve.postJson(PAGE, { credential })).assertStatus(201);
    const again = await optionsFor(client, PAGE);
    const twice = device.create({ ...again, excludeCredentials: [] });
    (await client.postJson(PAGE, { credential: twice })).assertStatus(201);
    expect(await shop.rows("authenticators")).toHaveLength(3);
  });

  test("asks to confirm first", async () => {
    const ada = await shop.addAda();
    const client = await shop.visitor().actingAs(ada);
    (await client.get(PAGE)).assertRedirect("/confirm_password");
    (await client.withCsrfToken().postJson(`${PAGE}/options`)).assertStatus(403);
  });
});

describe("logging in", () => {
  test("by JSON, with what counts as two factors", async () => {
    const { ada, device } = await shop.userWithPasskey();
    using events = captureEvents(shop.application);
    const client = shop.visitor();
    (await proveBy(client, device)).assertStatus(200).assertJsonContains({ data: { status: "complete" } });
    await client.assertAuthenticatedAs(ada);
    events.assertEmitted("auth.login", { by: ["passkey"] });
    const [login] = (await shop.rows("logins")).filter(({ methods }) => String(methods).includes("passkey"));
    expect(JSON.parse(login!.methods as string)).toEqual([["passkey", expect.any(Number), ["swk", "user", "mfa"]]]);
  });

  test("by a form, to the visitor's destination", async () => {
    const { ada, device } = await shop.userWithPasskey();
    const client = shop.visitor();
    await client.get("/logins");
    const page = await client.get("/login");
    const assertion = JSON.stringify(device.get(await optionsFor(client, LOGIN)));
    (await client.submit(page, `[action="${LOGIN}"]`, { assertion, remember: "1" })).assertRedirect("/logins");
    await client.assertAuthenticatedAs(ada);
  });

  test("for a token, whose claims say how", async () => {
    const { device } = await shop.userWithPasskey();
    const pair = (await tokenFor(shop.visitor(), device)).assertStatus(200).json as TokenPair;
    expect(claimsOf(pair.data)).toMatchObject({ amr: ["swk", "user", "mfa"], auth_time: expect.any(Number) });
  });

  test.each<[string, (device: PasskeyDevice, options: object) => unknown]>([
    ["on a page of another origin", (device, options) => device.but({ origin: "http://localhost:8080" }).get(options)],
    ["without a fingerprint or PIN", (device, options) => device.but({ userVerified: false }).get(options)],
    ["for another challenge", (device, options) => device.get({ ...options, challenge: "AAAA" })],
    [
      "of another account, under the name of this one",
      (device, options) => ({ ...device.get(options), id: "AAAA", rawId: "AAAA" }),
    ],
    ["with another signature", (device, options) => withResponse(device.get(options), { signature: "AAAA" })],
    ["with another user handle", (device, options) => withResponse(device.get(options), { userHandle: "AAAA" })],
    ["without a user handle", (device, options) => withResponse(device.get(options), { userHandle: null })],
    ["that isn't one", () => "no passkey"],
    ["that is a list", () => ["no passkey"]],
  ])("refuses a passkey %s, and announces it", async (_, assertionOf) => {
    const { device } = await shop.userWithPasskey();
    using events = captureEvents(shop.application);
    const client = shop.visitor("203.0.113.7");
    const assertion = assertionOf(device, await optionsFor(client, LOGIN));
    (await client.postJson(LOGIN, { assertion })).assertStatus(422);
    await client.assertGuest();
    events.assertEmitted("auth.failed", { by: "passkey" });
  });

  test("S142 a challenge is answered once, even at the same time", async () => {
    const { device } = await shop.userWithPasskey();
    const client = shop.visitor();
    const options = await optionsFor(client, LOGIN);
    const assertion = device.but({ counts: 0 }).get(options);
    const sent = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        client.postJson(LOGIN, { assertion }, { address: `203.0.113.${index + 1}` } as object),
      ),
    );
    expect(sent.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test("a challenge belongs to the visitor who asked for it, and expires after five minutes", async () => {
    const { device } = await shop.userWithPasskey();
    const [client, other] = [shop.visitor(), shop.visitor()];
    const options = await optionsFor(client, LOGIN);
    (await other.withCsrfToken().postJson(LOGIN, { assertion: device.get(options) })).assertStatus(422);
    const { data } = (await shop.visitor().postJson("/api/passkey/options")).json as { data: object };
    (await client.postJson(LOGIN, { assertion: device.get(data) })).assertStatus(422);
    const late = device.get(await optionsFor(client, LOGIN));
    travel(6);
    try {
      (await client.postJson(LOGIN, { assertion: late })).assertStatus(422);
    } finally {
      travelBack();
    }
    await client.assertGuest();
  });

  test("a passkey that was copied is refused, announced and mailed", async () => {
    const { device } = await shop.userWithPasskey();
    const copy = device.copy();
    (await proveBy(shop.visitor(), device)).assertStatus(200);
    const mails = await captureMail(shop.application);
    using events = captureEvents(shop.application);
    (await proveBy(shop.visitor(), copy)).assertStatus(422);
    events.assertEmitted("passkeys.copied", { name: "Phone" });
    await mails.assertSent(({ subject }) => subject === "One of your passkeys may have been copied");
    (await proveBy(shop.visitor(), device)).assertStatus(200);
  });

  test("S143 presence alone never logs in, though it is a valid signature", async () => {
    const { device } = await shop.userWithPasskey();
    const client = shop.visitor();
    (await proveBy(client, device.but({ userVerified: false }))).assertStatus(422);
    (await tokenFor(client, device.but({ userVerified: false }))).assertStatus(401);
    await client.assertGuest();
  });

  test("a synced passkey, whose counter stays at 0, works again and again", async () => {
    await shop.addAda();
    const device = new PasskeyDevice({ counts: 0 });
    (await addPasskey(await shop.loggedIn(), device)).assertStatus(201);
    for (let use = 0; use < 3; use++) (await proveBy(shop.visitor(), device)).assertStatus(200);
  });

  test("a blocked account is refused, with the reason", async () => {
    const { ada, device } = await shop.userWithPasskey();
    const { blocks } = shop.application.container.make("accounts");
    await blocks.block("web", (await shop.User.findOrFail(ada.id)) as never, { by: null, reason: null, address: null });
    (await proveBy(shop.visitor(), device)).assertStatus(403);
    (await tokenFor(shop.visitor(), device)).assertStatus(403);
  });

  test("the browser learns of a passkey that no account has", async () => {
    const { device, client } = await shop.userWithPasskey();
    const { id } = (await listed(client))[0]!;
    (await client.deleteJson(`${PAGE}/${id}`)).assertStatus(200);
    const visitor = shop.visitor();
    const assertion = device.get(await optionsFor(visitor, LOGIN));
    (await visitor.postJson(LOGIN, { assertion })).assertStatus(422);
    const { data } = (await visitor.postJson(`${LOGIN}/options`)).json as { data: { unknown: string } };
    expect(data.unknown).toBe(assertion.id);
    expect(((await visitor.postJson(`${LOGIN}/options`)).json as { data: object }).data).toMatchObject({
      unknown: null,
    });
  });
});

describe("a user without a password", () => {
  async function passwordless() {
    const user = await shop.userWithPasskey();
    await shop.forgetPasswords();
    const client = shop.visitor();
    (await proveBy(client, user.device, LOGIN, { remember: "1" })).assertStatus(200);
    return { ...user, client };
  }

  test("confirms with the passkey", async () => {
    const { client, device } = await passwordless();
    travel(190);
    try {
      (await client.get(PAGE)).assertRedirect("/confirm_passkey");
      (await client.get("/confirm_passkey")).assertSee("Confirm with a passkey");
      const required = { code: "E_PASSWORD_NOT_CONFIRMED", methods: ["passkey"] };
      (await client.getJson(PAGE)).assertStatus(403).assertJsonContains(required);
      (await proveBy(client, device.but({ userVerified: false }), "/confirm_passkey")).assertStatus(422);
      (await proveBy(client, device, "/confirm_passkey")).assertJsonContains({ data: { status: "confirmed" } });
      (await client.get(PAGE)).assertStatus(200);
    } finally {
      travelBack();
    }
  });

  test("S144 can't remove the last passkey, even if the last two are removed at the same time", async () => {
    const { client } = await passwordless();
    (await addPasskey(client, new PasskeyDevice(), "Laptop")).assertStatus(201);
    const paths = (await listed(client)).map(({ id }) => `${PAGE}/${id}`);
    const removed = await Promise.all(paths.map((path) => client.deleteJson(path)));
    expect(removed.map(({ status }) => status).sort()).toEqual([200, 422]);
    expect(await listed(client)).toHaveLength(1);
  });
});

test("S145 GHSA-4vcf-q4xf-f48m: another user's passkey can't be renamed or removed", async () => {
  const { client } = await shop.userWithPasskey();
  const { id } = (await listed(client))[0]!;
  const eve = await shop.visitor().actingAs(await shop.addUser("Eve", "eve@example.com"), { by: "password" });
  eve.withCsrfToken();
  (await eve.patchJson(`${PAGE}/${id}`, { name: "Mine" })).assertJsonContains({ data: { status: "gone" } });
  (await eve.deleteJson(`${PAGE}/${id}`)).assertJsonContains({ data: { status: "gone" } });
  expect((await listed(client)).map(({ name }) => name)).toEqual(["Phone"]);
});

describe("the page of passkeys", () => {
  test("renames and removes one, and tells the password manager", async () => {
    const { client, device } = await shop.userWithPasskey();
    const mails = await captureMail(shop.application);
    const page = await client.get(PAGE);
    page.assertSee("Phone");
    const { id } = (await listed(client))[0]!;
    const rename = `${PAGE}/${id}`;
    const renamed = await client.withCsrfToken().patch(rename, { name: "Old phone" });
    (await client.follow(renamed)).assertSee("The passkey was renamed.");
    (await client.patchJson(rename, { name: " " })).assertStatus(422);
    const { data } = (await client.postJson(`${PAGE}/signals`)).json as { data: Record<string, unknown> };
    expect(data).toMatchObject({ unknown: null, create: null, signals: { rpId: "localhost", name: EMAIL } });
    const removed = await client.delete(rename);
    (await client.follow(removed)).assertSee("The passkey was removed.");
    await mails.assertSent(({ subject }) => subject === "A passkey was removed from your account");
    const after = ((await client.postJson(`${PAGE}/signals`)).json as { data: Record<string, unknown> }).data;
    expect(after).toMatchObject({ unknown: expect.any(String), signals: { users: [] } });
    (await proveBy(shop.visitor(), device)).assertStatus(422);
  });
});

test("a passkey outlasts a new password, is exported without its key, and deleted with the account", async () => {
  const { ada, client, device } = await shop.userWithPasskey();
  const fields = { current_password: PASSWORD, password: "another of hers", password_confirmation: "another of hers" };
  await client.submit(await client.get("/account/password"), '[action="/account/password"]', fields);
  (await proveBy(shop.visitor(), device)).assertStatus(200);
  const { userData, users } = shop.application.container.make("accounts");
  const user = (await shop.User.findOrFail(ada.id)) as never;
  const subject = { user, id: ada.id, guards: users.guardsKeeping(shop.User), email: EMAIL };
  const { passkey } = (await userData.export(subject)) as { passkey: unknown };
  expect(passkey).toEqual([{ name: "Phone", created_at: expect.any(Date), last_used_at: expect.any(Date) }]);
  await (await shop.User.findOrFail(ada.id)).delete();
  expect(await shop.rows("authenticators")).toEqual([]);
});

describe("an account with a passkey and no password", () => {
  const GRACE = { name: "Grace", email: "grace@example.com" };

  /** The path of the link that was mailed to an address. */
  async function linkFor(client: TestClient, newcomer = GRACE): Promise<string> {
    const mails = await captureMail(shop.application);
    (await client.withCsrfToken().postJson("/register/passkey", newcomer)).assertStatus(202);
    await shop.application.background.settled();
    const mail = await mails.assertSent(({ to }) => to === newcomer.email);
    return new URL(linksIn(mail)[0]!).pathname;
  }

  test("is made by the mailed link, and logs in", async () => {
    await shop.addAda();
    const client = shop.visitor();
    const path = await linkFor(client);
    expect(await shop.rows("users")).toHaveLength(1);
    (await client.get(path)).assertStatus(200).assertSee("grace@example.com");
    const device = new PasskeyDevice();
    const credential = device.create(await optionsFor(client, path));
    (await client.postJson(path, { credential })).assertStatus(201);
    const [, grace] = await shop.rows("users");
    expect(grace).toMatchObject({ ...GRACE, password: null, verified_at: expect.anything() });
    (await client.getJson(PAGE)).assertStatus(200);
    (await proveBy(shop.visitor(), device)).assertStatus(200);
    (await client.get(path)).assertRedirect("/login");
    (await client.postJson(`${path}/options`)).assertStatus(410);
  });

  test("S142 of many requests with one link and one challenge, one makes the account", async () => {
    await shop.addAda();
    const client = shop.visitor();
    const path = await linkFor(client);
    const credential = new PasskeyDevice().create(await optionsFor(client, path));
    const sent = await Promise.all(Array.from({ length: 20 }, () => client.postJson(path, { credential })));
    expect(sent.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(await shop.rows("users")).toHaveLength(2);
  });

  test("the owner of a taken address learns of it by mail, and the caller doesn't", async () => {
    await shop.addAda();
    const mails = await captureMail(shop.application);
    const client = shop.visitor().withCsrfToken();
    const answer = await client.postJson("/register/passkey", { name: "Eve", email: EMAIL });
    answer.assertStatus(202).assertJsonContains({ data: { status: "mailed" } });
    await shop.application.background.settled();
    const mail = await mails.assertSent(({ to }) => to === EMAIL);
    expect(mail.text).not.toContain("/register/passkey/");
    (await client.postJson("/register/passkey", { name: "", email: "no address" })).assertStatus(422);
  });

  test("a link that was altered, or is older than an hour, makes none", async () => {
    await shop.addAda();
    const client = shop.visitor();
    const path = await linkFor(client);
    (await client.get(`${path}x`)).assertRedirect("/login");
    travel(61);
    try {
      (await client.get(path)).assertRedirect("/login");
      (await client.withCsrfToken().postJson(`${path}/options`)).assertStatus(410);
    } finally {
      travelBack();
    }
  });
});

test("the well-known addresses name related origins and the page of passkeys", async () => {
  const client = shop.visitor();
  expect((await client.getJson("/.well-known/webauthn")).assertStatus(200).json).toEqual({ origins: [] });
  const page = `${ORIGIN}/account/passkeys`;
  expect((await client.getJson("/.well-known/passkey-endpoints")).json).toEqual({ enroll: page, manage: page });
});

function withResponse(credential: object, changes: object): object {
  const { response } = credential as { readonly response: object };
  return { ...credential, response: { ...response, ...changes } };
}
