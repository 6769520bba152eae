import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Database, Migrations, type Row, sql } from "../../src/database/index.ts";
import { ashlar } from "../support/command-line.ts";
import { generatedApplication } from "../support/generated-application.ts";
import { onEachDatabase, type TestDatabase } from "../support/services.ts";

/** The part that the outbox's migration lacks in applications from before mails had priorities. */
const PRIORITY = /^.*await addPriorityToMailOutbox.*\n|addPriorityToMailOutbox, /gm;

/** The migration folders of different kinds of applications, each with migrations that the others don't have. */
const APPLICATIONS: Readonly<Record<string, () => Promise<string>>> = {
  async "created with everything"() {
    return join(await generatedApplication(), "database/migrations");
  },
  async "that pages and the API were added to"() {
    const root = await generatedApplication({ pages: false, api: false });
    for (const command of ["auth", "api:install"]) expect(await ashlar(root, command)).toMatchObject({ code: 0 });
    return join(root, "database/migrations");
  },
  async "that is older than the priority of mails"() {
    const root = await generatedApplication({ api: false });
    const folder = join(root, "database/migrations");
    const file = join(folder, (await readdir(folder)).find((name) => name.endsWith("_create_mail_outbox.ts"))!);
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replaceAll(PRIORITY, ""));
    const printed = expect.stringContaining("_add_priority_to_mail_outbox.ts");
    expect(await ashlar(root, "mail:install")).toMatchObject({ code: 0, output: printed });
    expect(await ashlar(root, "mail:install")).not.toMatchObject({ output: printed });
    return folder;
  },
  async "that is older than the access epoch and the priority of mails"() {
    const root = await generatedApplication({ api: false });
    const folder = join(root, "database/migrations");
    for (const file of await readdir(folder)) {
      const text = await readFile(join(folder, file), "utf8");
      await writeFile(join(folder, file), text.replace(/^ *\.addColumn\("access_epoch".*\n/m, ""));
      if (file.includes("create_mail_outbox")) {
        await writeFile(join(folder, file), text.replaceAll(PRIORITY, ""));
      }
      // The table of its logins had another name.
      if (file.includes("create_logins")) await rm(join(folder, file));
    }
    expect(await ashlar(root, "auth")).toMatchObject({ code: 0, output: expect.stringContaining("_to_users") });
    expect((await readdir(folder)).join()).toContain("_add_priority_to_mail_outbox.ts");
    return folder;
  },
};

/** Every table, column, index and constraint as the database describes them, except for the record of migrations. */
async function schema({ dialect, kysely }: Database): Promise<readonly Row[]> {
  if (dialect.name === "mariadb") {
    const tables = (await kysely.introspection.getTables()).filter(({ name }) => name !== "migrations");
    const creations = tables.map(({ name }) => sql<Row>`show create table ${sql.table(name)}`.execute(kysely));
    return (await Promise.all(creations)).flatMap(({ rows }) => rows);
  }
  const described =
    dialect.name === "sqlite"
      ? sql<Row>`select type, name, tbl_name, sql from sqlite_master where tbl_name not in ('migrations', 'sqlite_sequence') order by 1, 2`
      : sql<Row>`
          select table_name as "table", column_name as name, concat_ws(' ', data_type, character_maximum_length,
            is_nullable, column_default) as definition
            from information_schema.columns where table_schema = 'public' and table_name <> 'migrations'
          union all select tablename, indexname, indexdef
            from pg_indexes where schemaname = 'public' and tablename <> 'migrations'
          union all select conrelid::regclass::text, conname, pg_get_constraintdef(oid)
            from pg_constraint where connamespace = 'public'::regnamespace and conrelid::regclass::text <> 'migrations'
          order by 1, 2, 3`;
  return (await described.execute(kysely)).rows;
}

