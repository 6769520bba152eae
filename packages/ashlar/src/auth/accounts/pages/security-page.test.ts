import { expect, test } from "vitest";
import {
  ADA,
  FullUser,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
} from "../../../../test/support/account-application.ts";
import { migrationOfStub } from "../../../../test/support/migration-folder.ts";
import {
  AUTHENTICATORS,
  createAuthenticatorsTable,
  HasAuthenticators,
  type HasAuthenticatorsInstance,
} from "../../../authenticators/index.ts";
import { declareFeature, type Feature, Provider } from "../../../boot/index.ts";
import { compose } from "../../../database/index.ts";
import { Route } from "../../../routing/index.ts";
import type { Constructor } from "../../../support/index.ts";

/** A feature with two kinds of authenticators, of which one has a page. */
class KeysProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "keys",
    includes: [AUTHENTICATORS],
    messages: { english: { "app.keys": "Door keys" }, translations: {} },
    authenticators: { key: { label: "app.keys", page: "account.keys" }, badge: { label: "app.keys" } },
  });
}

const KEYS = Route.get("/account/keys", () => "keys").name("account.keys");

async function withEvents(options: TestAccountsOptions = {}): Promise<TestAccounts> {
  const accounts = await testAccounts(options);
  await (await migrationOfStub("auth/migrations/create_security_events.ts.stub")).up(accounts.database.kysely);
  await accounts.application.container.make("accounts").history.prepare();
  return accounts;
}

/** What a page says, without its markup. */
function textOf(body: unknown): string {
  const [, main = ""] = /<main[^>]*>([\s\S]*)<\/main>/.exec(String(body)) ?? [];
  return main
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
}

test("the page /account/security shows what protects an account and what has happened to it, with working links", async () => {
  const accounts = await withEvents();
  await accounts.visitor().post("/login", { email: ADA.email, password: "a wrong password" });
  const visitor = await accounts.loggedIn();
  expect(String((await visitor.get("/home")).body)).toContain('<a href="/account/security">Security</a>');
  const { status, body } = await visitor.get("/account/security");
  expect(status).toBe(200);
  const text = textOf(body);
  expect(text).toContain(`Email address ${ADA.email} Not verified Change`);
  expect(text).toContain("Password Set Change");
  expect(text).toContain("Logged in on 1 device");
  expect(text).toMatch(/Logged in on a new device .*Logged in .*Failed attempt to log in .*203\.0\.113\.7/);
  // Nothing of features that are not installed.
  expect(text).not.toContain("Personal tokens");
  for (const [, link] of String(body).matchAll(/<main[\s\S]*|href="(\/account[^"#]+)"/g)) {
    if (link !== undefined) expect((await visitor.get(link)).status, link).toBe(200);
  }
  expect((await accounts.visitor().get("/account/security")).headers.get("location")).toBe("/login");
});

test("the page shows older events on further pages", async () => {
  const accounts = await withEvents();
  const visitor = await accounts.loggedIn();
  const { events } = { events: accounts.application.container.make("events") };
  const user = await accounts.user();
  for (let count = 0; count < 15; count++) {
    await events.emit("auth.email_verified", { time: new Date(), address: null, guard: "web", user });
  }
  const first = String((await visitor.get("/account/security")).body);
  expect(textOf(first).match(/Email address verified/g)).toHaveLength(10);
  const [, older] = /rel="next" href="([^"#]+)#recent"/.exec(first)!;
  const second = String((await visitor.get(older!.replaceAll("&amp;", "&"))).body);
  expect(textOf(second).match(/Email address verified/g)).toHaveLength(5);
  expect(second).toContain('rel="prev"');
});

test("the page is in the visitor's language, and JSON clients get the same", async () => {
  const accounts = await withEvents({ config: { app: { APP: { languages: ["de"] } } } });
  const visitor = await accounts.loggedIn();
  const { body } = await visitor.get("/account/security", { "accept-language": "de" });
  const text = textOf(body);
  expect(text).toContain("Auf 1 Gerät angemeldet");
  expect(text).toContain("Auf einem neuen Gerät angemeldet");
  expect(text).not.toMatch(/pages\.|Change|Manage|Password/);
  const { body: json } = await visitor.get("/account/security", { accept: "application/json" });
  expect(json).toMatchObject({
    data: {
      email: ADA.email,
      isVerified: false,
      hasPassword: true,
      devices: 1,
      sections: [],
      events: [{ name: "auth.new_device" }, { name: "auth.login" }],
      before: null,
      after: null,
    },
  });
});

test("the page has a section for each authenticator kind with a page, and user.authenticators() lists all", async () => {
  class User extends (compose(FullUser, HasAuthenticators) as typeof FullUser &
    Constructor<HasAuthenticatorsInstance>) {}
  const accounts = await withEvents({ User, providers: [KeysProvider], routes: [KEYS] });
  await createAuthenticatorsTable(accounts.database.kysely);
  const visitor = await accounts.loggedIn();
  const page = async () => textOf((await visitor.get("/account/security")).body);
  expect(await page()).toContain("Door keys None Manage");
  const user = (await accounts.user()) as InstanceType<typeof User>;
  expect(await user.authenticators()).toEqual([]);
  const { authenticators } = { authenticators: accounts.application.container.make("authenticators") };
  const values = { data: null, counter: 0, handle: null };
  for (const [kind, name] of [
    ["key", "Front door"],
    ["key", "Back <door>"],
    ["badge", null],
  ] as const) {
    await authenticators.tableOf(kind, user).insert(user, { ...values, name });
  }
  const text = await page();
  expect(text).toMatch(/Door keys Back &lt;door&gt;: Added .* Front door: Added .* Manage/);
  expect(text.match(/Door keys/g)).toHaveLength(2);
  const seen = { id: expect.any(String), createdAt: expect.any(Date), lastUsedAt: null };
  expect(await user.authenticators()).toEqual([
    { ...seen, kind: "key", name: "Back <door>" },
    { ...seen, kind: "key", name: "Front door" },
    { ...seen, kind: "badge", name: null },
  ]);
});

test("nothing is shown of a feature whose page is left out", async () => {
  const accounts = await withEvents({ providers: [KeysProvider] });
  await createAuthenticatorsTable(accounts.database.kysely);
  const visitor = await accounts.loggedIn();
  expect(textOf((await visitor.get("/account/security")).body)).not.toContain("Door keys");
});
