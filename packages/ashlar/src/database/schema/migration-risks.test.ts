import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DATABASE_MODULE, MigrationFolder } from "../../../test/support/migration-folder.ts";
import { Database } from "../connections/database.ts";
import { type DryRun, dryRun } from "./dry-run.ts";
import { migrationFiles } from "./migration-files.ts";
import { migrationRisks } from "./migration-risks.ts";

const A = "2026_01_01_000000_a";
const B = "2026_01_02_000000_b";

let database: Database;
let folder: MigrationFolder;

beforeEach(() => {
  database = new Database({ default: "main", main: { driver: "postgres", url: "postgres://nowhere.invalid/x" } }, "/");
  folder = new MigrationFolder(database);
});
/** The risks of all files, whether or not they have run. */
const dryRuns = async () => {
  const runs: DryRun[] = [];
  for (const file of await migrationFiles(folder.path)) runs.push(await dryRun(database.dialect, file));
  return runs;
};
afterEach(async () => {
  await database.close();
  folder.remove();
});

async function risks(...migrations: readonly (readonly string[])[]) {
  for (const [index, statements] of migrations.entries()) {
    const lines = statements.map((text) => `  await sql.raw(${JSON.stringify(text)}).execute(database);`);
    const text = `import { sql } from "${DATABASE_MODULE}";\nexport async function up(database) {\n${lines.join("\n")}\n}`;
    await folder.write([A, B][index]!, text);
  }
  return migrationRisks(database.dialect, await dryRuns());
}
const kinds = async (...migrations: readonly (readonly string[])[]) =>
  (await risks(...migrations)).map(({ path, line, change }) => [path.slice(-4, -3), line, change.kind, change.table]);

describe("risks", () => {
  test("each change that breaks the running version, by file and line", async () => {
    const found = await kinds(
      [
        "alter table orders drop column note",
        "select 1",
        "alter table orders rename column total to price",
        "alter table orders rename to purchases",
      ],
      ["drop table users", "alter table carts add column size integer not null", "update carts set size = 1"],
    );
    expect(found).toEqual([
      ["a", 3, "dropColumn", "orders"],
      ["a", 5, "renameColumn", "orders"],
      ["a", 6, "renameTable", "orders"],
      ["b", 3, "dropTable", "users"],
      ["b", 4, "addColumn", "carts"],
      ["b", 5, "writeRows", "carts"],
    ]);
  });

  test("nothing about tables and columns that the migrations create themselves", async () => {
    const found = await kinds(
      [
        "create table carts (id integer)",
        "create index one on carts (id)",
        "alter table carts rename to baskets",
        "alter table orders add column draft text",
      ],
      [
        "alter table baskets add column size integer not null",
        "alter table orders drop column draft",
        "drop table baskets",
      ],
    );
    expect(found).toEqual([]);
  });

  test("a column that was added earlier, becomes required, and isn't written by the running version", async () => {
    const found = await kinds([
      "alter table orders add column size integer",
      "alter table orders alter column size set not null",
    ]);
    expect(found).toEqual([["a", 4, "setNotNull", "orders"]]);
  });

  test("a table that replaces another counts as that one, in later migrations too", async () => {
    const rebuilt = ["create table new (id integer)", "drop table orders", "alter table new rename to orders"];
    const found = await risks(rebuilt, ["alter table orders drop column id"]);
    expect(found.map(({ change }) => change.kind)).toEqual(["dropColumn"]);
  });

  test("each comes with the safe alternative for its database", async () => {
    const [index, required] = await risks([
      "create unique index one on orders (note)",
      "alter table orders add column state text not null",
    ]);
    expect(index).toMatchObject({
      statement: "create unique index one on orders (note)",
      problem: "Writes to orders wait until the index is built.",
      lines: [
        "export const transaction = false;",
        'await createIndexConcurrently(database, "orders", ["note"], { unique: true, name: "one" });',
      ],
    });
    expect(required!.lines).toEqual([
      "// in the first migration: only rows that are written from now on are checked",
      "await sql`alter table orders add constraint orders_state_required check (state is not null) not valid`.execute(database);",
      "// in the second one: reads all rows, while others read and write",
      "await sql`alter table orders validate constraint orders_state_required`.execute(database);",
      "await sql`alter table orders alter column state set not null`.execute(database);",
      "await sql`alter table orders drop constraint orders_state_required`.execute(database);",
    ]);
  });
});

describe("a dry run", () => {
  const run = async (text: string) => {
    await folder.write(A, text);
    const [one] = await dryRuns();
    return one!;
  };

  test("records the statements of the schema builder and queries, with their lines, without connecting", async () => {
    const { statements, error } = await run(`
      export async function up(database) {
        await database.schema
          .alterTable("orders").addColumn("phone", "varchar(40)").execute();
        const rows = await database.selectFrom("orders").select("id").execute();
        for (const { id } of rows) await database.updateTable("orders").set({ phone: id }).execute();
        await database.transaction().execute(async (trx) => {
          await trx.insertInto("orders").values({ id: 1 }).execute();
        });
      }`);
    expect([statements, error]).toEqual([
      [
        { sql: 'alter table "orders" add column "phone" varchar(40)', line: 4 },
        { sql: 'select "id" from "orders"', line: 5 },
        { sql: 'insert into "orders" ("id") values ($1)', line: 8 },
      ],
      null,
    ]);
  });

  test("ends if the migration waits for rows, and reports its error", async () => {
    const endless = await run(`
      export async function up(database) {
        while ((await database.selectFrom("orders").select("id").execute()).length === 0);
      }`);
    expect(endless.error).toMatchObject({ code: "E_MIGRATION" });
  });

  test("a migration that needs a row is recorded up to that point", async () => {
    const { statements, error } = await run(`
      export async function up(database) {
        const { id } = await database.selectFrom("orders").select("id").executeTakeFirstOrThrow();
        await database.schema.dropTable("orders").execute();
      }`);
    expect([statements.length, error]).toEqual([1, expect.objectContaining({ message: "no result" })]);
  });
});
