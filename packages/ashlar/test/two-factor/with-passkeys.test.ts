import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createTestClient, type TestClient, type TestResponse, travel, travelBack } from "../../src/testing/index.ts";
import { addPasskey, optionsFor, PasskeyDevice, proveBy } from "../support/passkey-device.ts";
import { CREDENTIALS, EMAIL, PASSWORD, TwoFactorShop, type UserWithApp } from "../support/two-factor-shop.ts";

const LOGIN = "/login/passkey";
const STEP = "/login/two_factor";
const SETTINGS = "/account/two_factor/app";
const GRACE = "grace@example.com";

let shop: TwoFactorShop;

beforeAll(async () => {
  // Grace needs a second factor, whether or not she has an app.
  const settings = ["required: ({ name }) => name === 'Grace'", "trustDays: 30"];
  shop = await TwoFactorShop.install({ passkeys: true, settings });
});
afterAll(() => shop?.end());

/** A user who has an app and a passkey. */
async function userWithBoth(): Promise<UserWithApp & { readonly device: PasskeyDevice }> {
  const user = await shop.userWithApp();
  const device = new PasskeyDevice();
  (await addPasskey(user.client, device)).assertStatus(201);
  return { ...user, device };
}

/** A user who needs a second factor, and has nothing but passkeys for one. */
async function userWithPasskeyOnly(): Promise<PasskeyDevice> {
  await shop.addAda();
  const grace = await shop.addUser("Greta", GRACE);
  const device = new PasskeyDevice();
  (await addPasskey(await shop.loggedIn(GRACE), device)).assertStatus(201);
  await grace.fill({ name: "Grace" }).save();
  return device;
}

/** Does what the page's script does. */
async function submitPasskey(
  client: TestClient,
  page: TestResponse,
  device: PasskeyDevice,
  more: Readonly<Record<string, string>> = {},
): Promise<TestResponse> {
  const path = /<form id="assertion"[^>]* data-options="([^"]+)\/options"/.exec(page.text)?.[1];
  const assertion = JSON.stringify(device.get(await optionsFor(client, path ?? expect.fail("The page has no form."))));
  return client.submit(page, "#assertion", { assertion, ...more });
}

/** What a page of the step offers. */
function offeredOn({ text }: TestResponse): readonly string[] {
  return ["code", "assertion", "recovery_code"].filter((name) => text.includes(`name="${name}"`));
}

interface Pending {
  readonly data: { readonly status: string; readonly step: string; readonly flows: readonly object[] };
}

/** A front end that has sent the password. */
async function frontEnd(email = EMAIL): Promise<{ readonly client: TestClient; readonly answer: Pending["data"] }> {
  const client = shop.visitor().withCsrfToken();
  const { json } = (await client.postJson("/login", { email, password: PASSWORD })).assertStatus(200);
  return { client, answer: (json as Pending).data };
}

