import { hostname, userInfo } from "node:os";
import { expect, onTestFinished, test, vi } from "vitest";
import { ACCOUNT_COMMANDS } from "../../src/auth/commands/account-commands.ts";
import { captureEvents } from "../../src/testing/index.ts";
import { memoryStore } from "../../src/throttle/index.ts";
import {
  AdminUser,
  FullUser,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
} from "../support/account-application.ts";
import { ADA, BOB } from "../support/application-parts.ts";
import { desk } from "../support/desk.ts";
import { storeShop } from "../support/store-shop.ts";

/** An application whose accounts can be blocked and closed, with separate accounts for administrators. */
async function shop(options: TestAccountsOptions = {}): Promise<TestAccounts> {
  class User extends FullUser {
    static override closedColumn = "closed_at";
    declare closed_at: Date | null;
  }
  const accounts = await testAccounts({
    User: User as never,
    guards: { admin: { driver: "web", model: AdminUser } },
    ...options,
  });
  const { schema } = accounts.database.kysely;
  for (const table of ["users", "admins"]) {
    for (const column of ["blocked_at", "closes_at", "closed_at"]) {
      await schema.alterTable(table).addColumn(column, "timestamp").execute();
    }
  }
  // Both tables start with the same rows.
  await accounts.database.kysely.deleteFrom("admins").execute();
  return accounts;
}

const run = ({ application }: TestAccounts, name: string, ...args: string[]) => desk(application, name, ...args);
const addAdmin = ({ database }: TestAccounts, columns: object) => {
  const row = { name: "Root", password: "x", access_epoch: "epoch of root", ...columns };
  return database.kysely.insertInto("admins").values(row).execute();
};
const change = ({ database }: TestAccounts, columns: object, id: number = ADA.id) =>
  database.kysely.updateTable("users").set(columns).where("id", "=", id).execute();

/** The arguments with which each command succeeds, and whether it is about one account. */
const DEEDS: Readonly<Record<string, readonly [args: readonly string[], isAboutUser: boolean]>> = {
  "users:find": [[ADA.email], true],
  "users:show": [[ADA.email], true],
  "users:logout": [[ADA.email, "--reason", "asked"], true],
  "users:void-password": [[ADA.email, "--reason", "asked"], true],
  "users:block": [[ADA.email, "--reason", "asked"], true],
  "users:unblock": [[ADA.email, "--reason", "asked"], true],
  "users:close": [[ADA.email, "--reason", "asked"], true],
  "users:reopen": [[ADA.email, "--reason", "asked"], true],
  "users:verify": [[ADA.email, "--reason", "asked"], true],
  "users:export": [[ADA.email, "--reason", "asked"], true],
  "users:erase": [[ADA.email, "--reason", "asked", "--yes"], true],
  "limits:clear": [[ADA.email], true],
  "mail:resend": [[ADA.email, "--mail", "resetPassword", "--reason", "asked"], true],
  "access:end-all": [["--reason", "asked", "--yes"], false],
};

test.each(ACCOUNT_COMMANDS.map(({ name }) => name))(
  "S195 %s writes an audit line with who ran it and why",
  async (name) => {
    const accounts = await shop();
    if (name === "users:unblock") await change(accounts, { blocked_at: new Date().toISOString() });
    if (name === "users:reopen") {
      const user = (await accounts.user()) as never;
      const details = { by: null, reason: null, address: null };
      await accounts.application.container.make("accounts").closing.close("web", user, "none", details);
    }
    if (name === "users:verify") await change(accounts, { verified_at: null });
    const [args, isAboutUser] = DEEDS[name]!;
    using events = captureEvents(accounts.application);
    expect((await run(accounts, name, ...args, "--by", "grace")).error).toBeNull();
    const reason = args.includes("--reason") ? "asked" : null;
    const told = events
      .of("auth.command")
      .map(({ command, by, reason: why, user }) => [command, by, why, user !== null]);
    expect(told).toEqual([[name, "grace", reason, isAboutUser]]);
  },
);

