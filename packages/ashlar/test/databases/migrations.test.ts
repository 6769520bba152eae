import { rename } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Migrations, sql } from "../../src/database/index.ts";
import { DATABASE_MODULE, MigrationFolder, upElsewhere } from "../support/migration-folder.ts";
import { onEachDatabase, type TestDatabase } from "../support/services.ts";

const FIRST = "2026_01_01_000000_create_users";
const SECOND = "2026_01_02_000000_create_posts";
const THIRD = "2026_01_03_000000_add_name";

const USERS = `
import { type Kysely, primaryKey, timestamps } from "${DATABASE_MODULE}";

export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable("users")
    .$call(primaryKey(database))
    .addColumn("email", "varchar(255)", (column) => column.notNull().unique())
    .$call(timestamps(database))
    .execute();
}

export async function down(database: Kysely<unknown>): Promise<void> {
  await database.schema.dropTable("users").execute();
}
`;

const POSTS = `
import { type Kysely, primaryKey, reference } from "${DATABASE_MODULE}";

export async function up(database: Kysely<any>): Promise<void> {
  await database.schema
    .createTable("posts")
    .$call(primaryKey(database))
    .addColumn("user_id", reference(database), (column) => column.notNull().references("users.id").onDelete("cascade"))
    .execute();
  await database.insertInto("users").values({ email: "first@example.com" }).execute();
}

export async function down(database: Kysely<any>): Promise<void> {
  await database.schema.dropTable("posts").execute();
  await database.deleteFrom("users").execute();
}
`;

const NAME = `
export async function up(database: any): Promise<void> {
  await database.schema.alterTable("users").addColumn("name", "varchar(255)").execute();
}
export async function down(database: any): Promise<void> {
  await database.schema.alterTable("users").dropColumn("name").execute();
}
`;

