import { mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { OutboxSeal } from "../../src/mail/outbox/outbox-seal.ts";
import { captureEvents, linksIn } from "../../src/testing/index.ts";
import { AccountShop, EMAIL, NEW_PASSWORD, PASSWORD } from "../support/account-shop.ts";
import { desk } from "../support/desk.ts";
import { edit } from "../support/generated-application.ts";
import { installPersonalTokens } from "../support/install-personal-tokens.ts";
import { onEachDatabase } from "../support/services.ts";

const BOB = "bob@example.com";
const NOTES = `
import { type Application, declareFeature, type Feature, Provider } from "ashlar";

const notes = ({ container }: Application) => container.make("database").kysely;

export class NotesProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "notes",
    userData: {
      notes: (application) => ({
        export: ({ id }) => notes(application).selectFrom("notes").select(["text"]).where("user_id", "=", id).execute(),
        erase: async ({ id }) => void (await notes(application).deleteFrom("notes").where("user_id", "=", id).execute()),
      }),
    },
  });
}
`;
const MIGRATION = `
import { type Kysely, primaryKey, reference } from "ashlar/database";

export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable("notes")
    .$call(primaryKey(database))
    .addColumn("user_id", reference(database), (column) => column.notNull().references("users.id"))
    .addColumn("text", "varchar(255)", (column) => column.notNull())
    .execute();
}
`;

await onEachDatabase("the commands about accounts", (engine) => {
  let shop: AccountShop;
  beforeAll(async () => {
    shop = await AccountShop.open(engine, {
      limits: {},
      change: async (root) => {
        await installPersonalTokens(root);
        await writeFile(join(root, "app/notes-provider.ts"), NOTES);
        await writeFile(join(root, "database/migrations/2030_01_01_000000_create_notes.ts"), MIGRATION);
        await edit(
          root,
          "config/providers.ts",
          ["  AuthProvider,", "  AuthProvider,\n  NotesProvider,"],
          ["import {", 'import { NotesProvider } from "../app/notes-provider.ts";\nimport {'],
        );
      },
    });
  });
  afterAll(() => shop.close());
  beforeEach(() => shop.reset());

  const run = (name: string, ...args: string[]) => desk(shop.application, name, ...args, "--by", "grace@desk");
  const rows = async (table: string) =>
    shop.application.container.make("database").kysely.selectFrom(table).selectAll().execute();
  const bob = async () => {
    const user = new shop.User().fill({ name: "Bob", email: BOB });
    await user.setPassword(PASSWORD);
    await user.save();
    return user;
  };
  const events = async (work: () => Promise<unknown>) => {
    using captured = captureEvents(shop.application);
    await work();
    return captured.of("auth.command").map(({ command, by, reason, user }) => [command, by, reason, user !== null]);
  };

  test("users:find searches by key, by any spelling of the address, and by a part of it", async () => {
    const { id } = (await shop.user())!;
    await bob();
    for (const text of [String(id), EMAIL, " Ada@Example.COM", "ada@"]) {
      expect(await run("users:find", text)).toEqual({
        output: `${id}  ${EMAIL}, Ada, not verified\n1 account.`,
        error: null,
      });
    }
    const { output } = await run("users:find", "example.com", "--json");
    expect((JSON.parse(output) as { email: string }[]).map(({ email }) => email).sort()).toEqual([EMAIL, BOB]);
    for (const text of ["eve@example.com", "%%%", "1 or 1=1", "\0", "no"]) {
      expect((await run("users:find", text)).error).toMatch(/^There is no account /);
    }
  });

  test("users:show prints all known data except secrets", async () => {
    const client = await shop.loggedIn();
    await shop.resetLink(EMAIL);
    const json = JSON.parse((await run("users:show", EMAIL, "--json")).output) as Record<string, unknown>;
    expect(json).toMatchObject({
      email: EMAIL,
      hasPassword: true,
      isVerified: false,
      isBlocked: false,
      isClosed: false,
    });
    expect(json).toMatchObject({
      stored: { password_resets: 1, email_changes: 0, notes: 0 },
      guessesUsedUpForSeconds: null,
    });
    expect((json.logins as object[]).length).toBe(1);
    const { output } = await run("users:show", EMAIL);
    expect(output).toContain("password  yes");
    expect(output).toContain("203.0.113.7");
    const secrets = [...(await rows("users")), ...(await rows("logins")), ...(await rows("password_resets"))];
    const texts = secrets.flatMap((row) =>
      ["password", "access_epoch", "token_hash", "token"].map((name) => (row as Record<string, unknown>)[name]),
    );
    for (const text of texts)
      if (typeof text === "string") expect([output, JSON.stringify(json)].join()).not.toContain(text);
    expect(await shop.isIn(client)).toBe(true);
  });

  test("S195 users:logout, users:block and users:unblock end access, and record who did it", async () => {
    const first = await shop.loggedIn();
    expect(await events(() => run("users:logout", EMAIL, "--reason", "lost phone"))).toEqual([
      ["users:logout", "grace@desk", "lost phone", true],
    ]);
    await first.assertGuest();
    const second = await shop.loggedIn();
    expect((await run("users:block", EMAIL, "--reason", "spam")).output).toBe(
      `The account of ${EMAIL} is blocked. All access to it has ended.`,
    );
    await second.assertGuest();
    expect(await shop.logsIn(shop.visitor(), EMAIL, PASSWORD)).toBe(false);
    expect((await run("users:find", EMAIL)).output).toContain("blocked");
    expect((await run("mail:resend", EMAIL)).error).toContain("is blocked");
    expect((await run("users:unblock", EMAIL)).output).toContain("no longer blocked");
    expect((await run("users:unblock", EMAIL)).error).toBe(`The account of ${EMAIL} isn't blocked.`);
    expect(await shop.logsIn(shop.visitor(), EMAIL, PASSWORD)).toBe(true);
  });

  test("S205 users:void-password ends every way in, is only logged, and leaves a link as the only way back", async () => {
    const client = await shop.loggedIn();
    const old = await shop.resetLink(EMAIL);
    const { data } = (await shop.visitor().postJson("/api/auth", { username: EMAIL, password: PASSWORD })).json as {
      data: string;
    };
    await shop.mail.clear();
    using captured = captureEvents(shop.application);
    expect((await run("users:void-password", EMAIL, "--reason", "in a leaked list")).output).toContain(
      `The password of ${EMAIL} is no longer valid, and all access to the account has ended. No mail was sent.`,
    );
    expect(captured.of("auth.command").map(({ command, by, reason }) => [command, by, reason])).toEqual([
      ["users:void-password", "grace@desk", "in a leaked list"],
    ]);
    expect(captured.of("auth.password_changed")).toMatchObject([
      { guard: "web", address: null, user: { email: EMAIL } },
    ]);
    expect(await shop.mail.all()).toEqual([]);
    await client.assertGuest();
    expect((await shop.visitor().withToken(data).getJson("/api/me")).status).toBe(401);
    for (const password of [PASSWORD, "!", ""]) expect(await shop.logsIn(shop.visitor(), EMAIL, password)).toBe(false);
    expect(await shop.resetsPassword(old, NEW_PASSWORD)).toBe(false);
    expect((await run("users:show", EMAIL)).output).toContain("password  no");
    expect((await run("mail:resend", EMAIL)).output).toBe(`A new link to set a password goes to ${EMAIL}.`);
    expect(await shop.resetsPassword(await shop.linkTo(EMAIL), NEW_PASSWORD)).toBe(true);
    expect(await shop.logsIn(shop.visitor(), EMAIL, NEW_PASSWORD)).toBe(true);
  });

  test("S205 a password is voided while the account is blocked, and doesn't come back when it is unblocked", async () => {
    await run("users:block", EMAIL);
    expect((await run("users:void-password", EMAIL, "--json")).error).toBeNull();
    await run("users:unblock", EMAIL);
    expect(await shop.logsIn(shop.visitor(), EMAIL, PASSWORD)).toBe(false);
    expect(await shop.resetsPassword(await shop.resetLink(EMAIL), NEW_PASSWORD)).toBe(true);
  });

  test("users:show says why an account is refused, and how to end that", async () => {
    const { id } = (await shop.user())!;
    const unverified = { reason: "not_verified", seconds: null, remedy: `mail:resend ${id} --mail verifyEmail` };
    const refusals = async (...args: string[]) =>
      (JSON.parse((await run("users:show", EMAIL, "--json", ...args)).output) as { refusals: object[] }).refusals;
    expect(await refusals()).toEqual([unverified]);
    for (let count = 0; count < 5; count++) await shop.logsIn(shop.visitor(), EMAIL, "wrong");
    const address = "203.0.113.7";
    const remedy = `limits:clear ${id} --address ${address}`;
    expect(await refusals()).toEqual([unverified]);
    expect(await refusals("--address", address)).toEqual([
      unverified,
      { reason: "address", seconds: expect.any(Number), remedy },
    ]);
    const { output } = await run("users:show", EMAIL, "--address", address);
    expect(output).toMatch(
      /^refused {3}too many wrong passwords from this address, for another \d+ seconds: npx ashlar limits:clear /m,
    );
    expect((await run("limits:clear", EMAIL, "--address", address)).error).toBeNull();
    expect(await refusals("--address", address)).toEqual([unverified]);
    await run("users:void-password", EMAIL);
    await run("users:block", EMAIL);
    expect(await refusals()).toEqual([
      { reason: "blocked", seconds: null, remedy: `users:unblock ${id}` },
      { reason: "no_password", seconds: null, remedy: `mail:resend ${id}` },
      unverified,
    ]);
    expect((await run("users:show", EMAIL, "--address", "x")).error).toBe('"x" is not an IP address.');
  });

  test("S195 the audit lines of users:find and limits:clear contain the search, its result and the cleared limits", async () => {
    using captured = captureEvents(shop.application);
    await run("users:find", "example.com");
    await run("users:find", "eve@example.com");
    const throttle = shop.application.container.make("throttle");
    const account = { realm: "web", account: EMAIL };
    // The counts by address, and those of two accounts from that address.
    for (const keys of [account, { realm: "web", account: BOB }]) {
      await throttle.consume("login", { ...keys, address: "203.0.113.7" });
    }
    for (const address of ["203.0.113.7", "203.0.113.8"]) await throttle.consume("register", { address });
    await run("limits:clear", EMAIL, "--address", "203.0.113.7", "--limit", "login");
    await run("limits:clear", EMAIL, "--address", "203.0.113.7", "--limit", "login");
    await run("limits:clear", "--limit", "register");
    const details = captured
      .of("auth.command")
      .map((told) => [told.identifier, told.found, told.limit, told.clientAddress, told.cleared]);
    expect(details).toEqual([
      ["example.com", 1, null, null, null],
      ["eve@example.com", 0, null, null, null],
      [null, null, "login", "203.0.113.7", 2],
      [null, null, "login", "203.0.113.7", 0],
      // Each address, and its attempts without an account.
      [null, null, "register", null, 4],
    ]);
  });

  test("users:verify verifies the address once", async () => {
    expect(await run("users:verify", EMAIL)).toEqual({ output: `${EMAIL} is verified.`, error: null });
    expect((await shop.user())!.hasVerifiedEmail()).toBe(true);
    expect((await run("users:verify", EMAIL)).error).toBe(`${EMAIL} is verified already.`);
  });

  test("S191 users:export has every feature's rows, and no secret", async () => {
    const user = (await shop.user())!;
    await shop.loggedIn();
    const reset = await shop.resetLink(EMAIL);
    const { kysely } = shop.application.container.make("database");
    await kysely.insertInto("notes").values({ user_id: user.id, text: "a note of hers" }).execute();
    const service = shop.application.container.make("apiDrivers").personal();
    const { token } = (await service.issue(user as never, { name: "deploy", abilities: ["orders.read"], days: 3 }))!;
    const text = (await run("users:export", EMAIL)).output;
    const data = JSON.parse(text) as Record<string, readonly Record<string, unknown>[]>;
    expect(data).toMatchObject({
      user: { name: "Ada", email: EMAIL },
      logins: [{ ip: "203.0.113.7", guard: "web" }],
      password_resets: [{ email: EMAIL }],
      email_changes: [],
      personal_tokens: [{ name: "deploy", abilities: "orders.read", revoked_at: null }],
      notes: [{ text: "a note of hers" }],
    });
    const stored = [
      ...(await rows("users")),
      ...(await rows("logins")),
      ...(await rows("personal_tokens")),
      ...(await rows("password_resets")),
    ];
    const secrets = stored.flatMap((row) => {
      return ["password", "access_epoch", "api_token", "token_hash", "token"].map(
        (name) => (row as Record<string, unknown>)[name],
      );
    });
    for (const secret of [...secrets, token, reset]) if (typeof secret === "string") expect(text).not.toContain(secret);
    const file = join(await mkdtemp(join(tmpdir(), "ashlar-export-")), "ada.json");
    expect((await run("users:export", EMAIL, "--out", file)).output).toBe(
      `Wrote what is stored about ${EMAIL} to ${file}.`,
    );
    expect([JSON.parse(await readFile(file, "utf8")).user, (await stat(file)).mode & 0o777]).toEqual([
      data.user,
      0o600,
    ]);
    expect((await run("users:export", EMAIL, "--out", file)).error).toContain("could not be written");
  });

  test("S192 users:erase leaves nothing of any feature, nothing of it if one fails, and other accounts alone", async () => {
    const other = await bob();
    const user = (await shop.user())!;
    const { kysely } = shop.application.container.make("database");
    for (const { id } of [user, other])
      await kysely.insertInto("notes").values({ user_id: id, text: "a note" }).execute();
    const theirs = await shop.loggedIn(BOB);
    await shop.loggedIn();
    await shop.resetLink(EMAIL);
    const service = shop.application.container.make("apiDrivers").personal();
    for (const one of [user, other])
      await service.issue(one as never, { name: "x", abilities: ["orders.read"], days: 3 });
    const waiting = [user, other].map(({ email }) => ({
      id: email,
      to: [{ address: email, name: null }],
      cc: [],
      bcc: [],
      subject: "News",
    }));
    const seal = outboxSeal();
    const at = Date.now();
    const row = {
      kind: "mail",
      mailable: "NewsMail",
      claim: null,
      attempts: 0,
      created_at: at,
      available_at: at + 9e7,
      retry_until: at + 9e7,
    };
    for (const mail of waiting)
      await kysely
        .insertInto("mail_outbox")
        .values({ ...row, content: seal(mail) })
        .execute();

    // The mails sent while preparing the test are gone.
    await shop.mail.all();
    const refused = await run("users:erase", EMAIL);
    expect(refused.error).toContain("Nothing was done. Add --yes to do it.");
    const failing = { name: "failing", export: () => [], erase: () => Promise.reject(new Error("The disk is full.")) };
    const { userData } = shop.application.container.make("accounts");
    const sources = userData.all;
    Object.defineProperty(userData, "all", { configurable: true, get: () => [...sources, failing] });
    await expect(run("users:erase", EMAIL, "--yes")).rejects.toThrow("The disk is full.");
    Reflect.deleteProperty(userData, "all");
    expect([
      (await rows("notes")).length,
      (await rows("users")).length,
      (await rows("personal_tokens")).length,
    ]).toEqual([2, 2, 2]);

    const { output, error } = await run("users:erase", EMAIL, "--yes", "--json");
    expect(error).toBeNull();
    expect(JSON.parse(output)).toMatchObject({
      erased: { logins: 1, notes: 1, personal_tokens: 1, password_resets: 1, waiting_mails: 1 },
    });
    for (const table of ["notes", "logins", "personal_tokens"]) {
      expect((await rows(table)).map((one) => Number((one as Record<string, unknown>).user_id))).toEqual([
        Number(other.id),
      ]);
    }
    expect((await rows("users")).map((one) => (one as Record<string, unknown>).email)).toEqual([BOB]);
    expect([(await rows("password_resets")).length, (await rows("mail_outbox")).length]).toEqual([0, 1]);
    expect(await shop.isIn(theirs)).toBe(true);
    expect((await run("users:show", EMAIL)).error).toContain("There is no account");
  });

  test("limits:clear unlocks an account that guesses have locked out", async () => {
    for (let n = 0; n < 6; n++) await shop.logsIn(shop.visitor(), EMAIL, "wrong");
    expect(await shop.logsIn(shop.visitor(), EMAIL, PASSWORD)).toBe(false);
    expect((await run("limits:clear", EMAIL)).output).toContain("add --address");
    expect(await shop.logsIn(shop.visitor(), EMAIL, PASSWORD)).toBe(false);
    expect((await run("limits:clear", EMAIL, "--address", "203.0.113.7")).error).toBeNull();
    expect(await shop.logsIn(shop.visitor(), EMAIL, PASSWORD)).toBe(true);
    const throttle = shop.application.container.make("throttle");
    const keys = { realm: "web", account: EMAIL };
    for (let n = 0; n < 101; n++) await throttle.consume("login.account", keys);
    expect((await throttle.peek("login.account", keys)).allowed).toBe(false);
    const before = JSON.parse((await run("users:show", EMAIL, "--json")).output) as { guessesUsedUpForSeconds: number };
    expect(before.guessesUsedUpForSeconds).toBeGreaterThan(0);
    await run("limits:clear", EMAIL, "--limit", "login.account");
    expect((await throttle.peek("login.account", keys)).allowed).toBe(true);
    expect((await run("limits:clear")).error).toContain("Name an account, an address, or a limit");
    expect((await run("limits:clear", "--address", "nowhere")).error).toBe('"nowhere" is not an IP address.');
  });

  test("limits:clear clears one limit for all accounts and addresses, and no others", async () => {
    await bob();
    const throttle = shop.application.container.make("throttle");
    const other = { address: "198.51.100.1" };
    await throttle.consume("register", other, 60);
    for (const email of [EMAIL, BOB]) {
      for (let n = 0; n < 6; n++) await shop.logsIn(shop.visitor(), email, "wrong");
      expect(await shop.logsIn(shop.visitor(), email, PASSWORD)).toBe(false);
    }

    const told = await events(async () => {
      // The address, and each account from there.
      expect((await run("limits:clear", "--limit", "login")).output).toBe(
        "Everything that was counted under login is forgotten, for all accounts and addresses: 3 counts.",
      );
    });
    expect(told).toEqual([["limits:clear", "grace@desk", null, false]]);
    for (const email of [EMAIL, BOB]) expect(await shop.logsIn(shop.visitor(), email, PASSWORD)).toBe(true);
    expect((await throttle.peek("register", other)).allowed).toBe(false);
    expect((await run("limits:clear", "--limit", "logn")).error).toContain("login");
  });

  test("limits:clear clears only one address's or account's counts, and only under the named limit", async () => {
    const throttle = shop.application.container.make("throttle");
    const [own, other] = [{ address: "198.51.100.1" }, { address: "198.51.100.2" }];
    const account = { realm: "web", account: EMAIL };
    // Including attempts that name no account, and those of clients with an unknown address.
    const counted = [
      ["register", own],
      ["register", other],
      ["login", own, 6],
      ["login", account, 6],
      ["login.account", account],
    ] as const;
    const useUp = async () => {
      for (const [limit, keys, cost = 101] of counted) await throttle.consume(limit, keys, cost);
    };
    const allowed = async () => {
      return await Promise.all(counted.map(async ([limit, keys]) => (await throttle.peek(limit, keys)).allowed));
    };
    await useUp();
    await run("limits:clear", "--address", own.address, "--limit", "login.account");
    await run("limits:clear", EMAIL, "--limit", "register");
    expect(await allowed()).toEqual([false, false, false, false, false]);
    const told = await events(async () => {
      const { output } = await run("limits:clear", "--address", own.address, "--json");
      expect(JSON.parse(output)).toEqual({ guard: null, id: null, address: own.address, limit: null, cleared: 3 });
    });
    expect(told).toEqual([["limits:clear", "grace@desk", null, false]]);
    expect(await allowed()).toEqual([true, false, true, false, false]);
    await useUp();
    const before = (await rows("rate_limits")).length;
    const both = await events(async () => {
      const { output } = await run("limits:clear", EMAIL, "--address", own.address);
      const cleared = before - (await rows("rate_limits")).length;
      expect(cleared).toBeGreaterThan(0);
      expect(output).toBe(
        `What was counted for the account of ${EMAIL} and ${own.address} is forgotten: ${cleared} counts.`,
      );
    });
    expect(both).toEqual([["limits:clear", "grace@desk", null, true]]);
    expect(await allowed()).toEqual([true, false, true, true, true]);
  });

  test("S193 mail:resend mails a new link, and the previous one stops working", async () => {
    const old = await shop.resetLink(EMAIL);
    await shop.mail.clear();
    expect((await run("mail:resend", EMAIL, "--mail", "resetPassword")).output).toBe(
      `A new link to set a password goes to ${EMAIL}.`,
    );
    const [mail] = await shop.mail.all();
    expect(mail?.to).toBe(EMAIL);
    const link = linksIn(mail!)[0]!.replace(/^https?:\/\/[^/]+/, "");
    expect(link).not.toBe(old);
    expect(await shop.resetsPassword(old, NEW_PASSWORD)).toBe(false);
    expect(await shop.resetsPassword(link, NEW_PASSWORD)).toBe(true);
    expect((await run("mail:resend", EMAIL)).error).toContain("waits for no mail");
    await shop.User.rows().update({ verified_at: null });
    await shop.mail.clear();
    expect((await run("mail:resend", EMAIL)).output).toBe(`A new link to verify the address goes to ${EMAIL}.`);
    await shop.verify(await shop.linkTo(EMAIL));
    expect((await shop.user())!.hasVerifiedEmail()).toBe(true);
    await shop.User.rows().update({ password: null } as never);
    await shop.mail.clear();
    expect((await run("mail:resend", EMAIL)).output).toContain("to set a password");
  });

  test("S194 access:end-all ends every way into every account, and no one gets into another's", async () => {
    await bob();
    const clients = [await shop.loggedIn(), await shop.loggedIn(BOB)];
    const link = await shop.resetLink(BOB);
    const { data } = (await shop.visitor().postJson("/api/auth", { username: EMAIL, password: PASSWORD })).json as {
      data: string;
    };
    const service = shop.application.container.make("apiDrivers").personal();
    const { token } = (await service.issue((await shop.user()) as never, {
      name: "x",
      abilities: ["orders.read"],
      days: 3,
    }))!;
    expect((await run("access:end-all")).error).toContain("Add --yes");
    for (const client of clients) expect(await shop.isIn(client)).toBe(true);
    const { output, error } = await run("access:end-all", "--yes");
    expect(error).toBeNull();
    expect(output).toContain("web: access to 2 accounts has ended.");
    expect(output).toContain("APP_PREVIOUS_KEYS");
    expect(JSON.parse((await run("users:show", EMAIL, "--json")).output)).toMatchObject({ logins: [] });
    for (const client of clients) await client.assertGuest();
    for (const bearer of [data, token]) {
      expect((await shop.visitor().withToken(bearer).getJson("/api/me")).status).toBe(401);
    }
    expect(await shop.resetsPassword(link, NEW_PASSWORD)).toBe(false);
    for (const email of [EMAIL, BOB]) expect(await shop.logsIn(shop.visitor(), email, PASSWORD)).toBe(true);
  });

  test("S205 access:end-all --void-passwords also makes all passwords invalid", async () => {
    await bob();
    const { output } = await run("access:end-all", "--void-passwords", "--yes");
    expect(output).toContain("Their passwords are no longer valid.");
    expect(output).not.toContain("- Passwords.");
    for (const email of [EMAIL, BOB]) expect(await shop.logsIn(shop.visitor(), email, PASSWORD)).toBe(false);
    expect(await shop.resetsPassword(await shop.resetLink(BOB), NEW_PASSWORD)).toBe(true);
    expect(await shop.logsIn(shop.visitor(), BOB, NEW_PASSWORD)).toBe(true);
    expect(JSON.parse((await run("access:end-all", "--yes", "--json")).output)).toMatchObject({
      ended: { web: 2 },
      passwordsVoided: false,
      besides: expect.arrayContaining([expect.stringMatching(/^- Passwords\./)]),
    });
  });

  test("a name that matches no account, or several, is refused", async () => {
    const named = new shop.User().fill({ name: "Eve", email: "eve@example.com" });
    await named.save();
    for (const name of [
      "users:show",
      "users:logout",
      "users:void-password",
      "users:block",
      "users:close",
      "users:reopen",
      "users:verify",
      "users:export",
      "users:erase",
    ]) {
      expect((await run(name, "nobody@example.com")).error).toMatch(/^There is no account "nobody@example.com"\./);
      expect((await run(name)).error).toMatch(/^Usage: /);
      expect((await run(name, EMAIL, "--unknown")).error).toContain("Unknown option");
      expect((await run(name, EMAIL, "--guard", "wbe")).error).toContain(
        'No guard is named "wbe". Did you mean "web"?',
      );
    }
    expect((await rows("users")).length).toBe(2);
  });

  /** Puts a mail into the outbox that isn't due for a day. */
  const waiting = async (subject: string, to: readonly string[], cc: readonly string[] = [], more: object = {}) => {
    const at = Date.now();
    const named = (all: readonly string[]) => all.map((address) => ({ address, name: null }));
    const content = outboxSeal()({ id: subject, to: named(to), cc: named(cc), bcc: [], subject, ...more });
    const row = { kind: "mail", mailable: "NewsMail", claim: null, attempts: 0, created_at: at, content };
    await shop.application.container
      .make("database")
      .kysely.insertInto("mail_outbox")
      .values({ ...row, available_at: at + 9e7, retry_until: at + 9e7 })
      .execute();
  };
  const waitingWork = async (kind: string, work: object) => {
    const at = Date.now();
    const row = { kind, mailable: null, claim: null, attempts: 0, created_at: at, content: outboxSeal(kind)(work) };
    await shop.application.container
      .make("database")
      .kysely.insertInto("mail_outbox")
      .values({ ...row, available_at: at + 9e7, retry_until: at + 9e7 })
      .execute();
  };
  /** The recipients of waiting mails by subject, and the names of promised work. */
  const stillWaiting = async () => {
    const { key, previousKeys } = shop.application.settings;
    const seal = new OutboxSeal(key, { previousSecrets: previousKeys });
    const { kysely } = shop.application.container.make("database");
    // PostgreSQL moves rows that it updates.
    const query = kysely.selectFrom("mail_outbox").select(["kind", "content"]).orderBy("id");
    const all = (await query.execute()) as { readonly kind: string; readonly content: string }[];
    return all.map(({ kind, content }) => {
      if (kind !== "mail") return kind;
      const mail = seal.open(kind, content)!.value as Record<"to" | "cc", { address: string }[]> & { subject: string };
      return `${mail.subject}: ${[...mail.to, ...mail.cc].map(({ address }) => address).join(" ")}`;
    });
  };

  test("S204 users:export and users:erase find a user's waiting mails by address, former address and account, and leave other users' alone", async () => {
    const client = await shop.loggedIn();
    // Verified, so that her former address stays reserved.
    await shop.User.rows().update({ verified_at: new Date() });
    await shop.verify(await shop.changeLink(client, "ada2@example.com"), client);
    await bob();
    await shop.mail.all();
    const id = String((await shop.user())!.id);
    const account = { account: { guard: "web", id } };
    await waiting("undo", [EMAIL]);
    await waiting("pending", ["ada3@example.com"], [], account);
    await waiting("spelling", ["Ada2@Example.COM"]);
    await waiting("hers", ["ada2@example.com"]);
    await waiting("twice hers", ["ada2@example.com"], [EMAIL]);
    await waiting("shared", [BOB], ["ada2@example.com", "eve@example.com"]);
    await waiting("shared, to her", ["ada2@example.com"], [BOB]);
    await waiting("his", [BOB], [], { account: { guard: "web", id: `${id}0` } });
    await waiting("of another guard", [BOB], [], { account: { guard: "admin", id } });
    const request = { address: null, acceptLanguage: null, guard: "web" };
    await waitingWork("guesses", { ...request, data: { guard: "web", id } });
    await waitingWork("email_change", { ...request, data: { id: (await shop.user())!.id, newEmail: "x@example.com" } });
    await waitingWork("password_reset", { ...request, data: { email: "Ada2@example.com" } });
    await waitingWork("password_reset", { ...request, data: { email: BOB } });
    await waitingWork("guesses", { ...request, data: { guard: "web", id: null } });
    await waitingWork("guesses", { ...request, guard: "web", data: { guard: "admin", id } });

    const { waiting_mails: mails } = JSON.parse((await run("users:export", id)).output) as {
      waiting_mails: { subject: string | null; has_other_recipients: boolean }[];
    };
    expect(mails.map(({ subject, has_other_recipients: has }) => [subject, has])).toEqual([
      ["undo", false],
      ["pending", false],
      ["spelling", false],
      ["hers", false],
      ["twice hers", false],
      ["shared", true],
      ["shared, to her", true],
      [null, false],
      [null, false],
      [null, false],
    ]);
    const { output } = await run("users:erase", id, "--yes", "--json");
    expect(JSON.parse(output)).toMatchObject({ erased: { waiting_mails: 10 } });
    expect(await stillWaiting()).toEqual([
      `shared: ${BOB} eve@example.com`,
      `shared, to her: ${BOB}`,
      `his: ${BOB}`,
      `of another guard: ${BOB}`,
      "password_reset",
      "guesses",
      "guesses",
    ]);
  });

  test("S204 an account mail names its account in the outbox, but not to the transport", async () => {
    const { container } = shop.application;
    const client = await shop.loggedIn();
    const stored: string[] = [];
    const seal = vi.spyOn(OutboxSeal.prototype, "seal");
    onTestFinished(() => seal.mockRestore());
    await shop.changeLink(client, "ada3@example.com");
    for (const [kind, value] of seal.mock.calls) {
      if (kind === "mail") stored.push(JSON.stringify((value as { readonly account?: object }).account));
    }
    const account = JSON.stringify({ guard: "web", id: String((await shop.user())!.id) });
    // The link, and the notice to the address of the account.
    expect(stored).toEqual([account, account]);
    await container.make("mail").settled();
    for (const mail of await shop.mail.all()) expect(mail).not.toHaveProperty("account");
  });

  test("S204 users:erase deletes data about the row's current address", async () => {
    const user = (await shop.user())!;
    await shop.mail.all();
    await waiting("before", [EMAIL]);
    await waiting("now", ["ada2@example.com"]);
    const throttle = shop.application.container.make("throttle");
    const keys = [EMAIL, "ada2@example.com"].map((account) => ({ realm: "web", account }));
    for (const one of keys) await throttle.consume("login.account", one, 50);
    const { deletion } = shop.application.container.make("accounts");
    const lock = deletion.lock.bind(deletion);
    deletion.lock = async (one) => {
      await shop.User.rows().update({ email: "ada2@example.com" });
      await lock(one);
    };
    onTestFinished(() => void Reflect.deleteProperty(deletion, "lock"));
    expect((await run("users:erase", String(user.id), "--yes")).error).toBeNull();
    expect(await stillWaiting()).toEqual([`before: ${EMAIL}`]);
    // The counts for both addresses are deleted.
    for (const one of keys) {
      const { remaining, limit } = await throttle.peek("login.account", one);
      expect(remaining).toBe(limit);
    }
  });

  function outboxSeal(kind = "mail"): (value: unknown) => string {
    const { key, previousKeys } = shop.application.settings;
    const seal = new OutboxSeal(key, { previousSecrets: previousKeys });
    return (value) => seal.seal(kind, value);
  }
});
