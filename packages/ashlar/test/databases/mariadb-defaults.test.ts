import { createConnection } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Database, mariadb, primaryKey, reference, sql } from "../../src/database/index.ts";
import { TRANSACTIONS } from "../../src/testing/suites/dialect/transactions.ts";
import { WRITES } from "../../src/testing/suites/dialect/writes.ts";
import { dialectSuite } from "../../src/testing/suites/dialect-suite.ts";
import { type OwnMariadb, startMariadb, withOwnMariadb } from "../support/own-mariadb.ts";

/** Global defaults that a server's administrator may have set for other programs. */
const DEFAULTS: readonly (readonly [name: string, value: string])[] = [
  ["autocommit", "0"],
  ["completion_type", "1"],
  ["completion_type", "2"],
  ["default_storage_engine", "MyISAM"],
  ["foreign_key_checks", "0"],
  ["unique_checks", "0"],
  ["check_constraint_checks", "0"],
  ["sql_select_limit", "1"],
  ["sql_auto_is_null", "1"],
  ["sql_safe_updates", "1"],
];

withOwnMariadb("a MariaDB server whose defaults would lose what was acknowledged", () => {
  let server: OwnMariadb;
  beforeAll(async () => {
    server = await startMariadb(async () => []);
  });
  afterAll(() => server?.remove());

  const asRoot = async (...statements: string[]): Promise<unknown[]> => {
    const client = await createConnection({ host: "127.0.0.1", port: server.port, user: "root" });
    let rows: unknown[] = [];
    for (const statement of statements) [rows] = (await client.query(statement)) as unknown as [unknown[]];
    await client.end();
    return rows;
  };
  const set = async (names: typeof DEFAULTS): Promise<void> => {
    await asRoot(...names.map(([name, value]) => `set global ${name} = ${value}`));
  };
  const reset = (): Promise<unknown> => asRoot(...DEFAULTS.map(([name]) => `set global ${name} = default`));
  const open = (name: string): Database => {
    const settings = { host: "127.0.0.1", port: server.port, user: "root", database: name, poolSize: 3 };
    const database = new Database({ default: "main", main: mariadb(settings) }, server.folder);
    onTestFinished(async () => {
      await database.close();
      await reset();
      await asRoot(`drop database ${name}`);
    });
    return database;
  };

  test.each([...DEFAULTS.map((one) => [one]), DEFAULTS])(
    "%j: changes are committed or rolled back, references and conditions hold, and all rows are found",
    async (...defaults) => {
      await asRoot("create database trial");
      await set(defaults as unknown as typeof DEFAULTS);
      const database = open("trial");
      const { kysely } = database;
      await kysely.schema
        .createTable("people")
        .$call(primaryKey(kysely))
        .addColumn("name", "varchar(20)", (name) => name.unique())
        .addColumn("age", "integer", (age) => age.check(sql`age >= 0`))
        .execute();
      await sql`create table plain (n integer)`.execute(kysely);
      await kysely.schema
        .createTable("notes")
        .$call(primaryKey(kysely))
        .addColumn("person_id", reference(kysely), (id) => id.notNull().references("people.id").onDelete("cascade"))
        .execute();
      // After two transactions, the insert may be in one that the server has begun by itself.
      for (const name of ["ada", "bob"]) {
        await database.transaction(() => kysely.insertInto("people").values({ name }).execute());
      }
      await kysely.insertInto("people").values({ name: "eve" }).execute();
      const undone = database.transaction(async () => {
        await kysely.insertInto("people").values({ name: "undone" }).execute();
        throw new Error("The transaction failed.");
      });
      await expect(undone).rejects.toThrow("The transaction failed.");
      const others = await asRoot("select group_concat(name order by name) as names from trial.people");
      expect(others).toEqual([{ names: "ada,bob,eve" }]);

      const found = await kysely.selectFrom("people").select("name").orderBy("name").execute();
      expect(found.map(({ name }) => name)).toEqual(["ada", "bob", "eve"]);
      const { id } = await kysely.selectFrom("people").select("id").where("name", "=", "ada").executeTakeFirstOrThrow();
      await kysely.insertInto("notes").values({ person_id: id }).execute();
      expect(await kysely.selectFrom("notes").selectAll().where("id", "is", null).execute()).toEqual([]);
      const dangling = kysely.insertInto("notes").values({ person_id: 999 });
      await expect(dangling.execute()).rejects.toMatchObject({ code: "E_FOREIGN_KEY_VIOLATION" });
      const twice = kysely.insertInto("people").values({ name: "ada" });
      await expect(twice.execute()).rejects.toMatchObject({ code: "E_UNIQUE_VIOLATION" });
      const impossible = kysely.insertInto("people").values({ name: "max", age: -1 });
      await expect(impossible.execute()).rejects.toMatchObject({ code: "E_DATABASE" });
      await kysely.deleteFrom("people").where("id", "=", id).execute();
      expect(await asRoot("select count(*) as notes from trial.notes")).toEqual([{ notes: 0 }]);
      await kysely.updateTable("people").set({ age: 1 }).execute();
      const engines = await asRoot(
        "select distinct engine from information_schema.tables where table_schema = 'trial'",
        "select count(*) as others from information_schema.tables where table_schema = 'trial' and engine <> 'InnoDB'",
      );
      expect(engines).toEqual([{ others: 0 }]);
    },
  );

  describe("the dialect keeps its promises", () => {
    beforeAll(() => set(DEFAULTS));
    let databases = 0;
    const suite = dialectSuite(async ({ acquireTimeoutMs }) => {
      const name = `suite_${databases++}`;
      await asRoot(`create database ${name}`);
      const dialect = mariadb({
        ...{ host: "127.0.0.1", port: server.port, user: "root", database: name },
        ...{ acquireTimeoutMs, poolSize: 30 },
      });
      return { dialect, remove: async () => void (await asRoot(`drop database ${name}`)) };
    });
    const titles = [...TRANSACTIONS, ...WRITES].filter((one) => one.isImpatient !== true).map(({ title }) => title);
    for (const { title, run } of suite.filter((one) => titles.includes(one.title))) test(title, run);
  });
});
