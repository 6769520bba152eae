import { expect, onTestFinished, test } from "vitest";
import type { UserId } from "../../src/auth/index.ts";
import { type Database, ReadReplicas, type Row, sql } from "../../src/database/index.ts";
import { Route } from "../../src/routing/index.ts";
import { accessEpoch, passwordHash } from "../support/application-parts.ts";
import { onPostgres, postgres, type TestEngine } from "../support/services.ts";
import { PASSWORD, testWeb } from "../support/web-application.ts";

const urlOf = ({ user, host, port, database }: Readonly<Record<string, unknown>>): string =>
  `postgres://${user}@${host}:${port}/${database}`;

await onPostgres("read replicas beside stores of the application's own", () => {
  /** PostgreSQL with a replica that no longer receives changes. */
  const stopped: TestEngine = {
    ...postgres,
    async open(settings, contents) {
      const old = await postgres.open({}, contents);
      onTestFinished(() => old.drop());
      return await postgres.open({ ...settings, read: [urlOf(old.configuration)] }, contents);
    },
  };

  test("S85 are never asked about users in the application's own store", async () => {
    const store = new Members();
    const web = await testWeb({ engine: stopped, stack: [ReadReplicas], guard: { model: store } });
    store.database = web.database;
    const password = (await passwordHash()).replace(/.{4}$/, "AAAA");
    const change = { password, access_epoch: accessEpoch(7) };
    await web.database.kysely.updateTable("users").set(change).where("id", "=", 1).execute();
    const login = { email: "ada@example.com", password: PASSWORD };
    expect(await web.browser().post("/login", login)).toMatchObject({ body: { user: null } });
    const browser = await web.loggedIn();
    await web.database.kysely.deleteFrom("users").where("id", "=", 1).execute();
    expect(await browser.get("/me")).toMatchObject({ body: { user: null } });
  });

  test.each([
    ["auth.members", '"auth"."members"'],
    ["auth.members", "auth.members"],
    ['"auth"."members"', "auth.members"],
    ['"members"', "members"],
    ["übermitglieder", '"übermitglieder"'],
    ["mitglieder_é", '"mitglieder_é"'],
    ["members$", '"members$"'],
    ["user accounts", '"user accounts"'],
  ])("S85 are never asked about the table %s of a store, written as %s", async (name, written) => {
    const fill = async ({ kysely }: Database, text: string): Promise<void> => {
      await sql`create schema if not exists auth`.execute(kysely);
      onTestFinished(() => void sql`drop schema auth cascade`.execute(kysely).catch(() => {}));
      await sql.raw(`create table ${written} as select '${text}' as text`).execute(kysely);
    };
    const old = await postgres.open();
    onTestFinished(() => old.drop());
    await fill(old.database, "old");
    const model = Object.assign(new Members(), { tables: ["users", name] });
    const found = async ({ kysely }: Database) =>
      (await sql.raw<{ text: string }>(`select text from ${written}`).execute(kysely)).rows[0]!;
    const web = await testWeb({
      engine: {
        ...postgres,
        open: (settings, contents) => postgres.open({ ...settings, read: [urlOf(old.configuration)] }, contents),
      },
      stack: [ReadReplicas],
      guard: { model },
      routes: [Route.get("/found", async () => found(web.database))],
    });
    await fill(web.database, "current");
    expect(await web.browser().get("/found")).toMatchObject({ body: { text: "current" } });
  });

  test.each(["", "members ", 'mem"bers'])("S85 a store that names the table %j fails startup", async (name) => {
    const model = Object.assign(new Members(), { tables: [name] });
    await expect(testWeb({ engine: postgres, guard: { model } })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: `Members: names the table ${JSON.stringify(name)}, which can't be a table's name. Write it as in the database, such as "members" or "auth.members".`,
    });
  });

  test("S85 a user store that names no tables fails startup", async () => {
    const model = Object.assign(new Members(), { tables: undefined });
    await expect(testWeb({ engine: stopped, stack: [ReadReplicas], guard: { model } })).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
    });
    await testWeb({ engine: postgres, guard: { model } });
  });
});

class Member {
  readonly #row: Row;

  constructor(row: Row) {
    this.#row = row;
  }

  authId(): number {
    return Number(this.#row.id);
  }

  passwordHash(): string {
    return String(this.#row.password);
  }

  accessEpoch(): string {
    return String(this.#row.access_epoch);
  }

  async storePasswordHash(): Promise<void> {}

  toJSON(): object {
    return { id: this.authId(), email: this.#row.email };
  }
}

/** Finds users with its own statements. */
class Members {
  readonly name = "Members";
  readonly userClass = Member;
  readonly tables: readonly string[] | undefined = ["users"];
  readonly identifierColumn = "email";
  database: Database | null = null;

  findByAuthId(id: UserId): Promise<Member | null> {
    return this.#find("id", id);
  }

  findByIdentifier(email: string): Promise<Member | null> {
    return this.#find("email", email);
  }

  async #find(column: string, value: UserId): Promise<Member | null> {
    const query = this.database!.kysely.selectFrom("users").selectAll().where(column, "=", value);
    const row = (await query.executeTakeFirst()) as Row | undefined;
    return row === undefined ? null : new Member(row);
  }
}
