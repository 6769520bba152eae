import { afterEach, expect, test } from "vitest";
import { ApiProvider, many, personal } from "../../src/api/index.ts";
import { sql } from "../../src/database/index.ts";
import { travel, travelBack } from "../../src/public/testing.ts";
import { Route } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { createSessionDataTable, databaseSessions } from "../../src/session/index.ts";
import {
  FullUser,
  NEW_PASSWORD,
  outcomeOf,
  PASSWORD,
  type TestAccounts,
  testAccounts,
} from "../support/account-application.ts";
import { ADA, BOB } from "../support/api-application.ts";
import { type ManyTokensApi, manyTokensApi } from "../support/many-tokens.ts";
import { migrationOfStub } from "../support/migration-folder.ts";
import { onEachDatabase, type TestEngine } from "../support/services.ts";

afterEach(() => travelBack());

/** The tables that grow with the number of users and visitors. */
const OF_ACCOUNTS = [
  ...["users", "logins", "password_resets", "email_changes", "rate_limits", "session_data", "mail_outbox"],
  ...["personal_tokens", "security_events"],
];
const GROWING = [...OF_ACCOUNTS, "api_tokens"];

/** Statements that read a table from its beginning in the order of its key, a bounded number of rows at a time. */
const WALK = /^select [^?$]* from ["`]\w+["`] order by ["`](?:id|token)["`](?: asc)? limit [?$]\d*$/;

/** Does everything that a visitor can do with accounts, prunes, and returns all statements. */
async function statementsOf(accounts: TestAccounts): Promise<readonly string[]> {
  accounts.forgetQueries();
  const visitor = accounts.visitor();
  const carol = { name: "Carol", email: "carol@example.com", password: PASSWORD, password_confirmation: PASSWORD };
  await visitor.post("/register", carol);
  await outcomeOf(visitor, await accounts.link());
  for (let login = 0; login < 3; login++) await accounts.loggedIn(carol);
  const here = await accounts.loggedIn(carol);
  const [newest] = ((await here.get("/devices?size=2")).body as { readonly after: string }[]).values();
  await here.get(`/devices?size=2&after=${newest?.after}`);
  await here.get(`/devices?size=2&before=${newest?.after}`);
  await here.get("/logins");
  const { body } = await here.get("/logins");
  // The first is the login of this visitor.
  const [, id] = [...String(body).matchAll(/action="\/logins\/(\d+)"/g)].map(([, key]) => key);
  await here.post(`/logins/${id}`, { __method: "DELETE" });
  await here.post("/logins", { __method: "DELETE" });
  const password = { current_password: PASSWORD, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
  await here.post("/account/password", password);
  await personalTokensOf(accounts, carol.email);
  await accounts.mails();
  await here.post("/account/email", { email: "new@example.com", password: NEW_PASSWORD });
  const mails = await accounts.mails();
  const link = mails
    .map(({ text }) => /https:\S+\/email\/verify\/\S+/.exec(text)?.[0])
    .find((one) => one !== undefined);
  await outcomeOf(here, new URL(link!).pathname);
  const undo = (await accounts.mails()).map(({ text }) => /https:\S+\/email\/undo\/\S+/.exec(text)?.[0]).find(Boolean);
  const undoing = new URL(undo!).pathname;
  await accounts.visitor().get(undoing);
  await accounts.visitor().post(undoing);
  await accounts.mails();
  const token = await accounts.resetToken(carol);
  await accounts.visitor().get(`/password_reset?token=${token}`);
  await accounts.visitor().post("/password_reset", { token, password: PASSWORD, password_confirmation: PASSWORD });
  const leaving = await accounts.loggedIn(carol);
  travel(10);
  await leaving.get("/me");
  await leaving.post("/logout");
  await (await accounts.User.findBy("email", carol.email))!.delete();
  await accounts.loggedIn();
  travel(60 * 24 * 400);
  await accounts.application.prune();
  return [...new Set(accounts.queries)].filter((sql) => /^(?:select|insert|update|delete|with) /.test(sql));
}

/** Creates, uses, lists and revokes personal tokens of a user. */
async function personalTokensOf({ application, User }: TestAccounts, email: string): Promise<void> {
  const user = (await User.findBy("email", email))!;
  const service = application.container.make("apiDrivers").personal();
  const request = { name: "script", abilities: null, days: 30 };
  const [first] = [await service.issue(user, request), await service.issue(user, request)];
  await service.verify(first!.token);
  await service.list(user);
  await service.revoke(first!.id, user, null);
}

/** The growing tables that a statement reads completely. */
async function scansOf(
  { name }: TestEngine,
  { database }: Pick<TestAccounts, "database">,
  statement: string,
): Promise<readonly string[]> {
  if (WALK.test(statement)) return [];
  const scanned = (plan: string, pattern: RegExp) =>
    [...plan.matchAll(pattern)].map((match) => match[1]!).filter((table) => GROWING.includes(table));
  if (name === "sqlite") {
    const { DatabaseSync } = await import("node:sqlite");
    const file = new DatabaseSync(database.dialect.file!, { readOnly: true });
    try {
      const plan = file.prepare(`explain query plan ${statement}`).all() as { readonly detail: string }[];
      return scanned(plan.map(({ detail }) => detail).join("\n"), /^SCAN (\w+)/gm);
    } finally {
      file.close();
    }
  }
  if (name === "mariadb") {
    // MariaDB doesn't accept parameters in `explain`, and its plan doesn't depend on them.
    const filled = statement.replaceAll(/ (limit|offset) \?/g, " $1 10").replaceAll("?", "'1'");
    const { rows } = await sql.raw<Record<string, unknown>>(`explain ${filled}`).execute(database.kysely);
    const complete = rows.filter(({ select_type: select, type, possible_keys: keys }) => {
      // The plan's line for an insert says ALL, although it reads nothing.
      return select !== "INSERT" && type === "ALL" && keys === null;
    });
    return complete.map(({ table }) => String(table)).filter((table) => GROWING.includes(table));
  }
  const numbers = [...statement.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number));
  const values = Array.from({ length: Math.max(0, ...numbers) }, () => "null").join(", ");
  return database.transaction(async () => {
    // The tables are too small for an index to pay off, so make the planner avoid reading one completely if it can.
    for (const set of ["enable_seqscan = off", "plan_cache_mode = force_generic_plan"]) {
      await sql.raw(`set local ${set}`).execute(database.kysely);
    }
    await sql.raw(`prepare examined as ${statement}`).execute(database.kysely);
    const execution = `execute examined${values === "" ? "" : `(${values})`}`;
    const { rows } = await sql.raw<Record<string, string>>(`explain ${execution}`).execute(database.kysely);
    await sql.raw("deallocate examined").execute(database.kysely);
    return scanned(rows.map((row) => row["QUERY PLAN"]).join("\n"), /Seq Scan on (\w+)/g);
  });
}

/** The statements that read a growing table completely, each with that table. */
async function allScansOf(
  engine: TestEngine,
  observed: Pick<TestAccounts, "database">,
  statements: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const statement of statements) {
    const tables = await scansOf(engine, observed, statement);
    if (tables.length > 0) found.push(`${tables.join()}: ${statement}`);
  }
  return found;
}

