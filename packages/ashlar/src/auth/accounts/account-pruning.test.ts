import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, onTestFinished, test } from "vitest";
import {
  ADA,
  AdminUser,
  BOB,
  PASSWORD,
  type TestAccounts,
  testAccounts,
} from "../../../test/support/account-application.ts";
import { HandMadeUser } from "../../../test/support/application-parts.ts";
import { MemoryLogins } from "../../../test/support/memory-logins.ts";
import { Person } from "../../../test/support/people.ts";
import { onEachDatabase } from "../../../test/support/services.ts";
import { createApplication } from "../../boot/index.ts";
import { DatabaseProvider } from "../../database/index.ts";
import { generateSecret } from "../../security/index.ts";
import { setClock } from "../../support/index.ts";
import { AuthProvider } from "../auth-provider.ts";
import type { PrunedLogins } from "../logins/login-store.ts";

const NOON = Date.parse("2026-03-01T12:00:00.000Z");
const [MINUTE, DAY] = [60_000, 86_400_000];
const NOTHING = {
  logins: 0,
  "addresses of unused logins": 0,
  "password resets": 0,
  "changes of address": 0,
  "counts of limits": 0,
  "mails that could not be sent": 0,
};

afterEach(() => setClock(null));

let stored = 0;

/** Stores logins of a user, by default active ones with the guard `web`. */
async function storeLogins(
  { database }: TestAccounts,
  userId: number,
  count: number,
  values: object = {},
): Promise<void> {
  const at = new Date(NOON);
  const rows = Array.from({ length: count }, () => ({
    user_id: userId,
    guard: "web",
    token_hash: `${stored++}`,
    access_epoch: "-",
    ip: "203.0.113.7",
    authenticated_at: at,
    last_used_at: at,
    created_at: at,
    expires_at: new Date(NOON + DAY),
    ...values,
  }));
  for (let first = 0; first < count; first += 100) {
    await database.kysely
      .insertInto("logins")
      .values(rows.slice(first, first + 100))
      .execute();
  }
}