test("S195 without a name, the audit line has the system user and the machine, and at most 500 characters", async () => {
  const accounts = await shop();
  using events = captureEvents(accounts.application);
  const long = "x".repeat(501);
  for (const by of [[], ["--by", " "], ["--by", long, "--reason", long]])
    await run(accounts, "users:logout", ADA.email, ...by);
  const caller = `${userInfo().username}@${hostname()}`;
  const cut = "x".repeat(500);
  expect(events.of("auth.command").map(({ by, reason }) => [by, reason])).toEqual([
    [caller, null],
    [caller, null],
    [cut, cut],
  ]);
});

test("S190 users:block and users:unblock say who blocked the account, and why", async () => {
  const accounts = await shop();
  using events = captureEvents(accounts.application);
  for (const name of ["users:block", "users:unblock"])
    await run(accounts, name, ADA.email, "--by", "grace", "--reason", "spam");
  for (const name of ["auth.blocked", "auth.unblocked"] as const) {
    expect(events.of(name)).toMatchObject([{ by: "grace", reason: "spam", address: null }]);
  }
  await run(accounts, "users:block", ADA.email);
  expect((await run(accounts, "users:block", ADA.email)).output).toContain("is still blocked");
});

test("users:verify verifies only the displayed address, and confirms it", async () => {
  const accounts = await shop();
  await change(accounts, { verified_at: null });
  const { users } = accounts.application.container.make("accounts");
  const { of } = users;
  let meanwhile: (() => Promise<unknown>) | null = null;
  users.of = (guard) => {
    const store = of.call(users, guard);
    return Object.assign(Object.create(store), {
      update: async (...args: Parameters<typeof store.update>) => {
        await meanwhile?.();
        return store.update(...args);
      },
    });
  };
  onTestFinished(() => void Reflect.deleteProperty(users, "of"));
  using events = captureEvents(accounts.application);
  const verify = () => run(accounts, "users:verify", ADA.email);
  const stored = async () =>
    (await accounts.database.kysely.selectFrom("users").selectAll().where("id", "=", ADA.id).execute())[0]!;
  for (const columns of [{ email: "other@example.com" }, { verified_at: "2020-01-01T00:00:00.000Z" }]) {
    meanwhile = () => change(accounts, columns);
    expect((await verify()).error).toBe("The account has changed in the meantime. Look at it again.");
    expect(await stored()).toMatchObject(columns);
    await change(accounts, { email: ADA.email, verified_at: null });
  }
  expect(events.of("auth.email_verified")).toEqual([]);
  meanwhile = null;
  expect((await verify()).error).toBeNull();
  expect(events.of("auth.email_verified")).toMatchObject([{ guard: "web", user: { id: ADA.id }, address: null }]);
});

test("S205 users:void-password lists its limits and the remaining steps", async () => {
  const accounts = await shop();
  const voided = (text: string) =>
    `The password of ${text} is no longer valid, and all access to the account has ended. No mail was sent.`;
  await change(accounts, { email: null });
  expect((await run(accounts, "users:void-password", "1")).output).toBe(
    `${voided("Ada")}\nThe account has no address, so its owner can't set a new one by mail.`,
  );
  expect((await run(accounts, "users:void-password", "1")).error).toBe("The account of Ada has no password.");
  // A link can always replace a revoked password, but maybe not set a first one, so an account without a password is
  // left as it is.
  await change(accounts, { password: null });
  expect((await run(accounts, "users:void-password", "1")).error).toBe("The account of Ada has no password.");
  expect((await accounts.user(1))!.passwordHash()).toBeNull();
  await change(accounts, { password: "x", email: ADA.email, blocked_at: new Date().toISOString() });
  expect((await run(accounts, "users:void-password", "1")).output).toContain(
    "with a link that you mail, once it is unblocked: npx ashlar users:unblock 1, then npx ashlar mail:resend 1",
  );
});