/** Does everything that a client can do with tokens of `many()`, prunes, and returns all statements. */
async function tokenStatementsOf(tokens: ManyTokensApi): Promise<readonly string[]> {
  const { api } = tokens;
  api.forgetQueries();
  const [first, other] = [await tokens.login(), await tokens.login({ username: BOB.email })];
  await tokens.status(first.data);
  const second = await tokens.renewed(first.refresh);
  await tokens.renewed(first.refresh);
  travel(6);
  await tokens.status(second.data);
  // The use is written after the response.
  await expect
    .poll(() => api.queries.filter((sql) => /^update .api_tokens. set .last_used_at/.test(sql)))
    .toHaveLength(1);
  await tokens.renew(first.refresh);
  await api.post("/api/logout", { token: other.refresh });
  for (let login = 0; login < 3; login++) await tokens.login();
  const user = (await api.User.find(ADA.id))!;
  await user.setPassword(NEW_PASSWORD);
  await user.save();
  await tokens.login({ username: BOB.email });
  await (await api.User.find(BOB.id))!.delete();
  // One is left, which is pruned.
  await tokens.login({ password: NEW_PASSWORD });
  travel(60 * 24 * 400);
  await api.application.prune();
  return [...new Set(api.queries)].filter((sql) => /^(?:select|insert|update|delete|with) /.test(sql));
}

await onEachDatabase("indexes", (engine) => {
  test("no statement reads a growing table completely", async () => {
    class User extends FullUser {}
    const driver = { secret: generateSecret(), model: User, personal: personal() };
    const accounts = await testAccounts({
      engine,
      User,
      providers: [ApiProvider],
      guards: { jwt: {} },
      config: { session: { SESSION: { store: databaseSessions() } }, api: { DRIVERS: { jwt: driver } } },
      routes: [
        Route.get("/devices", async ({ auth, request }) => [
          await auth.logins().page({ before: request.input("before"), after: request.input("after"), size: 2 }),
        ]),
      ],
      throttle: {},
    });
    await createSessionDataTable(accounts.database.kysely);
    await (await migrationOfStub("tokens/create_personal_tokens.ts.stub")).up(accounts.database.kysely);
    await (await migrationOfStub("auth/migrations/create_security_events.ts.stub")).up(accounts.database.kysely);
    const statements = await statementsOf(accounts);
    expect(await allScansOf(engine, accounts, statements)).toEqual([]);
    // The test has examined all tables, and everything that is pruned.
    const examined = (pattern: RegExp) => statements.filter((statement) => pattern.test(statement)).length;
    expect(statements.length).toBeGreaterThan(30);
    for (const table of OF_ACCOUNTS) expect(examined(new RegExp(`\\b${table}\\b`)), table).toBeGreaterThan(1);
    for (const column of ["logins", "password_resets", "email_changes", "personal_tokens"]) {
      expect(examined(new RegExp(`from .${column}. where .expires_at. <= `)), column).toBeGreaterThan(0);
    }
  });

  test("no statement about many()'s tokens does, either", async () => {
    const tokens = await manyTokensApi({
      engine,
      driver: { authenticates: true, tokens: many({ maxPerUser: 2 }) },
    });
    const statements = await tokenStatementsOf(tokens);
    expect(await allScansOf(engine, tokens.api, statements)).toEqual([]);
    const about = statements.filter((statement) => /.api_tokens\b/.test(statement));
    const kinds = (kind: string) => about.filter((statement) => statement.startsWith(kind)).length;
    expect(kinds("insert")).toBe(1);
    // The renewal, ending a login, and the last use; by user, by the limit (two), and by time.
    expect([kinds("update"), kinds("delete")]).toEqual([3, 4]);
  });
});