await onEachDatabase("pruning accounts", (engine) => {
  test("S70 deletes the data of users that were deleted by a query, and no data of other users or guards", async () => {
    setClock(() => NOON);
    const accounts = await testAccounts({ engine, guards: { admin: { driver: "web", model: AdminUser } } });
    const { kysely } = accounts.database;
    for (const [id, guard] of [
      [ADA.id, "web"],
      [BOB.id, "web"],
      [ADA.id, "admin"],
      [BOB.id, "admin"],
      // It belongs to another application on the same database.
      [77, "other"],
    ] as const) {
      await storeLogins(accounts, id, 1, { guard });
      const link = { guard, created_at: new Date(NOON), expires_at: new Date(NOON + DAY) };
      const token = `of ${id} of ${guard}`;
      const { email } = id === ADA.id ? ADA : BOB;
      await kysely
        .insertInto("password_resets")
        .values({ ...link, email, token })
        .execute();
      await kysely
        .insertInto("email_changes")
        .values({ ...link, email: `old-${email}`, token, user_id: id })
        .execute();
    }
    expect(await accounts.application.prune()).toEqual({
      // There is only one admin.
      ...NOTHING,
      logins: 1,
      "password resets": 1,
      "changes of address": 1,
    });
    expect(await accounts.User.where("id", ADA.id).delete()).toBe(1);
    expect(await accounts.application.prune()).toEqual({
      ...NOTHING,
      logins: 1,
      "password resets": 1,
      "changes of address": 1,
    });
    const left = async (table: string): Promise<unknown> => {
      const rows = await accounts.rows(table);
      return rows.map(({ guard, user_id, email }) => [guard, user_id ?? email]).sort();
    };
    const owners = [
      ["admin", ADA.id],
      ["other", 77],
      ["web", BOB.id],
    ];
    expect([await left("logins"), await left("email_changes")]).toEqual([owners, owners]);
    expect(await left("password_resets")).toEqual([
      ["admin", ADA.email],
      ["other", BOB.email],
      ["web", BOB.email],
    ]);
    expect(await accounts.application.prune()).toEqual(NOTHING);
  });

  test("S71 deletes logins of missing users whose model can only log in, and keeps those of the others", async () => {
    setClock(() => NOON);
    class Account extends HandMadeUser {}
    const accounts = await testAccounts({ engine, guards: { desk: { driver: "web", model: Account } } });
    for (const userId of [ADA.id, BOB.id]) await storeLogins(accounts, userId, 1, { guard: "desk" });
    await accounts.User.where("id", ADA.id).delete();
    expect(await accounts.application.prune()).toEqual({ ...NOTHING, logins: 1 });
    expect(await accounts.rows("logins")).toMatchObject([{ guard: "desk", user_id: BOB.id }]);
  });

  test("S71 keeps addresses, logins that have ended and links for as long as ACCOUNTS.retention says", async () => {
    setClock(() => NOON);
    const ACCOUNTS = { retention: { addressDays: 7, loginDays: 2, linkDays: 3 } };
    const accounts = await testAccounts({ engine, ACCOUNTS });
    const remembered = accounts.visitor({ userAgent: "Ada's own browser", ip: "203.0.113.7" });
    await remembered.post("/login", { email: ADA.email, password: PASSWORD, remember: true });
    // Ends after two hours.
    await accounts.loggedIn(BOB);
    // Is valid for a day.
    await accounts.visitor().post("/change_password", { email: BOB.email });
    await accounts.mails();
    const prunedAfter = async (ms: number): Promise<unknown> => {
      setClock(() => NOON + ms);
      const pruned = await accounts.application.prune();
      return Object.fromEntries(Object.entries(pruned).filter(([, count]) => count > 0));
    };
    // Counts of the logins and of the request for a link.
    expect(await prunedAfter(2 * DAY + 120 * MINUTE - 1)).toEqual({ "counts of limits": 3 });
    expect(await prunedAfter(2 * DAY + 120 * MINUTE)).toEqual({ logins: 1 });
    expect(await prunedAfter(4 * DAY - 1)).toEqual({});
    expect(await prunedAfter(4 * DAY)).toEqual({ "password resets": 1 });
    expect(await prunedAfter(7 * DAY - 1)).toEqual({});
    expect(await accounts.rows("logins")).toMatchObject([{ ip: "203.0.113.7", user_agent: "Ada's own browser" }]);
    expect(await prunedAfter(7 * DAY)).toEqual({ "addresses of unused logins": 1 });
    expect(await accounts.rows("logins")).toMatchObject([{ ip: null, user_agent: null }]);
    expect(await remembered.get("/me")).toMatchObject({ body: { user: { id: ADA.id } } });
    // A use stores its address again.
    await accounts.application.shutdown();
    const restarted = await testAccounts({ restarted: accounts, engine, ACCOUNTS });
    expect(await restarted.rows("logins")).toMatchObject([{ ip: "203.0.113.7" }]);
  });

  test("deletes a few rows at a time, and stops in between when the signal is aborted", async () => {
    setClock(() => NOON);
    const accounts = await testAccounts({ engine });
    await storeLogins(accounts, BOB.id, 1100, { expires_at: new Date(NOON) });
    const statements: string[] = [];
    const stop = new AbortController();
    let stopsAfter = 1;
    accounts.database.onQuery(({ sql }) => {
      if (/^delete from .logins/.test(sql)) statements.push(sql);
      if (statements.length === stopsAfter) stop.abort();
    });
    expect(await accounts.application.prune(stop.signal)).toMatchObject({ logins: 500 });
    stopsAfter = Number.POSITIVE_INFINITY;
    expect(await accounts.application.prune()).toMatchObject({ logins: 600 });
    expect(statements).toHaveLength(3);
    expect(await accounts.rows("logins")).toEqual([]);
  });

  test("finds every row without a user in a table with more than one batch", async () => {
    setClock(() => NOON);
    const accounts = await testAccounts({ engine });
    for (const [userId, count] of [
      [4711, 300],
      [BOB.id, 700],
      [4711, 301],
    ] as const) {
      await storeLogins(accounts, userId, count);
    }
    expect(await accounts.application.prune()).toMatchObject({ logins: 601 });
    expect(await accounts.rows("logins")).toHaveLength(700);
  });

  test("S71 removes the rest of the personal data: the client's address, or the browser", async () => {
    setClock(() => NOON);
    const accounts = await testAccounts({ engine, ACCOUNTS: { retention: { addressDays: 7 } } });
    const last_used_at = new Date(NOON - 7 * DAY);
    for (const values of [
      { ip: null, user_agent: "Ada's own browser", last_used_at },
      { ip: "203.0.113.8", user_agent: null, last_used_at },
      { ip: null, user_agent: null, last_used_at },
      { ip: "203.0.113.9", user_agent: "Bob's own browser", last_used_at: new Date(NOON - 7 * DAY + 1) },
    ]) {
      await storeLogins(accounts, BOB.id, 1, values);
    }
    expect(await accounts.application.prune()).toEqual({ ...NOTHING, "addresses of unused logins": 2 });
    const left = (await accounts.rows("logins")).filter(({ ip, user_agent }) => ip !== null || user_agent !== null);
    expect(left).toMatchObject([{ ip: "203.0.113.9", user_agent: "Bob's own browser" }]);
  });
});