test("mail:resend sends no mail that would not work or isn't needed", async () => {
  const accounts = await shop({ ACCOUNTS: { firstPasswordByMail: false } });
  const refused = async (...args: string[]) => (await run(accounts, "mail:resend", ADA.email, ...args)).error;
  await change(accounts, { verified_at: new Date().toISOString() });
  expect(await refused("--mail", "verifyEmail")).toBe(`The address of ${ADA.email} needs no verification.`);
  expect(await refused("--mail", "newDevice")).toContain(`"newDevice" can't be sent again. Usage: mail:resend`);
  await change(accounts, { verified_at: null, password: null });
  for (const args of [[], ["--mail", "resetPassword"]]) {
    expect(await refused(...args)).toBe("ACCOUNTS.firstPasswordByMail is false, so no link sets a first password.");
  }
  await change(accounts, { closed_at: new Date().toISOString() });
  expect(await refused("--mail", "verifyEmail")).toBe(`The account of ${ADA.email} is closed.`);
  await change(accounts, { closed_at: null, email: "" });
  expect((await run(accounts, "mail:resend", String(ADA.id))).error).toContain("has no address");
  expect(await accounts.mails()).toEqual([]);
});

test("mail:resend mails the named guard's link if two have the same users", async () => {
  class Member extends FullUser {}
  const accounts = await testAccounts({ User: Member, guards: { members: { driver: "web", model: Member } } });
  using events = captureEvents(accounts.application);
  const { error } = await run(accounts, "mail:resend", ADA.email, "--mail", "resetPassword", "--guard", "members");
  expect(error).toBeNull();
  expect(events.of("auth.password_reset_requested")).toMatchObject([{ guard: "members" }]);
});

test("S194 access:end-all ends access for the named guard, or for none if it can't for all its users", async () => {
  const accounts = await shop();
  await addAdmin(accounts, { email: "root@example.com" });
  const epochs = async () => {
    const { kysely } = accounts.database;
    const all = ["users", "admins"].map((table) =>
      kysely.selectFrom(table).select("access_epoch").orderBy("id").execute(),
    );
    return (await Promise.all(all)).map((rows) => String(rows[0]!.access_epoch));
  };
  const before = await epochs();
  const { output } = await run(accounts, "access:end-all", "--guard", "admin", "--yes");
  expect(output).toContain("admin: access to 1 account has ended.");
  expect(output).not.toContain("web:");
  const after = await epochs();
  expect([after[0] === before[0], after[1] === before[1]]).toEqual([true, false]);
});

test("S194 access:end-all ends access for no guard if it can't for all", async () => {
  const accounts = await shop();
  const { kysely } = accounts.database;
  await kysely.schema.alterTable("admins").dropColumn("access_epoch").execute();
  const epochs = () => kysely.selectFrom("users").select("access_epoch").orderBy("id").execute();
  const before = await epochs();
  const { error } = await run(accounts, "access:end-all", "--yes");
  expect(error).toContain("The table admins has no column access_epoch");
  expect(await epochs()).toEqual(before);
});

test("limits:clear says so if the store can't clear a whole limit, or a command can't reach it", async () => {
  const store = () => Object.assign(memoryStore()(), { isLocal: false, clear: undefined });
  const unable = await shop({ store } as never);
  expect((await run(unable, "limits:clear", "--limit", "login")).error).toMatch(
    /^The store of limits can't forget a whole limit\. /,
  );
  const local = await shop({ store: memoryStore() });
  for (const args of [[ADA.email], ["--limit", "login"]]) {
    expect((await run(local, "limits:clear", ...args)).error).toMatch(
      /^Limits are counted in the memory of the server/,
    );
  }
});