await onEachDatabase("migrations", (engine) => {
  let own: TestDatabase;
  let folder: MigrationFolder;
  let migrations: Migrations;

  beforeEach(async () => {
    own = await engine.open();
    folder = new MigrationFolder(own.database);
    ({ migrations } = folder);
  });
  afterEach(async () => {
    await own.drop();
    folder.remove();
  });

  const write = (name: string, text: string): Promise<void> => folder.write(name, text);
  const tables = (): Promise<string[]> => folder.tables();
  const states = async () => (await migrations.status()).map(({ name, state, batch }) => [name, state, batch]);

  test("up runs new migrations in order, and each run is a batch", async () => {
    await write(SECOND, POSTS);
    await write(FIRST, USERS);
    expect(await states()).toEqual([
      [FIRST, "pending", null],
      [SECOND, "pending", null],
    ]);
    expect(await migrations.up()).toEqual([FIRST, SECOND]);
    expect(await tables()).toEqual(["migrations", "posts", "users"]);
    expect(await migrations.up()).toEqual([]);
    await write(THIRD, NAME);
    expect(await migrations.up()).toEqual([THIRD]);
    expect(await states()).toEqual([
      [FIRST, "run", 1],
      [SECOND, "run", 1],
      [THIRD, "run", 2],
    ]);
    const runAt = (await migrations.status())[0]!.runAt!;
    expect(Math.abs(runAt.getTime() - Date.now())).toBeLessThan(60_000);
  });

  test("the pending migrations are those that this database has not run, whatever else it contains", async () => {
    await write(SECOND, POSTS);
    await write(FIRST, USERS);
    if (engine.name === "postgres") {
      // Another application's table, which statements without the schema's name don't find.
      await sql`create schema other`.execute(own.database.kysely);
      await sql`create table other.migrations (name text)`.execute(own.database.kysely);
      await sql`insert into other.migrations values (${FIRST})`.execute(own.database.kysely);
    }
    expect(await migrations.pending()).toEqual([FIRST, SECOND]);
    await migrations.up();
    await write(THIRD, NAME);
    expect(await migrations.pending()).toEqual([THIRD]);
    await migrations.rollback();
    expect(await migrations.pending()).toEqual([FIRST, SECOND, THIRD]);
  });

  test("a missing folder means no migrations", async () => {
    const nowhere = new Migrations(own.database, join(folder.path, "none"));
    expect([await nowhere.up(), await nowhere.status(), await nowhere.rollback()]).toEqual([[], [], []]);
  });

  test("rollback rolls back the last batch, a number of steps, or a batch", async () => {
    await write(FIRST, USERS);
    await migrations.up();
    await write(SECOND, POSTS);
    await write(THIRD, NAME);
    await migrations.up();
    expect(await migrations.rollback()).toEqual([THIRD, SECOND]);
    expect(await tables()).toEqual(["migrations", "users"]);
    await migrations.up();
    expect(await migrations.rollback({ steps: 1 })).toEqual([THIRD]);
    expect(await migrations.rollback({ batch: 2 })).toEqual([SECOND]);
    expect(await migrations.rollback({ batch: 7 })).toEqual([]);
    expect(await migrations.rollback({ steps: 9 })).toEqual([FIRST]);
    expect(await migrations.rollback()).toEqual([]);
    expect(await tables()).toEqual(["migrations"]);
    await expect(migrations.rollback({ steps: 0 })).rejects.toMatchObject({ code: "E_MIGRATION" });
  });

  test("the most recently run batch is the last, whatever its migrations are called", async () => {
    await write(SECOND, "export async function up() {} export async function down() {}");
    await migrations.up();
    await write(FIRST, USERS);
    expect(await migrations.up()).toEqual([FIRST]);
    expect(await migrations.rollback()).toEqual([FIRST]);
    expect(await states()).toEqual([
      [FIRST, "pending", null],
      [SECOND, "run", 1],
    ]);
  });

  test("fresh drops everything, whatever created it, and runs all migrations", async () => {
    await write(FIRST, USERS);
    await write(SECOND, POSTS);
    await migrations.up();
    const { kysely } = own.database;
    const type = engine.name === "sqlite" ? "integer" : "bigint";
    await sql`create table foreign_to_us (user_id ${sql.raw(type)} references users (id))`.execute(kysely);
    await sql`create view seen as select email from users`.execute(kysely);
    if (engine.name === "postgres") {
      await sql`create type mood as enum ('good')`.execute(kysely);
      await sql`create sequence counter`.execute(kysely);
      await sql`create materialized view kept as select email from users`.execute(kysely);
    } else if (engine.name === "mariadb") {
      await sql`create sequence counter`.execute(kysely);
    } else {
      await sql`create virtual table search using fts5(body)`.execute(kysely);
    }
    await kysely.insertInto("posts").values({ user_id: 1 }).execute();
    expect(await migrations.fresh()).toEqual([FIRST, SECOND]);
    expect(await tables()).toEqual(["migrations", "posts", "users"]);
    expect(await kysely.selectFrom("posts").selectAll().execute()).toEqual([]);
    if (engine.name === "postgres") await sql`create type mood as enum ('good')`.execute(kysely);
    const dangling = kysely.insertInto("posts").values({ user_id: 99 }).execute();
    await expect(dangling).rejects.toMatchObject({ code: "E_FOREIGN_KEY_VIOLATION" });
  });

  test("a migration that fails leaves nothing half done or says what is, and the message names its file", async () => {
    await write(FIRST, USERS);
    await write(
      SECOND,
      `export async function up(database: any): Promise<void> {
        await database.schema.createTable("half").addColumn("n", "integer").execute();
        await database.insertInto("users").values({ email: "half@example.com" }).execute();
        await database.insertInto("nowhere").values({ n: 1 }).execute();
      }`,
    );
    await write(THIRD, NAME);
    const error = await migrations.up().catch((caught: unknown) => caught as Error);
    expect(error).toMatchObject({
      code: "E_MIGRATION",
      message: expect.stringContaining(join(folder.path, `${SECOND}.ts`)),
    });
    expect((error as Error).message).toContain("nowhere");
    const left = {
      tables: await tables(),
      users: await own.database.kysely.selectFrom("users").select("email").execute(),
    };
    if (engine.undoesTables) {
      expect(left).toEqual({ tables: ["migrations", "users"], users: [] });
    } else {
      expect(left).toEqual({ tables: ["half", "migrations", "users"], users: [{ email: "half@example.com" }] });
      expect((error as Error).message).toMatch(
        /It ran: create table "half" \("n" integer\) .*; insert into "users" \("email"\) values \(\?\)\. This failed: insert into "nowhere"/,
      );
    }
    expect(await states()).toEqual([
      [FIRST, "run", 1],
      [SECOND, "pending", null],
      [THIRD, "pending", null],
    ]);
  });

  test.skipIf(engine.undoesTables)("a migration that loses its connection says what may have run", async () => {
    await write(
      FIRST,
      `import { sql } from "${DATABASE_MODULE}";
      export async function up(database: any): Promise<void> {
        await database.schema.createTable("half").addColumn("n", "integer").execute();
        await sql\`kill connection_id()\`.execute(database);
      }`,
    );
    await expect(migrations.up()).rejects.toThrow(
      /It ran: create table "half" \("n" integer\) .*\. This failed, but may have run: kill connection_id\(\)\./,
    );
  });

  test("a rollback that fails leaves the migration recorded as run", async () => {
    await write(FIRST, `${USERS}`.replace('dropTable("users")', 'dropTable("users2")'));
    await migrations.up();
    await expect(migrations.rollback()).rejects.toMatchObject({ code: "E_MIGRATION" });
    expect(await states()).toEqual([[FIRST, "run", 1]]);
  });

  test("a missing or renamed file is reported, and nothing runs", async () => {
    await write(FIRST, USERS);
    await write(SECOND, POSTS);
    await migrations.up();
    await rename(join(folder.path, `${FIRST}.ts`), join(folder.path, "2026_01_01_000001_create_users.ts"));
    await write(THIRD, NAME);
    await expect(migrations.up()).rejects.toMatchObject({
      code: "E_MIGRATION",
      message: expect.stringContaining(FIRST),
    });
    expect(await states()).toEqual([
      [FIRST, "missing", 1],
      ["2026_01_01_000001_create_users", "pending", null],
      [SECOND, "run", 1],
      [THIRD, "pending", null],
    ]);
    await migrations.rollback({ steps: 1 });
    await expect(migrations.rollback({ steps: 1 })).rejects.toMatchObject({ message: expect.stringContaining(FIRST) });
  });

  test.each([
    ["2026_01_04_000000_no_up", "export const down = 1;", 'does not export a function "up"'],
    ["2026_01_04_000000_broken", "export const up = (;", "could not be loaded"],
    ["create_things", "export function up() {}", "is not named like"],
  ])("%s is reported", async (name, text, message) => {
    await write(name, text);
    await expect(migrations.up()).rejects.toMatchObject({
      code: "E_MIGRATION",
      message: expect.stringContaining(message),
    });
  });

  test("a migration without down is reported when it is rolled back", async () => {
    await write(FIRST, "export async function up(): Promise<void> {}");
    await migrations.up();
    await expect(migrations.rollback()).rejects.toMatchObject({ message: expect.stringContaining("down") });
    expect(await states()).toEqual([[FIRST, "run", 1]]);
  });

  test("with three processes migrating concurrently, each migration is run by only one", async () => {
    await write(FIRST, USERS);
    await write(SECOND, POSTS);
    await write(THIRD, NAME);
    const runs = await Promise.all(Array.from({ length: 3 }, () => upElsewhere(own, folder)));
    const names = runs.flat(2);
    expect(names.sort()).toEqual([FIRST, SECOND, THIRD]);
    expect((await states()).map(([name, state]) => [name, state])).toEqual([
      [FIRST, "run"],
      [SECOND, "run"],
      [THIRD, "run"],
    ]);
  });
});
