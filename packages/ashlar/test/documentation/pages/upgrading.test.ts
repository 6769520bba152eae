// The guide about upgrading: its migration runs on the tables of an application that was made before it.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Database, Migrations, sql } from "../../../src/database/index.ts";
import { createSessionDataTable } from "../../../src/session/stores/session-data-table.ts";
import { checkTypes, generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { markdownSamples } from "../../support/samples.ts";
import { onEachDatabase } from "../../support/services.ts";

const PAGE = "docs/guides/upgrading.md";
const SESSION_DATA_TABLE = "session_data";
const MIGRATION = "2026_11_26_090000_add_expiry_indexes.ts";
const TABLES = ["password_resets", "email_changes", SESSION_DATA_TABLE];
/** The statements of today's migrations that create what the page's migration adds to older tables. */
const NEWER =
  /^ {2}await database\.schema\s*\.createIndex\("(?:password_resets|email_changes)_(?:expires_at|user_id)_index"\)[\s\S]*?;\n/gm;

/** The folder of an application's migrations as they were before the page's, with the one of sessions in the database. */
async function olderMigrations(root: string): Promise<string> {
  const folder = join(root, "database/migrations");
  let left = 0;
  for (const file of await readdir(folder)) {
    const text = await readFile(join(folder, file), "utf8");
    left += text.match(NEWER)?.length ?? 0;
    await writeFile(join(folder, file), text.replaceAll(NEWER, ""));
  }
  expect(left).toBe(3);
  return folder;
}

/** The first column of each index of the older tables, by `table.column`, in order. */
async function indexed({ dialect, kysely }: Database): Promise<readonly string[]> {
  const statements = {
    sqlite: sql<{ name: string }>`select tables.name || '.' || info.name as name from sqlite_master as tables,
      pragma_index_list(tables.name) as list, pragma_index_info(list.name) as info
      where tables.name in (${sql.join(TABLES)}) and info.seqno = 0 order by 1`,
    postgres: sql<{ name: string }>`select concat(tables.relname, '.', attname) as name from pg_index
      join pg_class as tables on tables.oid = indrelid
      join pg_attribute on attrelid = indrelid and attnum = indkey[0]
      where tables.relname in (${sql.join(TABLES)}) and pg_table_is_visible(indrelid) order by 1`,
    mariadb: sql<{
      name: string;
    }>`select concat(table_name, '.', column_name) as name from information_schema.statistics
      where table_schema = database() and table_name in (${sql.join(TABLES)}) and seq_in_index = 1 order by 1`,
  };
  const { rows } = await statements[dialect.name as keyof typeof statements].execute(kysely);
  return rows.map(({ name }) => name);
}

test("the page's migration compiles in an application", async () => {
  const root = await generatedApplication();
  expect(await followPage(root, PAGE)).toEqual([`database/migrations/${MIGRATION}`]);
  await checkTypes(root);
});

await onEachDatabase("the page's migration, in an application made before it", (engine) => {
  test("adds the indexes that prune needs, and rolls back to the previous ones", async () => {
    const own = await engine.open();
    onTestFinished(() => own.drop());
    const root = await generatedApplication();
    const migrations = new Migrations(own.database, await olderMigrations(root));
    await migrations.up();
    await createSessionDataTable(own.database.kysely);
    const { schema } = own.database.kysely;
    await schema.dropIndex(`${SESSION_DATA_TABLE}_created_at`).on(SESSION_DATA_TABLE).execute();
    const before = await indexed(own.database);

    await followPage(root, PAGE);
    await migrations.up();
    const added = ["email_changes.expires_at", "email_changes.user_id", "password_resets.expires_at"];
    const after = [...before, ...added, `${SESSION_DATA_TABLE}.created_at`];
    expect(await indexed(own.database)).toEqual(after.toSorted());
    expect(before.filter((column) => after.slice(before.length).includes(column))).toEqual([]);

    await migrations.rollback({ steps: 1 });
    expect(await indexed(own.database)).toEqual(before);
  });
});

await onEachDatabase("the page's statements for accounts without a password", (engine) => {
  test("make the column nullable, and keep its values", async () => {
    const own = await engine.open();
    onTestFinished(() => own.drop());
    const { dialect, kysely } = own.database;
    await kysely.schema
      .createTable("users")
      .addColumn("id", "integer", (column) => column.primaryKey())
      .addColumn("password", "varchar(255)", (column) => column.notNull())
      .execute();
    await sql`insert into users (id, password) values (1, 'kept')`.execute(kysely);
    const add = () => sql`insert into users (id, password) values (2, null)`.execute(kysely);
    await expect(add()).rejects.toThrow();
    for (const statement of await statementsFor(dialect.name)) await sql.raw(statement).execute(kysely);
    await add();
    const { rows } = await sql`select id, password from users order by id`.execute(kysely);
    expect(rows).toEqual([
      { id: 1, password: "kept" },
      { id: 2, password: null },
    ]);
  });
});

/** The statements below a database's name in the page's fence of the language `sql`. */
async function statementsFor(database: string): Promise<readonly string[]> {
  const { code } = (await markdownSamples(PAGE)).find(({ language }) => language === "sql")!;
  const parts = code.split(/^-- /m).map((part) => part.split("\n"));
  const [, ...lines] = parts.find(([name]) => name!.toLowerCase().startsWith(database))!;
  return lines.filter((line) => line !== "");
}
