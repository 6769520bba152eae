import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { captureMail, linksIn, type TestClient } from "../../src/testing/index.ts";
import { claimsOf, EMAIL, FeatureShop, PASSWORD, send, type TokenPair } from "../support/feature-shop.ts";
import { codeOf, currentPeriod } from "./totp/codes.ts";

const OTHER = "another password of hers";
const HOUR = 60 * 60_000;
const FLOW = { id: "totp", field: "totp_code" };

let shop: FeatureShop;

beforeAll(async () => {
  shop = await FeatureShop.install(["totp"], { personal: true });
});
afterAll(() => shop.end());

beforeEach(() => {
  // Codes change with the time.
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
});

/** Ada, who has turned on codes, and whose address is verified. */
async function userWithCodes(): Promise<{ readonly next: () => string }> {
  const ada = await shop.addAda();
  await shop.User.where("id", ada.id).update({ verified_at: new Date() } as object);
  const client = await shop.loggedIn();
  const page = await client.get("/account/totp");
  const [secret = ""] = /[A-Z2-7]{32}/.exec(page.pageText) ?? [];
  await client.submit(page, '[action="/account/totp"]', { totp_code: codeOf(secret, currentPeriod()) });
  const next = (): string => {
    vi.setSystemTime(Date.now() + 30_000);
    return codeOf(secret, currentPeriod());
  };
  return { next };
}

/** A browser in which Ada has logged in with a code, four hours ago. */
async function loggedInEarlier(next: () => string): Promise<TestClient> {
  const client = shop.visitor().withCsrfToken();
  const fields = { email: EMAIL, password: PASSWORD, remember: true, totp_code: next() };
  (await client.postJson("/login", fields)).assertJson({ data: { status: "complete" } });
  vi.setSystemTime(Date.now() + 4 * HOUR);
  return client;
}

const CREDENTIALS = { username: EMAIL, password: PASSWORD };

describe("S140 no door leads past a code:", () => {
  test("a password reset takes it off neither the page, nor JSON, nor the token endpoint", async () => {
    const { next } = await userWithCodes();
    const mails = await captureMail(shop.application);
    const visitor = shop.visitor();
    await visitor.submit(await visitor.get("/change_password"), { email: EMAIL });
    const mail = await mails.assertSent(({ to }) => to === EMAIL);
    const form = await visitor.get(linksIn(mail)[0]!);
    const done = await visitor.submit(form, { password: OTHER, password_confirmation: OTHER });
    expect(done.status).toBe(302);
    await visitor.assertGuest();
    const credentials = { email: EMAIL, password: OTHER };
    (await send(shop.visitor(), "/login", credentials)).assertRedirect("/login/totp");
    const json = await shop.visitor().withCsrfToken().postJson("/login", credentials);
    expect(json.json).toMatchObject({ data: { status: "pending", flows: [{ ...FLOW, url: "/login/totp" }] } });
    const api = shop.visitor();
    const pending = await api.postJson("/api/auth", { username: EMAIL, password: OTHER });
    pending.assertStatus(401).assertJsonContains({ code: "E_LOGIN_PENDING", step: "totp" });
    const all = { username: EMAIL, password: OTHER, totp_code: next() };
    (await api.postJson("/api/auth", all)).assertStatus(200);
  });

  test("the second request at the token endpoint needs a code that works, once", async () => {
    const { next } = await userWithCodes();
    const pending = async () => {
      const { json } = await shop.visitor().postJson("/api/auth", CREDENTIALS);
      expect(json).toMatchObject({ flows: [{ ...FLOW, url: "/api/auth" }] });
      return (json as { readonly pending: string }).pending;
    };
    const [one, other] = [await pending(), await pending()];
    const ask = (text: string, inputs: object) => shop.visitor().withToken(text).postJson("/api/auth", inputs);
    (await ask(one, {})).assertStatus(401).assertJsonContains({ code: "E_LOGIN_PENDING" });
    (await ask(one, { totp_code: "000000" })).assertStatus(401);
    const totp_code = next();
    const both = await Promise.all([ask(one, { totp_code }), ask(other, { totp_code })]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401]);
    const { data } = both.find(({ status }) => status === 200)!.json as TokenPair;
    expect(claimsOf(data)).toMatchObject({ amr: ["pwd", "otp", "mfa"] });
  });

  test("a renewal asks for none, and proves nothing more", async () => {
    const { next } = await userWithCodes();
    const issued = await shop.visitor().postJson("/api/auth", { ...CREDENTIALS, totp_code: next() });
    const { data, refresh } = issued.assertStatus(200).json as TokenPair;
    vi.setSystemTime(Date.now() + HOUR);
    const renewed = (await shop.visitor().postJson("/api/reauth", { token: refresh })).assertStatus(200)
      .json as TokenPair;
    const { auth_time, amr } = claimsOf(data);
    expect(claimsOf(renewed.data)).toMatchObject({ auth_time, amr });
  });

  test("personal tokens are made only behind a confirmation that asks for it", async () => {
    const { next } = await userWithCodes();
    const client = await loggedInEarlier(next);
    const token = { name: "A script", days: 7 };
    const create = async () => (await client.postJson("/account/tokens", token)).status;
    const refused = await client.getJson("/account/tokens");
    refused.assertStatus(403).assertJsonContains({ code: "E_PASSWORD_NOT_CONFIRMED", methods: ["password"] });
    expect(await create()).toBe(403);
    const half = await client.postJson("/confirm_password", { password: PASSWORD });
    expect(half.json).toMatchObject({ data: { status: "pending", flows: [{ ...FLOW, url: "/login/totp" }] } });
    expect(await create()).toBe(403);
    (await client.postJson("/login/totp", { totp_code: "000000" })).assertStatus(200);
    expect(await create()).toBe(403);
    await client.postJson("/login/totp", { totp_code: next() });
    expect(await create()).toBe(201);
  });

  test("a password alone confirms nothing, and the page to turn codes off stays closed", async () => {
    const { next } = await userWithCodes();
    const client = await loggedInEarlier(next);
    await client.postJson("/confirm_password", { password: PASSWORD });
    (await client.getJson("/account/totp")).assertStatus(403);
    await client.postJson("/login/totp", { totp_code: next() });
    (await client.getJson("/account/totp")).assertStatus(200);
  });
});
