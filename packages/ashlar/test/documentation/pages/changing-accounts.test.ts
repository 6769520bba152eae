import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import type { Model } from "../../../src/database/index.ts";
import type { PasswordHasher } from "../../../src/public/security.ts";
import {
  captureMail,
  createTestClient,
  linksIn,
  type MailCapture,
  passwordHasherSuite,
  type TestClient,
  type TestResponse,
  travel,
  travelBack,
} from "../../../src/testing/index.ts";
import type { FullUser } from "../../support/account-application.ts";
import { bootApplication, userClass } from "../../support/booted-application.ts";
import { COMMAND, checkTypes, edit, execute, generatedApplication } from "../../support/generated-application.ts";
import { followSection } from "../../support/page-sections.ts";

const PAGE = "docs/guides/changing-accounts.md";
const PASSWORD = "a password of hers";
const EMAIL = "ada@example.com";
const FORM = { name: "Ada", email: EMAIL, password: PASSWORD, password_confirmation: PASSWORD };

afterEach(travelBack);

interface Shop {
  readonly root: string;
  readonly application: Application;
  readonly User: typeof FullUser;
  readonly mail: MailCapture;
  readonly visitor: () => TestClient;
}

/** A new application, changed as a section of the page says. */
async function shopAfter(section: string, change: (root: string) => Promise<void> = async () => {}): Promise<Shop> {
  const root = await generatedApplication();
  await followSection(root, PAGE, section);
  await change(root);
  await checkTypes(root);
  const { application, end } = await bootApplication(root);
  onTestFinished(end);
  const visitor = () => createTestClient(application);
  return { root, application, visitor, User: await userClass(root), mail: await captureMail(application) };
}

/** The user who has registered. */
async function ada({ User }: Shop): Promise<FullUser> {
  return (await User.findBy("email", EMAIL))!;
}

/** Sends the form of a page that is sent to the page's own path. */
async function send(client: TestClient, path: string, fields: Readonly<Record<string, string>>): Promise<TestResponse> {
  return client.submit(await client.get(path), `[action="${path}"]`, fields);
}

async function registered({ visitor }: Shop, fields: Readonly<Record<string, string>> = {}): Promise<TestClient> {
  const client = visitor();
  (await send(client, "/register", { ...FORM, ...fields })).assertStatus(302);
  return client;
}

/** Whether a login leads to the page after it. */
async function logsIn(client: TestClient, fields: Readonly<Record<string, string>>): Promise<boolean> {
  return (await send(client, "/login", fields)).redirectsTo === "/home";
}

test("users log in by username, in any case, and on the API", async () => {
  const shop = await shopAfter("Log in by username");
  await registered(shop, { username: " Ada.L " });
  expect((await ada(shop)).toJSON()).toMatchObject({ username: "ada.l" });
  for (const username of ["ada.l", "ADA.L"]) {
    expect(await logsIn(shop.visitor(), { username, password: PASSWORD })).toBe(true);
  }
  expect(await logsIn(shop.visitor(), { username: EMAIL, password: PASSWORD })).toBe(false);
  const page = await shop.visitor().get("/login");
  const client = shop.visitor();
  const wrong = await client.submit(await client.get("/login"), { username: "ada.l", password: "wrong" });
  (await client.follow(wrong)).assertSee("Incorrect username or password.");
  expect(page.form('[action="/login"]').fields).toContain("username");
  const answer = await shop.visitor().postJson("/api/auth", { username: "ADA.L", password: PASSWORD });
  expect([answer.status, typeof (answer.json as { data: unknown }).data]).toEqual([200, "string"]);

  for (const [username, problem] of [
    ["ADA.L", "This is already in use."],
    ["x", "This can't be used to log in. Choose another one."],
    ["", "This can't be used to log in. Choose another one."],
    [EMAIL, "This can't be used to log in. Choose another one."],
  ] as const) {
    const other = shop.visitor();
    const refused = await send(other, "/register", { ...FORM, email: "other@example.com", username });
    (await other.follow(refused)).assertSee(problem);
  }
});