describe("the page of the step", () => {
  test("offers what the user has, and nothing else", async () => {
    const { device } = await userWithBoth();
    const { client, page } = await shop.halfIn();
    expect(offeredOn(page)).toEqual(["code", "assertion", "recovery_code"]);
    page.assertSee("Confirm with a passkey");
    expect(page.text).toMatch(/<script type="module" src="\/passkeys\.js[^"]*">/);
    (await submitPasskey(client, page, device)).assertRedirect("/home");
    expect(await client.user()).not.toBeNull();

    await shop.userWithApp();
    expect(offeredOn((await shop.halfIn()).page)).toEqual(["code", "recovery_code"]);
  });

  test("shows no field for a code to users who have passkeys only", async () => {
    const device = await userWithPasskeyOnly();
    const { client, page } = await shop.halfIn(undefined, GRACE);
    expect(offeredOn(page)).toEqual(["assertion"]);
    page.assertDontSee("authenticator app");
    page.assertSee("This browser can't use passkeys, or scripts are turned off.");
    (await submitPasskey(client, page, device)).assertRedirect("/home");
    expect(await client.user()).not.toBeNull();
  });

  test("S143 a passkey of another user, a used one, and one that only the password began with, don't pass it", async () => {
    const { device } = await userWithBoth();
    const bob = await shop.addUser("Bob", "bob@example.com");
    const others = new PasskeyDevice();
    (await addPasskey(await shop.loggedIn(bob.email), others)).assertStatus(201);
    const { client, page } = await shop.halfIn();
    const foreign = JSON.stringify(others.get({ ...(await optionsFor(client, LOGIN)), allowCredentials: [] }));
    const refused = await client.follow(await client.submit(page, "#assertion", { assertion: foreign }));
    refused.assertSee("That didn't work. Try again, or use another way.");
    await client.assertGuest();
    const assertion = device.get(await optionsFor(client, LOGIN));
    (await client.withCsrfToken().postJson(STEP, { assertion })).assertJsonContains({ data: { status: "complete" } });
    const again = await frontEnd();
    await again.client.postJson(STEP, { assertion });
    await again.client.assertGuest();
  });

  test("a passkey can make the device a trusted one", async () => {
    const { device } = await userWithBoth();
    const { client, page } = await shop.halfIn();
    (await submitPasskey(client, page, device, { trust_device: "1" })).assertRedirect("/home");
    await client.submit(await client.get("/home"), '[action="/logout"]');
    (await client.submit(await client.get("/login"), '[action="/login"]', CREDENTIALS)).assertRedirect("/home");
  });

  test("users whose only factor is a passkey prove it, not their password, to set up an app", async () => {
    await shop.addAda();
    const client = await shop.loggedIn();
    const device = new PasskeyDevice();
    (await addPasskey(client, device)).assertStatus(201);
    (await client.get(SETTINGS)).assertRedirect("/confirm_passkey");
    (await proveBy(client, device, "/confirm_passkey")).assertStatus(200);
    (await client.get(SETTINGS)).assertStatus(200);
  });

  test("asks for a passkey when the password is confirmed, too", async () => {
    const { client, device } = await userWithBoth();
    travel(11);
    onTestFinished(travelBack);
    const form = await client.follow((await client.get(SETTINGS)).assertRedirect("/confirm_password"));
    const answer = await client.submit(form, '[action="/confirm_password"]', { password: PASSWORD });
    const page = await client.follow(answer.assertRedirect(STEP));
    (await submitPasskey(client, page, device)).assertRedirect(SETTINGS);
    (await client.get(SETTINGS)).assertStatus(200);
  });
});

describe("API clients", () => {
  test("get the same ways in flows, and send the passkey as an object", async () => {
    const { device } = await userWithBoth();
    const { client, answer } = await frontEnd();
    const flows = [
      { id: "totp", field: "code", url: STEP },
      { id: "recovery_code", field: "recovery_code", url: STEP },
      { id: "passkey", field: "assertion", url: STEP, options: `${LOGIN}/options` },
    ];
    expect(answer).toMatchObject({ status: "pending", step: "two_factor", flows });
    (await client.getJson(STEP)).assertJsonContains({
      data: { status: "pending", step: "two_factor", flows },
    } as never);
    const assertion = device.get(await optionsFor(client, LOGIN));
    (await client.postJson(STEP, { assertion })).assertJsonContains({ data: { status: "complete" } });
    expect(await client.user()).not.toBeNull();
  });

  test("of users with passkeys only are not told of a code", async () => {
    await userWithPasskeyOnly();
    const { client, answer } = await frontEnd(GRACE);
    expect(answer.flows).toMatchObject([{ id: "passkey", field: "assertion", options: `${LOGIN}/options` }]);
    const { json } = await client.postJson(STEP, {});
    expect((json as { data: object }).data).toMatchObject({
      status: "pending",
      message: "Your account needs a second factor for this. Use one of those that you have set up.",
    });
  });

  test("with tokens get the challenge where apps do, and send the passkey with the login that waits", async () => {
    const { device } = await userWithBoth();
    const app = createTestClient(shop.application);
    const { json } = await app.postJson("/api/auth", { username: EMAIL, password: PASSWORD });
    const pending = json as { readonly pending: string; readonly flows: readonly { readonly id: string }[] };
    expect(pending.flows).toContainEqual({
      id: "passkey",
      field: "assertion",
      url: "/api/auth",
      options: "/api/passkey/options",
    });
    const { json: answered } = (await app.postJson("/api/passkey/options")).assertStatus(200);
    const assertion = device.get((answered as { data: object }).data);
    const bearer = createTestClient(shop.application).withToken(pending.pending);
    (await bearer.postJson("/api/auth", { assertion })).assertStatus(200);
  });

  test("log in with a passkey alone, which needs no second step", async () => {
    const { device } = await userWithBoth();
    const client = shop.visitor();
    (await proveBy(client, device)).assertJsonContains({ data: { status: "complete" } });
    (await client.getJson(SETTINGS)).assertStatus(200);
  });
});

test("the page of security shows passkeys and the app, with what there is of each", async () => {
  const { client } = await userWithBoth();
  const page = await client.get("/account/security");
  for (const text of ["Passkeys", "Phone", "Authenticator app"]) page.assertSee(text);
  for (const path of ["/account/passkeys", "/account/two_factor"]) expect(page.text).toContain(`href="${path}"`);
});
