import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import type { ProjectOptions } from "../../src/scaffold/index.ts";
import { captureMail, createTestClient, factory, linksIn, travelBack } from "../../src/testing/index.ts";
import { bootApplication, userClass } from "../support/booted-application.ts";
import { edit, generatedApplication } from "../support/generated-application.ts";
import { installPersonalTokens } from "../support/install-personal-tokens.ts";

/**
 * One event in a run of {@link SCRIPT}: the text before and after it, its mail, and the token's abilities afterwards.
 */
interface Seen {
  readonly page: string;
  readonly status: string;
  readonly mail: string;
  readonly html: string | null;
  readonly token: TokenUse | null;
}

/**
 * How an API token works: the statuses of a route behind the `api` stack and of a renewal, and whether it has a user.
 */
interface TokenUse {
  readonly open: number;
  readonly hasUser: boolean;
  readonly renewal: number;
}

interface Run {
  readonly changed: Seen;
  readonly reset: Seen;
  readonly newDevice: string;
  readonly undo: string;
  readonly others: { readonly status: string; readonly token: TokenUse | null };
  readonly deleted: TokenUse | null;
  /** The token from before the reset, at the age at which tokens expire with the generated configuration. */
  readonly later: TokenUse | null;
}

/** The account's life cycle as described by its pages, run inside the generated application with its configuration. */
const SCRIPT = `
  import { captureMail, createTestApplication, createTestClient, factory, linksIn, travel } from "ashlar/testing";
  import { existsSync } from "node:fs";
  import { Kernel } from "./app/kernel.ts";
  import { User } from "./app/models/user.ts";

  const hasApi = existsSync(import.meta.dirname + "/config/api.ts");
  const application = await createTestApplication({ root: import.meta.dirname, kernel: Kernel });
  const mail = await captureMail(application);
  const users = factory(User, (n) => ({ name: "Ada", email: \`ada-\${n}@example.com\`, password: "a password of hers" }));

  async function issue(user, password) {
    if (!hasApi) return null;
    const answer = await createTestClient(application).post("/api/auth", { username: user.email, password });
    return answer.assertStatus(200).json.data;
  }

  async function use(token) {
    if (token === null) return null;
    const client = () => createTestClient(application).withToken(token);
    const open = (await client().get("/api/open")).status;
    const me = await client().get("/api/me");
    const hasUser = me.status === 200 && typeof me.json?.email === "string";
    return { open, hasUser, renewal: (await createTestClient(application).post("/api/reauth", { token })).status };
  }

  const lead = ({ text }) => /<p class="lead">([^]*?)<\\/p>/.exec(text)?.[1].trim().replaceAll("&#x27;", "'");
  const flashed = ({ text }) => /role="status"[^>]*>([^<]+)</.exec(text)?.[1].trim().replaceAll("&#x27;", "'");
  const latest = async (subject) => (await mail.all()).findLast((one) => one.subject === subject);

  async function logIn(user, password) {
    const client = createTestClient(application);
    await client.submit(await client.get("/login"), { email: user.email, password });
    return client;
  }

  async function see(client, page, fields, token) {
    await mail.clear();
    const after = await client.follow(await client.submit(page, fields));
    const notice = await latest("Your password was changed");
    return { page: lead(page), status: flashed(after), mail: notice?.text, html: notice?.html?.replaceAll("&#x27;", "'") ?? null, token: await use(token) };
  }

  const user = await users.create();
  await user.markEmailAsVerified();
  let token = await issue(user, "a password of hers");
  let client = await logIn(user, "a password of hers");
  const next = { password: "another of hers", password_confirmation: "another of hers" };
  const change = await client.get("/account/password");
  const changed = await see(client, change, { current_password: "a password of hers", ...next }, token);

  await mail.clear();
  await logIn(user, "another of hers");
  const newDevice = (await mail.all()).at(-1)?.text ?? "";

  token = await issue(user, "another of hers");
  client = createTestClient(application);
  await client.submit(await client.get("/change_password"), { email: user.email });
  const [link] = linksIn((await mail.all()).findLast(({ text }) => text.includes("/password_reset?")));
  const last = { password: "the last of hers", password_confirmation: "the last of hers" };
  const reset = await see(client, await client.get(link), last, token);

  // A change of address, and the page that undoes it, from the mail to the old address.
  client = await logIn(user, "the last of hers");
  const address = { email: "new@example.com", password: "the last of hers" };
  await client.submit(await client.get("/account/email"), address);
  const [confirmation] = linksIn((await mail.all()).findLast(({ to }) => to === "new@example.com"));
  await client.get(confirmation);
  const [undoing] = linksIn((await mail.all()).findLast(({ text }) => text.includes("/email/undo/")));
  const undo = lead(await createTestClient(application).get(undoing));

  // Logs out all other devices on /logins.
  const fresh = await issue({ email: "new@example.com" }, "the last of hers");
  await logIn({ email: "new@example.com" }, "the last of hers");
  const devices = await client.get("/logins");
  const others = { status: flashed(await client.follow(await client.submit(devices, '[action="/logins"]'))), token: await use(fresh) };

  const other = await users.create();
  const orphaned = await issue(other, "a password of hers");
  await other.delete();
  const deleted = await use(orphaned);
  travel(60);
  const later = await use(token);
  await application.shutdown();
  export const seen = { changed, reset, newDevice, undo, others, deleted, later };
`;