test("S33 guesses at a username are counted in any case, and a link from a mail still works for its owner", async () => {
  const shop = await shopAfter("Log in by username");
  await registered(shop, { username: "ada" });
  const guesses: number[] = [];
  for (const username of ["ada", "Ada", "ADA", "aDa", "adA", "ada"]) {
    guesses.push((await send(shop.visitor(), "/login", { username, password: "wrong" })).status);
  }
  expect(guesses).toEqual([303, 303, 303, 303, 303, 429]);
  await send(shop.visitor(), "/change_password", { email: EMAIL });
  const link = linksIn((await shop.mail.all()).findLast(({ to }) => to === EMAIL)!)[0]!;
  const client = shop.visitor();
  const password = "another password of hers";
  await client.submit(await client.get(link), { password, password_confirmation: password });
  expect(await logsIn(client, { username: "ada", password })).toBe(true);
});

test("with one more line, users log in by username or by address", async () => {
  const shop = await shopAfter("Log in by username", async (root) => {
    const page = await readFile(join(root, "../../../../", PAGE), "utf8");
    const [line] = /^ {2}static override identifiesByEmail = true;$/m.exec(page)!;
    await edit(root, "app/models/user.ts", [
      '  static override identifierColumn = "username";',
      `$&\n${line}`.replace("$&", '  static override identifierColumn = "username";'),
    ]);
  });
  await registered(shop, { username: "ada" });
  for (const username of ["ADA", " Ada@Example.com"]) {
    expect(await logsIn(shop.visitor(), { username, password: PASSWORD })).toBe(true);
  }
  expect((await shop.visitor().postJson("/api/auth", { username: EMAIL, password: PASSWORD })).status).toBe(200);
});

test("passwords follow the application's rules, wherever they are set", async () => {
  const shop = await shopAfter("Password rules");
  const sentences = async (password: string, language = "en") => {
    const client = shop.visitor().withLanguage(language);
    const fields = {
      ...FORM,
      name: "Ada Lovelace",
      email: "lovelace@example.com",
      password,
      password_confirmation: password,
    };
    return (await client.follow(await send(client, "/register", fields))).pageText;
  };
  expect(await sentences("elevenchars")).toContain("Use at least 12 characters.");
  expect(await sentences("elevenchars", "de")).toContain("Verwenden Sie mindestens 12 Zeichen.");
  expect(await sentences("Cut So Precisely")).toContain("Choose a less obvious password.");
  expect(await sentences("i am Lovelace, hello")).toContain("Don't use your name or address in your password.");
  expect(await sentences("passwordpassword")).toContain("common");
  const client = await registered(shop, { name: "Ada Lovelace" });
  const change = { current_password: PASSWORD, password: "tooshort1", password_confirmation: "tooshort1" };
  (await client.follow(await send(client, "/account/password", change))).assertSee("Use at least 12 characters.");
  await send(shop.visitor(), "/change_password", { email: EMAIL });
  const link = linksIn((await shop.mail.all()).findLast(({ to }) => to === EMAIL)!)[0]!;
  const other = shop.visitor();
  const refused = await other.submit(await other.get(link), {
    password: "tooshort1",
    password_confirmation: "tooshort1",
  });
  (await other.follow(refused)).assertSee("Use at least 12 characters.");
});

test("the sample password hasher keeps the contract", { timeout: 240_000 }, async () => {
  const root = await generatedApplication();
  await followSection(root, PAGE, "The password hasher");
  await checkTypes(root);
  const module = (await import(join(root, "app/peppered-hasher.ts"))) as {
    PepperedHasher: new (pepper: string | undefined) => PasswordHasher;
  };
  const { PepperedHasher } = module;
  expect(() => new PepperedHasher(undefined)).toThrow("PASSWORD_PEPPER is missing");
  const [one, other] = ["x", "y"].map((letter) => new PepperedHasher(letter.repeat(43)));
  for (const { run } of passwordHasherSuite(() => one!)) await run();
  const hash = await one!.hash(PASSWORD);
  expect([
    hash.startsWith("$argon2id$"),
    await one!.verify(hash, PASSWORD),
    await other!.verify(hash, PASSWORD),
  ]).toEqual([true, true, false]);
});

