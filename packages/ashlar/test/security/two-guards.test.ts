import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import {
  captureMail,
  createTestClient,
  linksIn,
  type MailCapture,
  type TestClient,
  type TestResponse,
  travel,
  travelBack,
} from "../../src/testing/index.ts";
import { bootApplication } from "../support/booted-application.ts";
import { checkTypes, generateApplication, generatedApplication } from "../support/generated-application.ts";
import { addAdmins } from "../support/second-guard.ts";
import { emptyTables, onEachDatabase } from "../support/services.ts";

/**
 * The ways into the accounts of the two guards. Both are tested with the same address, and the first user of each has
 * the same key.
 */
const WEB = { guard: "web", prefix: "", table: "users", cookie: "token", password: "a password of the user" } as const;
const ADMIN = {
  guard: "admin",
  prefix: "/admin",
  table: "admins",
  cookie: "admin_token",
  password: "a password of the admin",
} as const;
const DOORS = [WEB, ADMIN] as const;
type Door = (typeof DOORS)[number];

const EMAIL = "ada@example.com";
const NEW_PASSWORD = "another password altogether";

const other = (door: Door): Door => (door === WEB ? ADMIN : WEB);

await onEachDatabase("two guards with equal keys and addresses", (engine) => {
  let application: Application;
  let mail: MailCapture;
  const cleanUp: (() => Promise<void>)[] = [];
  const told: [name: string, guard: unknown][] = [];

  beforeAll(async () => {
    const { root, remove } = await generateApplication({ database: engine.name as "sqlite" });
    cleanUp.push(remove);
    await addAdmins(
      root,
      [", register: false", ""],
      [
        "export const ROUTES = [",
        `export const ROUTES = [
  Route.get("/vault", () => "the user's vault").middleware("auth", "password.confirm:1"),
  Route.get("/admin/vault", () => "the admin's vault").middleware("auth:admin", "password.confirm:1"),
  Route.get("/verified", () => "for verified users").middleware("auth", "verified"),
  Route.get("/admin/verified", () => "for verified admins").middleware("auth:admin", "verified"),`,
      ],
    );
    const booted = await bootApplication(root, { engine, config: { throttle: { THROTTLE: { limits: {} } } } });
    ({ application } = booted);
    cleanUp.unshift(booted.end);
    mail = await captureMail(application);
    const names = ["auth.login", "auth.failed", "auth.logout", "auth.registered", "auth.verification_sent"] as const;
    const later = ["auth.email_verified", "auth.password_reset_requested", "auth.password_reset"] as const;
    const last = ["auth.password_changed", "auth.email_change_requested", "auth.email_changed"] as const;
    for (const name of [...names, ...later, ...last]) {
      application.container.make("events").on(name, (event) => void told.push([name, event.guard]));
    }
  });
  afterAll(async () => {
    for (const one of cleanUp) await one();
  });
  afterEach(travelBack);
  beforeEach(async () => {
    // The previous test's background work is finished first.
    await mail.all();
    await emptyTables(application);
    await mail.clear();
    told.length = 0;
  });

  /** Every visitor has their own address, so that no limit by address interferes. */
  let visitors = 0;
  const visitor = (): TestClient => createTestClient(application, { address: `203.0.113.${++visitors % 250}` });

  const row = async ({ table }: Door): Promise<Record<string, unknown>> => {
    const { kysely } = application.container.make("database");
    return (await kysely.selectFrom(table).selectAll().executeTakeFirstOrThrow()) as Record<string, unknown>;
  };

  async function send(client: TestClient, path: string, form: string, fields = {}): Promise<TestResponse> {
    const page = await client.get(path);
    page.assertStatus(200);
    return client.submit(page, `[action="${form}"]`, fields);
  }

  async function register({ prefix, password }: Door, client = visitor()): Promise<TestClient> {
    const fields = { name: "Ada", email: EMAIL, password, password_confirmation: password };
    const answer = await send(client, `${prefix}/register`, `${prefix}/register`, fields);
    answer.assertRedirect(`${prefix}/email/verify/notice`);
    return client;
  }

  function logIn({ prefix }: Door, password: string, client: TestClient, fields = {}): Promise<TestResponse> {
    return send(client, `${prefix}/login`, `${prefix}/login`, { email: EMAIL, password, ...fields });
  }

  async function loggedIn(door: Door, client = visitor(), password: string = door.password): Promise<TestClient> {
    (await logIn(door, password, client)).assertRedirect(`${door.prefix}/home`);
    return client;
  }

  /** Returns the guards by which a client is logged in, according to its own pages. */
  async function seenBy(client: TestClient): Promise<string[]> {
    const seen: string[] = [];
    for (const { prefix, guard } of DOORS) {
      if ((await client.get(`${prefix}/logins`)).status === 200) seen.push(guard);
    }
    return seen;
  }

  /** The path of the only link in the latest mail. */
  async function link(): Promise<string> {
    const latest = (await mail.all()).at(-1);
    const [url = ""] = latest === undefined ? [] : linksIn(latest);
    return url.replace(/^https?:\/\/[^/]+/, "");
  }

  /**
   * The first user of each guard. They are registered once, because the two hashes take as long as the rest of a test.
   */
  const people = new Map<string, Record<string, unknown>>();

  async function both(): Promise<void> {
    const { kysely } = application.container.make("database");
    for (const door of DOORS) {
      const { id: _, ...person } = people.get(door.table) ?? {};
      if (people.has(door.table)) await kysely.insertInto(door.table).values(person).execute();
      else await register(door);
      people.set(door.table, await row(door));
    }
    expect([...people.values()].map(({ id, email }) => [String(id), email])).toEqual([
      ["1", EMAIL],
      ["1", EMAIL],
    ]);
    await mail.clear();
    told.length = 0;
  }

  test("S69 users of each guard register, log in and log out on its own pages, with their own password only", async () => {
    const client = await register(WEB);
    expect(await seenBy(client)).toEqual(["web"]);
    (await client.get("/admin/home")).assertRedirect("/admin/login");
    const admin = await register(ADMIN);
    expect(await seenBy(admin)).toEqual(["admin"]);
    (await admin.get("/home")).assertRedirect("/login");
    (await admin.get("/admin/home")).assertSee("Administration by admin");
    for (const door of DOORS) {
      const guest = visitor();
      (await logIn(door, other(door).password, guest)).assertRedirect(`${door.prefix}/login`);
      expect(await seenBy(guest)).toEqual([]);
      const user = await loggedIn(door);
      expect(await seenBy(user)).toEqual([door.guard]);
      (await send(user, `${door.prefix}/logins`, `${door.prefix}/logout`)).assertRedirect(`${door.prefix}/login`);
      expect(await seenBy(user)).toEqual([]);
    }
    const guards = (name: string) => told.filter(([told]) => told === name).map(([, guard]) => guard);
    for (const name of ["auth.registered", "auth.failed", "auth.logout", "auth.verification_sent"]) {
      expect([name, guards(name)]).toEqual([name, ["web", "admin"]]);
    }
  });

  test.each(DOORS)("S69 guests of the guard $guard return to the page of that guard that they wanted", async (door) => {
    await both();
    const client = visitor();
    (await client.get("/account/email")).assertRedirect("/login");
    (await client.get("/admin/account/email")).assertRedirect("/admin/login");
    (await logIn(door, door.password, client)).assertRedirect(`${door.prefix}/account/email`);
  });

  test.each(DOORS)("S69 a remembered login with $guard is not a login with the other guard", async (door) => {
    await both();
    const client = visitor();
    (await logIn(door, door.password, client, { remember: true })).assertRedirect(`${door.prefix}/home`);
    const cookie = client.cookies.get(door.cookie)!;
    expect(client.cookies.get(other(door).cookie)).toBeNull();
    const stolen = visitor();
    const headers = { cookie: `${other(door).cookie}=${cookie}` };
    (await stolen.get(`${other(door).prefix}/logins`, { headers })).assertRedirect(`${other(door).prefix}/login`);
    travel(20 * 24 * 60);
    expect(await seenBy(client)).toEqual([door.guard]);
  });

  test.each(DOORS)("S69 logging out of $guard keeps the other login and its open forms valid", async (door) => {
    await both();
    const client = visitor();
    for (const one of DOORS) await loggedIn(one, client);
    const there = other(door);
    const open = await client.get(`${there.prefix}/account/password`);
    await send(client, `${door.prefix}/logins`, `${door.prefix}/logout`);
    expect(await seenBy(client)).toEqual([there.guard]);
    const fields = { current_password: there.password, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    const answer = await client.submit(open, `[action="${there.prefix}/account/password"]`, fields);
    answer.assertRedirect(`${there.prefix}/home`);
    // No one is logged in anymore. The forms became invalid with the last logout, and a new login doesn't revive them.
    const last = await client.get(`${there.prefix}/account/email`);
    await send(client, `${there.prefix}/logins`, `${there.prefix}/logout`);
    const form = `[action="${there.prefix}/account/email"]`;
    (await client.submit(last, form)).assertRedirect(`${there.prefix}/login`);
    (await client.submit(last, `[action="${there.prefix}/logout"]`)).assertRedirect(`${there.prefix}/login`);
    (await logIn(there, NEW_PASSWORD, client)).assertRedirect(`${there.prefix}/account/email`);
    (await client.submit(last, form)).assertStatus(419);
  });

  test.each(DOORS)("S69 the password given to $guard confirms nothing to the other guard", async (door) => {
    await both();
    const client = visitor();
    for (const one of DOORS) await loggedIn(one, client);
    travel(2);
    const there = other(door);
    (await client.get(`${door.prefix}/vault`)).assertRedirect(`${door.prefix}/confirm_password`);
    const path = `${door.prefix}/confirm_password`;
    (await send(client, path, path, { password: there.password })).assertRedirect(path);
    (await send(client, path, path, { password: door.password })).assertRedirect(`${door.prefix}/vault`);
    (await client.get(`${door.prefix}/vault`)).assertStatus(200);
    (await client.get(`${there.prefix}/vault`)).assertRedirect(`${there.prefix}/confirm_password`);
  });

  test.each(DOORS)("S69 a verification link of $guard verifies its own user, on its own page", async (door) => {
    await both();
    const there = other(door);
    const client = await loggedIn(door);
    (await client.get(`${door.prefix}/verified`)).assertRedirect(`${door.prefix}/email/verify/notice`);
    await mail.clear();
    const resent = await send(client, `${door.prefix}/email/verify/notice`, `${door.prefix}/email/resend`);
    resent.assertRedirect(`${door.prefix}/email/verify/notice`);
    const path = await link();
    expect(path).toMatch(new RegExp(`^${door.prefix}/email/verify/[\\w.-]+$`));
    await loggedIn(there, client);
    const elsewhere = path.replace(door.prefix, "").replace(/^/, there.prefix);
    (await client.get(elsewhere)).assertRedirect(`${there.prefix}/email/verify/notice`);
    expect([(await row(WEB)).verified_at, (await row(ADMIN)).verified_at]).toEqual([null, null]);
    (await client.get(path)).assertRedirect(`${door.prefix}/home`);
    expect([(await row(there)).verified_at, (await row(door)).verified_at]).toEqual([null, expect.anything()]);
    (await client.get(`${there.prefix}/verified`)).assertRedirect(`${there.prefix}/email/verify/notice`);
    expect(told.filter(([name]) => name === "auth.email_verified")).toEqual([["auth.email_verified", door.guard]]);
  });

  test.each(DOORS)("S69 a reset link of $guard sets its own user's password, on its own page", async (door) => {
    await both();
    const there = other(door);
    const clients = [await loggedIn(door), await loggedIn(there)];
    const guest = visitor();
    const links: string[] = [];
    for (const { prefix } of [door, there]) {
      (await send(guest, `${prefix}/change_password`, `${prefix}/change_password`, { email: EMAIL })).assertRedirect();
      links.push(await link());
    }
    // A request to one guard does not invalidate the other's link.
    const [path = "", rest = ""] = links;
    expect(path.startsWith(`${door.prefix}/password_reset?token=`)).toBe(true);
    expect(rest.startsWith(`${there.prefix}/password_reset?token=`)).toBe(true);
    const fields = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    const elsewhere = `${there.prefix}/password_reset${path.slice(path.indexOf("?"))}`;
    (await guest.get(elsewhere)).assertStatus(410);
    const token = new URL(elsewhere, "http://localhost").searchParams.get("token");
    await guest.get(rest);
    const refused = await guest.withCsrfToken().post(`${there.prefix}/password_reset`, { ...fields, token });
    refused.assertRedirect(`${there.prefix}/change_password`);
    await mail.clear();
    (await send(guest, path, `${door.prefix}/password_reset`, fields)).assertRedirect(`${door.prefix}/login`);
    expect(await link()).toBe(`${door.prefix}/change_password`);
    expect(await Promise.all(clients.map(seenBy))).toEqual([[], [there.guard]]);
    await loggedIn(door, visitor(), NEW_PASSWORD);
    await loggedIn(there);
    // The other link still works, because nothing here concerned it.
    (await send(guest, rest, `${there.prefix}/password_reset`, fields)).assertRedirect(`${there.prefix}/login`);
  });

  test.each(DOORS)("S69 changing the password with $guard ends only its own user's logins", async (door) => {
    await both();
    const there = other(door);
    const clients = [await loggedIn(door), await loggedIn(there), await loggedIn(there)];
    const [here, away] = [await loggedIn(door), clients[1]!];
    const path = `${door.prefix}/account/password`;
    const fields = { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    (await send(here, path, path, { current_password: there.password, ...fields })).assertRedirect(path);
    (await send(here, path, path, { current_password: door.password, ...fields })).assertRedirect(
      `${door.prefix}/home`,
    );
    expect(await Promise.all([here, ...clients].map(seenBy))).toEqual([[door.guard], [], [there.guard], [there.guard]]);
    // Nor does ending one guard's other devices affect the other's.
    await send(away, `${there.prefix}/logins`, `${there.prefix}/logins`);
    expect(await Promise.all([here, ...clients].map(seenBy))).toEqual([[door.guard], [], [there.guard], []]);
  });

  test.each(DOORS)("S69 changing the address with $guard changes its own user's, on its own page", async (door) => {
    await both();
    const client = await loggedIn(door);
    await mail.clear();
    const path = `${door.prefix}/account/email`;
    const email = "lovelace@example.com";
    (await send(client, path, path, { email, password: door.password })).assertRedirect(`${door.prefix}/home`);
    const mails = await mail.all();
    const follow = linksIn(mails.find(({ to }) => to === email)!)[0]!.replace(/^https?:\/\/[^/]+/, "");
    expect(linksIn(mails.find(({ to }) => to === EMAIL)!)[0]).toMatch(
      new RegExp(`^https?://[^/]+${door.prefix}/change_password$`),
    );
    expect(follow.startsWith(`${door.prefix}/email/verify/`)).toBe(true);
    const there = other(door);
    const admitted = await loggedIn(there);
    await mail.clear();
    await client.get(follow);
    expect([(await row(door)).email, (await row(there)).email]).toEqual([email, EMAIL]);
    expect(await seenBy(admitted)).toEqual([there.guard]);
    // The change can only be undone on its own guard's page, for its own user. The mail about the login on a new device
    // may arrive in between.
    const sent = (await mail.all()).flatMap((one) => (one.to === EMAIL ? linksIn(one) : []));
    const undo = sent.map((url) => new URL(url).pathname).find((path) => path.includes("/email/undo/")) ?? "";
    expect(undo.startsWith(`${door.prefix}/email/undo/`)).toBe(true);
    const guest = visitor();
    (await guest.get(undo.replace(door.prefix, "").replace(/^/, there.prefix))).assertRedirect(`${there.prefix}/login`);
    const undone = await send(guest, undo, undo);
    undone.assertRedirect(new RegExp(`^${door.prefix}/password_reset\\?token=`));
    expect([(await row(door)).email, (await row(there)).email]).toEqual([EMAIL, EMAIL]);
    expect(await seenBy(admitted)).toEqual([there.guard]);
  });

  test("S69 API tokens belong to the user: the admin gets none, and the admin's changes end none", async () => {
    await both();
    const authenticate = (password: string) => visitor().postJson("/api/auth", { username: EMAIL, password });
    (await authenticate(ADMIN.password)).assertStatus(401);
    const { data } = (await authenticate(WEB.password)).assertStatus(200).json as { data: string };
    const client = await loggedIn(ADMIN);
    const fields = { current_password: ADMIN.password, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
    await send(client, "/admin/account/password", "/admin/account/password", fields);
    const me = await visitor().withToken(data).getJson("/api/me");
    me.assertStatus(200).assertJsonContains({ email: EMAIL });
    (await visitor().withToken(data).get("/admin/logins")).assertRedirect("/admin/login");
  });

  test("S69 pages of one guard never lead to a page of the other", async () => {
    await both();
    const client = visitor();
    const paths = ["login", "register", "change_password", "email/verify/notice"];
    const pages = await Promise.all(paths.map((path) => client.get(`/admin/${path}`)));
    const gone = await client.get("/admin/password_reset?token=x");
    await loggedIn(WEB, client);
    await loggedIn(ADMIN, client);
    for (const path of ["logins", "account/password", "account/email", "confirm_password", "email/verify/notice"]) {
      pages.push(await client.get(`/admin/${path}`));
    }
    const targets = [...pages, gone].flatMap(({ text }) =>
      [...text.matchAll(/(?:href|action)="(\/[^"?]*)/g)].map(([, to]) => to!),
    );
    const elsewhere = targets.filter((to) => !to.startsWith("/admin/") && !/^\/$|\.\w+$/.test(to));
    expect(pages.map(({ status }) => status)).toEqual(pages.map(() => 200));
    expect([targets.length > 50, elsewhere]).toEqual([true, []]);
  });
});

describe("the second guard in the doc comment of Auth.routes", () => {
  test("has the right types in a generated application", async () => {
    const root = await generatedApplication();
    await addAdmins(root);
    await checkTypes(root);
  });
});