interface ApiSettings {
  readonly expires: string;
  readonly authenticates: boolean;
}

/**
 * Creates an application with the generated API, except for two settings, and returns the texts of its pages and mails.
 */
async function run(
  api: ApiSettings | null,
  ...edits: (readonly [path: string, from: string, to: string])[]
): Promise<Run> {
  const root = await generatedApplication({ api: api !== null });
  if (api !== null) {
    const { expires, authenticates } = api;
    await edit(
      root,
      "config/api.ts",
      [GENERATED.expires, `expires: ${expires},`],
      [GENERATED.authenticates, `authenticates: ${authenticates},`],
    );
    await edit(root, "routes/api.ts", ["= [", '= [\n  Route.get("/open", () => "open"),']);
  }
  for (const [path, from, to] of edits) await edit(root, path, [from, to]);
  await writeFile(join(root, "run.ts"), SCRIPT);
  const { seen } = (await import(join(root, "run.ts"))) as { readonly seen: Run };
  return seen;
}

function checkWords({ changed, reset, newDevice, undo, others }: Run, notice: string): void {
  const everywhere = notice === "" ? "everywhere" : "of all browsers";
  const elsewhere = notice === "" ? "on all other devices" : "of all other browsers";
  const tail = notice === "" ? "" : ` ${notice}`;
  expect(changed.page).toBe(`This logs you out ${elsewhere}.${tail}`);
  expect(changed.status).toBe(`Your password has been changed, and you have been logged out ${elsewhere}.${tail}`);
  expect(reset.page).toBe(`This logs you out ${everywhere}. Then log in with the new password.${tail}`);
  expect(reset.status).toBe("Your password has been reset. Log in with the new one.");
  for (const body of [changed.mail, changed.html]) {
    expect(body).toMatch(sentence(`UTC. You have been logged out ${elsewhere}.${tail}`));
  }
  for (const body of [reset.mail, reset.html]) {
    expect(body).toMatch(sentence(`UTC. You have been logged out ${everywhere}.${tail}`));
  }
  expect(others.status).toBe(`You have been logged out ${elsewhere}.${tail}`);
  expect(undo).toContain(`This logs everyone out ${everywhere}.${tail}`);
  expect(newDevice).toMatch(sentence(`logs you out ${everywhere}.${tail}`));
}

/** Matches the words at the end of a paragraph. */
function sentence(words: string): RegExp {
  return new RegExp(`${words.replaceAll(".", "\\.")}\\s*(?:\n|</p>)`);
}

const GENERATED = { expires: "expires: 60,", authenticates: "authenticates: true," };
const ENDED: TokenUse = { open: 401, hasUser: false, renewal: 401 };
/** It still identifies its user; it can't be renewed, because renewing always queries the database. */
const STILL_GOOD: TokenUse = { open: 200, hasUser: true, renewal: 401 };
const FOREVER = "API tokens issued before then keep working. They don't expire.";
const FOR_AN_HOUR = "API tokens issued before then keep working. They expire within 1 hour.";