test("a registration has additional fields, and a consent that a visitor can't date", async () => {
  const shop = await shopAfter("Fields at registration");
  const client = shop.visitor();
  const missing = await send(client, "/register", { ...FORM, company: "Engines Ltd" });
  const again = await client.follow(missing);
  again.assertSee("Accept the terms to register.");
  expect(again.form('[action="/register"]').value("company")).toBe("Engines Ltd");
  expect((await shop.User.all()).length).toBe(0);
  const page = await client.get("/register");
  const long = await client.submit(page, '[action="/register"]', { ...FORM, company: "x".repeat(101), terms: "1" });
  (await client.follow(long)).assertSee("Use at most 100 characters for the company.");
  const token = page.form('[action="/register"]').value("__token")!;
  const before = Date.now();
  const fields = { ...FORM, company: " Engines Ltd ", terms: "1", terms_accepted_at: "1999-01-01", __token: token };
  (await client.post("/register", fields)).assertRedirect("/email/verify/notice");
  const user = (await ada(shop)) as unknown as {
    company: string;
    terms_accepted_at: Date;
  };
  expect(user.company).toBe("Engines Ltd");
  expect(user.terms_accepted_at.getTime()).toBeGreaterThanOrEqual(before);
});

test("pages and mails use a user's own language, and messages are reworded", async () => {
  const shop = await shopAfter("Languages and wording");
  const client = await registered(shop);
  (await client.get("/home")).assertSee("Hello, Ada");
  const home = await client.get("/home");
  const token = home.form('[action="/account/language"]').value("__token")!;
  (await client.post("/account/language", { language: "de", __token: token })).assertStatus(302);
  (await client.get("/home")).assertSee("Moin, Ada!");
  await shop.mail.clear();
  await send(shop.visitor(), "/change_password", { email: EMAIL });
  expect((await shop.mail.all())[0]!.text).toContain("Passwort");
  (await client.post("/account/language", { language: "xx", __token: token })).assertStatus(302);
  (await client.get("/home")).assertSee("Hello, Ada");
  const german = shop.visitor().withLanguage("de");
  (await german.follow(await send(german, "/login", { email: EMAIL, password: "wrong" }))).assertSee(
    "Das hat nicht geklappt",
  );
});

test("without verification, a registration leads home, and a new address must still be verified", async () => {
  const shop = await shopAfter("Without verification", async (root) => {
    // As the section says: the first two tests are removed.
    const path = join(root, "tests/auth.test.ts");
    const text = await readFile(path, "utf8");
    const [first, third] = ["a new user gets an email", "a login leads to the page"].map((title) =>
      text.indexOf(`test("${title}`),
    );
    await writeFile(path, text.slice(0, first) + text.slice(third));
  });
  const client = shop.visitor();
  (await send(client, "/register", FORM)).assertRedirect("/home");
  await shop.mail.assertNothingSent();
  await send(client, "/account/email", { email: "lovelace@example.com", password: PASSWORD });
  const link = linksIn((await shop.mail.all()).find(({ to }) => to === "lovelace@example.com")!)[0]!;
  (await client.follow(await client.get(link))).assertSee("lovelace@example.com");
  expect((await shop.User.findOrFail(1)).email).toBe("lovelace@example.com");
});

test("closed registration leaves no page and no link, and accounts created in code have normalized addresses", async () => {
  const shop = await shopAfter("Close registration");
  (await shop.visitor().get("/register")).assertStatus(404);
  for (const path of ["/", "/login"]) expect((await shop.visitor().get(path)).text).not.toContain("/register");

  const inside = new shop.User().fill({ name: "Grace", email: "grace@example.com" });
  await inside.setPassword(PASSWORD);
  await inside.save();
  const client = await shop.visitor().withCsrfToken().actingAs(inside);
  const add = (email: string) => client.postJson("/users", { name: "Ada", email });
  (await add(" Ada@Example.COM")).assertStatus(200);
  expect((await shop.mail.all()).map(({ to }) => to)).toEqual([EMAIL]);
  for (const email of [EMAIL, "ADA@example.com", "nonsense", "eve@example.com\r\nBcc: x@example.com"]) {
    (await add(email)).assertStatus(422);
  }
  expect((await shop.User.all()).map(({ email }) => email)).toEqual(["grace@example.com", EMAIL]);
});