const NOW = new Date(Date.UTC(2026, 0, 1));
const USER = { name: "Ada", email: "ada@example.com", password: "-", created_at: NOW, updated_at: NOW };
const LOGIN = {
  user_id: 1,
  guard: "web",
  token_hash: "a digest",
  access_epoch: "",
  authenticated_at: NOW,
  last_used_at: NOW,
  expires_at: NOW,
  created_at: NOW,
};

await onEachDatabase("the migrations of an application", (engine) => {
  let own: TestDatabase;

  beforeEach(async () => {
    own = await engine.open();
  });
  afterEach(() => own.drop());

  /** Inserts the first row, and returns what happens to the second. */
  async function second(table: string, first: Row, other: Row): Promise<unknown> {
    const { kysely } = own.database;
    await kysely.insertInto(table).values(first).execute();
    return await kysely
      .insertInto(table)
      .values(other)
      .execute()
      .then(
        () => "inserted",
        (error: { code?: string }) => error.code,
      );
  }

  /** How the database finds these rows in a large table. */
  async function metadataOf(table: string, condition: string): Promise<string> {
    const { dialect, kysely } = own.database;
    const query = sql.raw(`select * from ${table} where ${condition}`);
    if (dialect.name === "sqlite") return JSON.stringify((await sql`explain query plan ${query}`.execute(kysely)).rows);
    if (dialect.name === "mariadb") return JSON.stringify((await sql`explain ${query}`.execute(kysely)).rows);
    return await own.database.transaction(async () => {
      // These tables are empty, so reading them in full is faster.
      await sql`set local enable_seqscan = off`.execute(own.database.kysely);
      return JSON.stringify((await sql`explain ${query}`.execute(own.database.kysely)).rows);
    });
  }

  describe.for(Object.keys(APPLICATIONS))("%s", (kind) => {
    test("run and roll back one by one, and each restores the previous schema", async () => {
      const folder = await APPLICATIONS[kind]!();
      const steps = join(folder, "../steps");
      await mkdir(steps);
      const migrations = new Migrations(own.database, steps);
      for (const file of (await readdir(folder)).toSorted()) {
        const before = await schema(own.database);
        await copyFile(join(folder, file), join(steps, file));
        await migrations.up();
        const after = await schema(own.database);
        expect(after, file).not.toEqual(before);
        await migrations.rollback({ steps: 1 });
        expect(await schema(own.database), file).toEqual(before);
        await migrations.up();
        expect(await schema(own.database), file).toEqual(after);
      }
    });

    test("prevent duplicate rows", async () => {
      await new Migrations(own.database, await APPLICATIONS[kind]!()).up();
      const bob = { ...USER, email: "bob@example.com" };
      expect(await second("users", USER, { ...USER, name: "Bob" })).toBe("E_UNIQUE_VIOLATION");
      expect(await second("logins", LOGIN, { ...LOGIN, user_id: 2 })).toBe("E_UNIQUE_VIOLATION");
      const task = { task: "prune", due_at: NOW };
      expect(await second("maintenance", task, { ...task, due_at: new Date() })).toBe("E_UNIQUE_VIOLATION");
      if (kind.startsWith("that is older than")) return;
      const { kysely } = own.database;
      await kysely.updateTable("users").set({ api_token: "a digest" }).execute();
      // NULL values do not count as the same.
      expect(await second("users", bob, { ...bob, email: "cleo@example.com" })).toBe("inserted");
      const sharing = kysely.updateTable("users").set({ api_token: "a digest" }).where("name", "=", "Ada").execute();
      await expect(sharing).rejects.toMatchObject({ code: "E_UNIQUE_VIOLATION" });
    });
  });

  test("have indexes for the lookups by registration, the device list and pruning", async () => {
    await new Migrations(own.database, await APPLICATIONS["created with everything"]!()).up();
    expect(await metadataOf("email_changes", "email = 'ada@example.com'")).toContain("email_changes_email_index");
    expect(await metadataOf("logins", "user_id = 1")).toContain("logins_user_id_index");
    expect(await metadataOf("logins", "expires_at < '2026-01-01'")).toContain("logins_expires_at_index");
  });
});