// In each run, an hour passes.
afterEach(travelBack);

describe("S56 pages and mails say correctly what happens to API tokens when access ends", () => {
  const cases = [
    { expires: "60", authenticates: true, notice: "", token: ENDED, later: ENDED },
    { expires: "null", authenticates: true, notice: "", token: ENDED, later: ENDED },
    { expires: "60", authenticates: false, notice: FOR_AN_HOUR, token: STILL_GOOD, later: ENDED },
    { expires: "null", authenticates: false, notice: FOREVER, token: STILL_GOOD, later: STILL_GOOD },
  ];
  test.for(cases)("expires: $expires, authenticates: $authenticates", async (wanted) => {
    const { expires, authenticates, notice, token, later } = wanted;
    const seen = await run({ expires, authenticates });
    expect(seen.changed.token).toEqual(token);
    expect(seen.reset.token).toEqual(token);
    expect(seen.others.token).toEqual(token);
    // Without the database check, a deleted user's token passes too, but has no user.
    expect(seen.deleted).toEqual(authenticates ? ENDED : { open: 200, hasUser: false, renewal: 401 });
    expect(seen.later).toEqual(later);
    checkWords(seen, notice);
  });

  test("without an API", async () => {
    const seen = await run(null);
    expect(seen.changed.token).toBeNull();
    checkWords(seen, "");
  });

  test("in the built-in mails, if the application has no mails", async () => {
    const configurations = [
      ["60", true],
      ["60", false],
      ["null", false],
    ] as const;
    const endings: string[] = [];
    for (const [expires, authenticates] of configurations) {
      const mail = "    passwordChanged: PasswordChangedMail,";
      const { changed, reset } = await run({ expires, authenticates }, ["config/auth.ts", mail, ""]);
      for (const { mail } of [changed, reset]) endings.push(/UTC\. (.+)/.exec(mail)?.[1] ?? mail);
    }
    expect(endings).toEqual([
      "You have been logged out on all other devices.",
      "You have been logged out everywhere.",
      `You have been logged out of all other browsers. ${FOR_AN_HOUR}`,
      `You have been logged out of all browsers. ${FOR_AN_HOUR}`,
      `You have been logged out of all other browsers. ${FOREVER}`,
      `You have been logged out of all browsers. ${FOREVER}`,
    ]);
  });
});