test("an invitation registers only its own address", async () => {
  const shop = await shopAfter("Register by invitation");
  const inviter = new shop.User().fill({ name: "Bob", email: "bob@example.com" });
  await inviter.setPassword(PASSWORD);
  await inviter.save();
  const client = await shop.visitor().withCsrfToken().actingAs(inviter);
  (await client.post("/invitations", { email: EMAIL })).assertRedirect("/email/verify/notice");
  await inviter.markEmailAsVerified();
  for (const email of ["nonsense", "", "eve@example.com\r\nBcc: x@example.com"]) {
    (await client.postJson("/invitations", { email })).assertStatus(422);
  }
  (await client.post("/invitations", { email: " Ada@Example.COM" })).assertStatus(202);
  const url = new URL(linksIn((await shop.mail.all()).find(({ to }) => to === EMAIL)!)[0]!);
  const link = url.pathname + url.search;

  const guest = shop.visitor();
  (await guest.get(link.replace("ada%40", "eve%40"))).assertStatus(403);
  (await guest.get("/join")).assertStatus(403);
  const page = await guest.get(link);
  page.assertSee(EMAIL);
  const form = { name: "Ada", password: PASSWORD, password_confirmation: PASSWORD };
  const token = page.form(".card").value("__token")!;
  (await guest.post(link, { ...form, email: "eve@example.com", __token: token })).assertStatus(403);
  (await guest.submit(page, ".card", { ...form, password_confirmation: "another" })).assertStatus(303);
  (await guest.submit(page, ".card", form)).assertRedirect("/home");
  const user = (await ada(shop))!;
  expect([(await shop.User.all()).length, user.hasVerifiedEmail()]).toEqual([2, true]);
  const again = shop.visitor();
  (await again.follow(await again.submit(await again.get(link), ".card", form))).assertSee("already in use");
  travel(4 * 24 * 60);
  (await shop.visitor().get(link)).assertStatus(403);
});

test("colors are changed in the style sheet", async () => {
  const root = await generatedApplication();
  await followSection(root, PAGE, "Restyle pages and mails");
  expect(await readFile(join(root, "public/style.css"), "utf8")).toContain("--mark: light-dark(#0b5cad, #7ab8f5);");
});

