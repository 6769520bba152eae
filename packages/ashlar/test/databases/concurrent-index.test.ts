import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { type Database, invalidIndexesOf, sql } from "../../src/database/index.ts";
import { MigrationFolder } from "../support/migration-folder.ts";
import { onEachDatabase, postgres, type TestDatabase, testWhere } from "../support/services.ts";

const NAME = "2026_01_01_000000_index";

await onEachDatabase("createIndexConcurrently", (engine) => {
  let own: TestDatabase;
  let database: Database;

  beforeEach(async () => {
    own = await engine.open();
    database = own.database;
    await execute("create table orders (id integer not null primary key, user_id integer, code integer)");
    await execute("insert into orders (id, user_id, code) values (1, 1, 7), (2, 1, 7)");
  });
  afterEach(() => own.drop());

  const execute = (text: string) => sql.raw(text).execute(database.kysely);
  const migrating = (call: string, transaction = false) => {
    const folder = new MigrationFolder(database, {
      [NAME]: `
        import { createIndexConcurrently } from "${import.meta.resolve("../../src/database/index.ts")}";
        export const transaction = ${transaction};
        export const up = (database) => createIndexConcurrently(database, ${call});
        export const down = (database) => database.schema.dropIndex("orders_user_id_code").on("orders").execute();`,
    });
    onTestFinished(folder.remove);
    return folder.migrations;
  };

  test("creates an index that a migration can drop", async () => {
    const migrations = migrating('"orders", ["user_id", "code"]');
    expect(await migrations.up()).toEqual([NAME]);
    expect(await migrations.rollback()).toEqual([NAME]);
    expect(await migrations.up()).toEqual([NAME]);
  });

  test("a unique one, with a name, refuses duplicates", async () => {
    const migrations = migrating('"orders", ["code"], { unique: true, name: "one_code" }');
    await expect(migrations.up()).rejects.toMatchObject({ code: "E_MIGRATION" });
    if (engine === postgres) {
      // What the attempt has left behind.
      expect(await invalidIndexesOf(database.connection())).toEqual([{ name: "one_code", table: "orders" }]);
    }
    await execute("delete from orders where id = 2");
    expect(await migrations.up()).toEqual([NAME]);
    expect(await invalidIndexesOf(database.connection())).toEqual([]);
    await expect(execute("insert into orders (id, code) values (3, 7)")).rejects.toMatchObject({
      code: "E_UNIQUE_VIOLATION",
    });
  });

  test("is one statement, during which others can write", async () => {
    const statements: string[] = [];
    database.connection().onQuery(({ sql: text }) => void statements.push(text));
    await migrating('"orders", ["user_id", "code"], { unique: false }').up();
    const expected = {
      sqlite: 'create index "orders_user_id_code" on "orders" ("user_id", "code")',
      postgres: 'create index concurrently "orders_user_id_code" on "orders" ("user_id", "code")',
      mariadb: 'create index "orders_user_id_code" on "orders" ("user_id", "code") lock = none',
    };
    const created = statements.filter((text) => text.startsWith("create index")).map((text) => text.trim());
    expect(created).toEqual([expected[engine.name as keyof typeof expected]]);
    expect(statements.filter((text) => text.startsWith("drop index"))).toEqual([]);
  });

  testWhere(engine === postgres, "drops what an attempt has left behind in the table's schema", async () => {
    await execute("create schema shop");
    await execute("create table shop.orders (id integer not null primary key, code integer)");
    await execute("insert into shop.orders (id, code) values (1, 7), (2, 7)");
    const migrations = migrating('"shop.orders", ["code"], { unique: true }');
    await expect(migrations.up()).rejects.toMatchObject({ code: "E_MIGRATION" });
    await execute("delete from shop.orders where id = 2");
    expect(await migrations.up()).toEqual([NAME]);
    const { rows } = await execute("select schemaname, indexname from pg_indexes where indexname = 'orders_code'");
    expect(rows).toEqual([{ schemaname: "shop", indexname: "orders_code" }]);
    await expect(execute("insert into shop.orders (id, code) values (3, 7)")).rejects.toMatchObject({
      code: "E_UNIQUE_VIOLATION",
    });
  });

  testWhere(engine === postgres, "leaves a valid index of the same name, and says that it is there", async () => {
    await execute("create index orders_code on orders (user_id)");
    await expect(migrating('"orders", ["code"]').up()).rejects.toMatchObject({
      message: expect.stringContaining("already exists"),
    });
    const { rows } = await execute("select indexdef from pg_indexes where indexname = 'orders_code'");
    expect(rows).toEqual([{ indexdef: "CREATE INDEX orders_code ON public.orders USING btree (user_id)" }]);
  });

  testWhere(engine === postgres, "in a transaction, says what the migration needs", async () => {
    await expect(migrating('"orders", ["code"]', true).up()).rejects.toMatchObject({
      code: "E_MIGRATION",
      message: expect.stringContaining('Write "export const transaction = false;" in the migration'),
    });
  });
});