test("an account that several guards have is reported, and left alone", async () => {
  const accounts = await shop();
  await addAdmin(accounts, { email: ADA.email });
  using events = captureEvents(accounts.application);
  const { error } = await run(accounts, "users:logout", ADA.email);
  expect(error).toMatch(
    /^Several accounts are "ada@example.com": 1 of the guard web \(ada@example.com\), \d+ of the guard admin /,
  );
  expect(events.of("auth.command")).toEqual([]);
  expect((await run(accounts, "users:logout", ADA.email, "--guard", "admin")).error).toBeNull();
});

test("a closed account is found by its address", async () => {
  const accounts = await shop();
  await change(accounts, { closed_at: new Date().toISOString() });
  expect((await run(accounts, "users:show", "ADA@example.com")).output).toContain("closed    yes");
});

test("users:find shows twenty accounts of one or several guards, and says that there may be more", async () => {
  const accounts = await shop();
  const row = { name: "Many", password: "x", access_epoch: "x" };
  for (let n = 0; n < 25; n++) {
    const email = `many${n}@example.com`;
    await accounts.database.kysely
      .insertInto("users")
      .values({ ...row, email })
      .execute();
    await addAdmin(accounts, { email: `root-${email}` });
  }
  const statements: number[] = [];
  const stop = accounts.database.onQuery(({ sql }) => void (/like .* limit/.test(sql) && statements.push(1)));
  const { output } = await run(accounts, "users:find", "many");
  stop();
  expect(output.split("\n")).toHaveLength(21);
  expect(output).toMatch(/20 accounts, and maybe more\.$/);
  expect(statements.length).toBeGreaterThan(0);
  const few = await run(accounts, "users:find", "many2");
  expect(few.output).toMatch(/12 accounts\.$/);
});

test("a command accepts as many names as its help says", async () => {
  const accounts = await shop();
  for (const args of [
    ["users:show", ADA.email, BOB.email],
    ["users:show"],
    ["access:end-all", ADA.email, "--yes"],
    ["limits:clear", ADA.email, BOB.email],
  ]) {
    expect((await run(accounts, args[0]!, ...args.slice(1))).error).toMatch(new RegExp(`^Usage: ${args[0]}`));
  }
});

test("with --json, no command prompts, not even in a terminal", async () => {
  const accounts = await shop();
  for (const stream of [process.stdin, process.stdout]) {
    const before = Object.getOwnPropertyDescriptor(stream, "isTTY");
    Object.defineProperty(stream, "isTTY", { configurable: true, value: true });
    onTestFinished(() => {
      if (before === undefined) Reflect.deleteProperty(stream, "isTTY");
      else Object.defineProperty(stream, "isTTY", before);
    });
  }
  const question = vi.spyOn(process.stdin, "resume");
  onTestFinished(() => question.mockRestore());
  expect((await run(accounts, "users:erase", ADA.email, "--json")).error).toMatch(
    /Nothing was done\. Add --yes to do it\.$/,
  );
  expect(question).not.toHaveBeenCalled();
});

test("typed text can't control the terminal", async () => {
  const accounts = await shop();
  await change(accounts, { name: "A\u001b[2Jda\u202e\u2028!" });
  for (const name of ["users:find", "users:show"])
    expect((await run(accounts, name, ADA.email)).output).toContain("A?[2Jda??!");
  expect((await run(accounts, "users:show", "a\u001b@x\u0007")).error).toContain('There is no account "a?@x?".');
});

test("an account in your own store is exported, shown with its block, and erased", async () => {
  const { accounts, cleo, rows } = await storeShop();
  await cleo();
  const json = async (name: string, ...args: string[]) =>
    JSON.parse((await run(accounts, name, "cleo@example.com", "--json", ...args)).output);
  expect(await json("users:block")).toMatchObject({ isBlocked: true });
  expect(await json("users:unblock")).toMatchObject({ isBlocked: false });
  expect(await json("users:erase", "--yes")).toMatchObject({ erased: { waiting_mails: expect.any(Number) } });
  expect(rows()).toEqual([]);
});