test("pages move to other paths along with all links to them", async () => {
  const shop = await shopAfter("Other paths and route names");
  const client = shop.visitor();
  (await client.get("/login")).assertStatus(404);
  (await client.get("/members/home")).assertRedirect("/sign-in");
  (await send(client, "/members/register", FORM)).assertRedirect("/members/email/verify/notice");
  const link = linksIn((await shop.mail.all())[0]!)[0]!;
  expect(new URL(link).pathname).toMatch(/^\/members\/email\/verify\//);
  (await client.submit(await client.get("/members/home"), '[action="/sign-out"]')).assertRedirect("/sign-in");
  (await send(client, "/sign-in", { email: EMAIL, password: PASSWORD })).assertRedirect("/members/home");
  const guesses: number[] = [];
  for (let guess = 0; guess < 6; guess++) {
    guesses.push((await send(shop.visitor(), "/sign-in", { email: EMAIL, password: "wrong" })).status);
  }
  expect(guesses.at(-1)).toBe(429);
});

test("each user can have a different page after a login", async () => {
  const shop = await shopAfter("Another page after login");
  const client = await registered(shop);
  (await client.get("/dashboard")).assertSee("Dashboard of Ada");
  (await send(shop.visitor(), "/login", { email: EMAIL, password: PASSWORD })).assertRedirect("/setup");
  const guest = shop.visitor();
  await guest.get("/logins");
  (await send(guest, "/login", { email: EMAIL, password: PASSWORD })).assertRedirect("/logins");
  const { kysely } = shop.application.container.make("database");
  await kysely
    .updateTable("users")
    .set({ created_at: new Date(0).toISOString() })
    .execute();
  (await send(shop.visitor(), "/login", { email: EMAIL, password: PASSWORD })).assertRedirect("/dashboard");
});

test("administrators have their own pages, logins and mails", async () => {
  const shop = await shopAfter("A second kind of user");
  const { Admin } = (await import(join(shop.root, "app/models/admin.ts"))) as { Admin: typeof FullUser };
  const admin = new Admin().fill({ name: "Grace", email: "grace@example.com" });
  await admin.setPassword(PASSWORD);
  await (admin as Model).save();
  const user = await registered(shop);
  for (const client of [shop.visitor(), user]) (await client.get("/admin/users")).assertRedirect("/admin/login");
  const client = shop.visitor();
  await client.get("/admin/users");
  const login = await send(client, "/admin/login", { email: "grace@example.com", password: PASSWORD });
  login.assertRedirect("/admin/users");
  (await client.get("/admin/users")).assertJson([{ id: 1, email: EMAIL }]);
  (await client.get("/admin/home")).assertSee("Administration, Grace");
  (await client.get("/home")).assertRedirect("/login");
  await shop.mail.clear();
  await send(shop.visitor(), "/admin/change_password", { email: "grace@example.com" });
  expect(new URL(linksIn((await shop.mail.all())[0]!)[0]!).pathname).toBe("/admin/password_reset");

  for (const command of ["key:generate", "migrate"]) {
    const { code, output } = await execute(shop.root, process.execPath, [COMMAND, command]);
    expect(code, output).toBe(0);
  }
  const create = (...args: readonly string[]) =>
    execute(shop.root, process.execPath, ["scripts/create-admin.ts", ...args]);
  const made = await create("Ada", " Ada@Example.COM");
  expect(made.code, made.output).toBe(0);
  expect(made.output).toMatch(/^ada@example\.com is an administrator, and can log in with the password [\w-]{20}$/m);
  for (const [args, message] of [
    [["Ada", "ADA@example.com"], "ada@example.com is an administrator already."],
    [["Ada", "nonsense"], "node scripts/create-admin.ts <name> <email>"],
    [["", "eve@example.com"], "node scripts/create-admin.ts <name> <email>"],
  ] as const) {
    const refused = await create(...args);
    expect([refused.code, refused.output]).toEqual([1, expect.stringContaining(message)]);
  }
});

test("a blocked account can't log in anywhere, and its logins end", async () => {
  const shop = await shopAfter("Block users");
  const client = await registered(shop);
  const credentials = { username: EMAIL, password: PASSWORD };
  const { data } = (await shop.visitor().postJson("/api/auth", credentials)).json as { data: string };
  const api = shop.visitor().withToken(data);
  (await api.get("/api/me")).assertStatus(200);
  const other = shop.visitor();
  await send(other, "/register", { ...FORM, email: "bob@example.com" });
  const admin = await shop
    .visitor()
    .actingAs((await shop.User.findBy("email", "bob@example.com"))!, { by: "password" });
  const path = `/blocked_accounts/${(await ada(shop)).id}`;
  (await admin.withCsrfToken().put(path, { reason: "spam" })).assertJson({ isBlocked: true });
  await client.assertGuest();
  (await api.get("/api/me")).assertStatus(401);
  const again = shop.visitor();
  const refused = await send(again, "/login", { email: EMAIL, password: PASSWORD });
  (await again.follow(refused)).assertSee("This account is blocked. Write to support@example.com.");
  const wrong = await send(again, "/login", { email: EMAIL, password: "wrong" });
  (await again.follow(wrong)).assertSee("Incorrect email address or password.").assertDontSee("blocked");
  (await shop.visitor().postJson("/api/auth", credentials)).assertStatus(403);
  expect((await shop.visitor().postJson("/api/reauth", { token: data })).status).toBeGreaterThanOrEqual(400);
  (await admin.withCsrfToken().delete(path)).assertJson({ isBlocked: false });
  (await send(again, "/login", { email: EMAIL, password: PASSWORD })).assertRedirect("/home");
});

test("users delete their account once they have entered the password", async () => {
  const shop = await shopAfter("A page to delete an account");
  await registered(shop);
  const client = shop.visitor();
  await client.actingAs(await ada(shop));
  (await client.get("/account/delete")).assertRedirect("/confirm_password");
  (await send(client, "/confirm_password", { password: PASSWORD })).assertRedirect("/account/delete");
  const page = await client.get("/account/delete");
  page.assertSee(`This deletes the account of ${EMAIL}`);
  (await client.follow(await client.submit(page, '[action="/account"]'))).assertSee("Your account has been deleted.");
  const { kysely } = shop.application.container.make("database");
  expect([(await shop.User.all()).length, await kysely.selectFrom("logins").selectAll().execute()]).toEqual([0, []]);
  (await shop.visitor().get("/account/delete")).assertRedirect("/login");
});