describe("S56 the caller that ends access learns that personal tokens end with it", () => {
  const EMAIL = "ada@example.com";
  const PASSWORD = "a password of hers";
  const NEW = { password: "a new one of hers", password_confirmation: "a new one of hers" };
  const BEFORE = "This also revokes your personal tokens.";
  const AFTER = "Your personal tokens have been revoked.";
  const LOGGED_OUT = "You have been logged out on all other devices.";

  /** An application with a user who is logged in on two devices. */
  async function open(options: Partial<ProjectOptions>, hasTokens = true) {
    const root = await generatedApplication(options);
    if (hasTokens) await installPersonalTokens(root);
    const { application, end } = await bootApplication(root);
    onTestFinished(end);
    const mail = await captureMail(application);
    const User = await userClass(root);
    const user = await factory(User, () => ({ name: "Ada", email: EMAIL, password: PASSWORD })).create();
    await user.markEmailAsVerified();
    const login = async () => {
      const client = createTestClient(application).withCsrfToken();
      await client.postJson("/login", { email: EMAIL, password: PASSWORD });
      return client;
    };
    const client = await login();
    await login();
    return { application, client, mail };
  }

  /** Creates a token, and returns a function for the API's status with it. */
  async function tokenOf({ application, client }: Awaited<ReturnType<typeof open>>) {
    const form = { name: "backup", abilities: ["orders.read"], days: 30 };
    const { json } = (await client.postJson("/account/tokens", form)).assertStatus(201);
    const { token } = (json as { data: { token: string } }).data;
    return async () => (await createTestClient(application).withToken(token).get("/api/me")).status;
  }

  test.each<[NonNullable<ProjectOptions["language"]>, string, string]>([
    ["en", BEFORE, AFTER],
    ["de", "Damit werden auch Ihre persönlichen Tokens widerrufen.", "Ihre persönlichen Tokens wurden widerrufen."],
  ])("by the page and after it, in %s", async (language, before, after) => {
    const shop = await open({ language });
    const status = await tokenOf(shop);
    expect(await status()).toBe(200);
    const page = await shop.client.get("/logins");
    page.assertSee(before);
    (await shop.client.follow(await shop.client.submit(page, '[action="/logins"]'))).assertSee(after);
    expect(await status()).toBe(401);
  });

  test("from the pages for a new password, and after them", async () => {
    const { application, client, mail } = await open({});
    const page = (await client.get("/account/password")).assertSee(`This logs you out on all other devices. ${BEFORE}`);
    const form = { current_password: PASSWORD, ...NEW };
    const done = await client.follow(await client.submit(page, form));
    done.assertSee(`Your password has been changed, and you have been logged out on all other devices. ${AFTER}`);
    const guest = createTestClient(application);
    await guest.submit(await guest.get("/change_password"), { email: EMAIL });
    const [link] = linksIn((await mail.all()).find(({ text }) => text.includes("/password_reset?"))!);
    (await guest.get(link!)).assertSee(`Then log in with the new password. ${BEFORE}`);
  });

  test("from the pages for a new address, and after them", async () => {
    const { application, client, mail } = await open({});
    await client.submit(await client.get("/account/email"), { email: "new@example.com", password: PASSWORD });
    const [confirmation] = linksIn((await mail.all()).find(({ to }) => to === "new@example.com")!);
    const elsewhere = createTestClient(application);
    const page = (await elsewhere.get(confirmation!)).assertSee(`This logs the account out everywhere. ${BEFORE}`);
    const done = await elsewhere.follow(await elsewhere.submit(page));
    done.assertSee(`All other devices have been logged out. ${AFTER}`);
    const [undoing] = linksIn((await mail.all()).find(({ text }) => text.includes("/email/undo/"))!);
    (await elsewhere.get(undoing!)).assertSee(`This logs everyone out everywhere. ${BEFORE}`);
  });

  test("from the JSON responses about a new password and a new address", async () => {
    const { client, mail } = await open({ pages: false, json: true });
    const changed = await client.postJson("/account/password", { current_password: PASSWORD, ...NEW });
    const message = `Your password has been changed, and you have been logged out on all other devices. ${AFTER}`;
    expect(changed.assertStatus(200).json).toEqual({ data: { status: "password_set", message } });
    const address = { email: "new@example.com", password: NEW.password };
    (await client.postJson("/account/email", address)).assertStatus(202);
    const [link] = linksIn((await mail.all()).find(({ to }) => to === "new@example.com")!);
    const verified = await client.postJson(new URL(link!).pathname, {});
    expect(verified.assertStatus(200).json).toMatchObject({
      data: {
        status: "verified",
        message: expect.stringMatching(/devices have been logged out\. Your personal tokens have been/),
      },
    });
  });

  test("from the JSON response", async () => {
    const shop = await open({ pages: false, json: true });
    const status = await tokenOf(shop);
    expect(await status()).toBe(200);
    const { json } = await shop.client.deleteJson("/logins");
    expect(json).toEqual({ data: { status: "ended", message: `${LOGGED_OUT} ${AFTER}` } });
    expect(await status()).toBe(401);
  });

  test("unless the application has none", async () => {
    const { client } = await open({}, false);
    const page = await client.get("/logins");
    page.assertSee("Log out all other devices").assertDontSee("personal tokens");
    const done = await client.follow(await client.submit(page, '[action="/logins"]'));
    done.assertSee(LOGGED_OUT).assertDontSee("personal tokens");
    const password = (await client.get("/account/password")).assertDontSee("personal tokens");
    const form = { current_password: PASSWORD, ...NEW };
    (await client.follow(await client.submit(password, form))).assertSee("changed").assertDontSee("personal tokens");
  });
});
