import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import { createTestClient, resetDatabase, type TestClient, type TestResponse } from "../../../src/testing/index.ts";
import type { FullUser } from "../../support/account-application.ts";
import { bootApplication, userClass } from "../../support/booted-application.ts";
import { checkTypes, generateApplication, generatedApplication } from "../../support/generated-application.ts";
import { followSection } from "../../support/page-sections.ts";

const PAGE = "docs/guides/login-steps.md";
const EMAIL = "ada@example.com";
const PASSWORD = "a password of hers";

let application: Application;
let User: typeof FullUser;
let codeOf: (secret: string, period: number) => string;
let end: () => Promise<void>;

beforeAll(async () => {
  const { root, remove } = await generateApplication({});
  await followSection(root, PAGE, "A second factor, complete");
  await checkTypes(root);
  const booted = await bootApplication(root);
  application = booted.application;
  User = await userClass(root);
  ({ codeOf } = (await import(join(root, "app/codes.ts"))) as { codeOf: typeof codeOf });
  end = async () => {
    await booted.end();
    await remove();
  };
});
afterAll(() => end());

async function send(client: TestClient, path: string, fields: Readonly<Record<string, string>>): Promise<TestResponse> {
  return client.submit(await client.get(path), `[action="${path}"]`, fields);
}

const now = (): number => Math.floor(Date.now() / 30_000);

/** A user who has turned the second factor on, and the secret. From now on, the time stands still: codes change with it. */
async function userWithCode(): Promise<{ client: TestClient; secret: string }> {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  await resetDatabase(application);
  const user = new User().fill({ name: "Ada", email: EMAIL });
  await user.setPassword(PASSWORD);
  await user.save();
  const client = createTestClient(application);
  (await send(client, "/login", { email: EMAIL, password: PASSWORD })).assertRedirect("/home");
  const [secret = ""] = /[A-Z2-7]{32}/.exec((await client.get("/account/code")).pageText) ?? [];
  (await client.follow(await send(client, "/account/code", { code: "12345" }))).assertSee("This code is not valid.");
  const on = await send(client, "/account/code", { code: codeOf(secret, now() - 1) });
  (await client.follow(on)).assertSee("From now on, a login asks for a code.");
  return { client, secret };
}

test("the codes match RFC 6238", () => {
  // Appendix B: the secret 12345678901234567890 at 59 and 1,111,111,109 seconds.
  const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
  expect([codeOf(secret, 1), codeOf(secret, Math.floor(1_111_111_109 / 30))]).toEqual(["287082", "081804"]);
});

test("a login asks for the code, which works once", async () => {
  const { secret } = await userWithCode();
  const client = createTestClient(application);
  (await client.get("/login/code")).assertRedirect("/login");
  await client.get("/logins");
  (await send(client, "/login", { email: EMAIL, password: PASSWORD })).assertRedirect("/login/code");
  await client.assertGuest();
  (await client.follow(await send(client, "/login/code", { code: "000000" }))).assertSee("This code is not valid.");
  await client.assertGuest();
  const code = codeOf(secret, now());
  (await send(client, "/login/code", { code })).assertRedirect("/logins");
  const thief = createTestClient(application);
  await send(thief, "/login", { email: EMAIL, password: PASSWORD });
  (await thief.follow(await send(thief, "/login/code", { code }))).assertSee("This code is not valid.");
  await thief.assertGuest();
});

test("API clients send the code along, and a renewal needs none", async () => {
  const { secret } = await userWithCode();
  const client = createTestClient(application);
  const credentials = { username: EMAIL, password: PASSWORD };
  const refused = await client.postJson("/api/auth", credentials);
  expect(refused.json).toMatchObject({ title: "Unauthorized", status: 401, code: "E_LOGIN_PENDING", step: "code" });
  const answer = await client.postJson("/api/auth", { ...credentials, code: codeOf(secret, now()) });
  const { data: token } = answer.assertStatus(200).json as { data: string };
  (await client.postJson("/api/reauth", { token })).assertStatus(200);
});

test("the form for a new password leads to the code and back", async () => {
  const { client, secret } = await userWithCode();
  const fields = { current_password: PASSWORD, password: "another of hers", password_confirmation: "another of hers" };
  (await send(client, "/account/password", fields)).assertRedirect("/login/code");
  (await send(client, "/login/code", { code: codeOf(secret, now()) })).assertRedirect("/account/password");
  (await send(client, "/account/password", fields)).assertRedirect("/home");
});

test("S33 codes can't be guessed, from however many addresses", async () => {
  await userWithCode();
  const statuses: number[] = [];
  for (let guess = 0; guess < 6; guess++) {
    const client = createTestClient(application, { address: `203.0.113.${guess + 1}` });
    await send(client, "/login", { email: EMAIL, password: PASSWORD });
    statuses.push((await send(client, "/login/code", { code: "000000" })).status);
  }
  expect(statuses).toEqual([303, 303, 303, 303, 303, 429]);
});

test("a login waits for the terms, and accepting them verifies no address", async () => {
  const root = await generatedApplication();
  await followSection(root, PAGE, "Refuse with a page");
  await checkTypes(root);
  const shop = await bootApplication(root);
  onTestFinished(shop.end);
  const Customer = await userClass(root);
  const user = new Customer().fill({ name: "Ada", email: EMAIL });
  await user.setPassword(PASSWORD);
  await user.save();
  const client = createTestClient(shop.application);
  (await client.get("/terms")).assertRedirect("/login");
  (await send(client, "/login", { email: EMAIL, password: PASSWORD })).assertRedirect("/terms");
  await client.assertGuest();
  (await send(client, "/terms", {})).assertRedirect("/home");
  expect((await Customer.findBy("email", EMAIL))!.hasVerifiedEmail()).toBe(false);
  const again = createTestClient(shop.application);
  (await send(again, "/login", { email: EMAIL, password: PASSWORD })).assertRedirect("/home");
});