test("queries only the users that are named in the current rows", async () => {
  setClock(() => NOON);
  const accounts = await testAccounts();
  await storeLogins(accounts, BOB.id, 3);
  const lookups: string[] = [];
  const changes: string[] = [];
  accounts.database.onQuery(({ sql }) => {
    if (sql.includes('from "users"')) lookups.push(sql);
    if (/^update|^delete .* where "id" in \((?!select)/.test(sql)) changes.push(sql);
  });
  expect(await accounts.application.prune()).toEqual(NOTHING);
  expect(lookups).toEqual(['select "id" from "users" where "id" in (?)']);
  // Nor is anything written if nothing is old.
  expect(changes).toEqual([]);
});

test("S71 keeps the logins of users that it cannot look up", async () => {
  setClock(() => NOON);
  const accounts = await testAccounts({ guards: { people: { driver: "web", model: Person } } });
  await storeLogins(accounts, 77, 1, { guard: "people" });
  expect(await accounts.application.prune()).toEqual(NOTHING);
  expect(await accounts.rows("logins")).toHaveLength(1);
});

test("finds nothing if there are neither guards nor tables", async () => {
  const application = await createApplication({
    providers: [DatabaseProvider, AuthProvider],
    config: { database: { DATABASES: { default: "main", main: { driver: "sqlite", path: ":memory:" } } } },
    environment: { APP_ENV: "test" },
  });
  onTestFinished(() => application.shutdown());
  expect(await application.prune()).toEqual({});
});

test("returns what stores without a database have deleted", async () => {
  class Logins extends MemoryLogins {
    override async prune(): Promise<PrunedLogins> {
      return { logins: 2, addresses: 1 };
    }
  }
  const application = await createApplication({
    providers: [AuthProvider],
    config: {
      auth: {
        GUARDS: {
          default: "web",
          web: { driver: "web", model: Person, logins: new Logins() },
          desk: { driver: "web", model: Person, logins: new Logins() },
        },
      },
    },
    environment: { APP_ENV: "test", APP_KEY: generateSecret() },
  });
  onTestFinished(() => application.shutdown());
  expect(await application.prune()).toEqual({ logins: 4, "addresses of unused logins": 2 });
});

test("S71 keeps the address of a login that is used while the table is being processed", async () => {
  setClock(() => NOON);
  const accounts = await testAccounts({ ACCOUNTS: { retention: { addressDays: 7 } } });
  await storeLogins(accounts, BOB.id, 1, { last_used_at: new Date(NOON - 7 * DAY) });
  const { DATABASES } = accounts.application.config.section("database") as {
    readonly DATABASES: { readonly main: { readonly path: string } };
  };
  const other = new DatabaseSync(DATABASES.main.path);
  onTestFinished(() => other.close());
  accounts.database.onQuery(({ sql }) => {
    if (sql.startsWith('update "logins"')) other.exec("update logins set last_used_at = created_at");
  });
  expect(await accounts.application.prune()).toEqual(NOTHING);
  expect(await accounts.rows("logins")).toMatchObject([{ ip: "203.0.113.7" }]);
});
