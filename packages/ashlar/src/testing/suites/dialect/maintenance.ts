import assert from "node:assert/strict";
import { Database, ForeignKeyViolationError } from "../../../database/index.ts";
import { AshlarError } from "../../../support/index.ts";
import { atOnce, createRows, type DialectTest, failureOf, insert, NOTES, names, ROWS } from "./dialect-test.ts";

const NO = new Error("The transaction is to be rolled back.");

export const MAINTENANCE: readonly DialectTest[] = [
  {
    title: "a table's columns are returned, or none if it does not exist",
    async run(database) {
      assert.deepEqual(await columnsOf(database, ROWS), ["amount", "at", "data", "id", "name"]);
      assert.deepEqual(await columnsOf(database, "no_such_table"), []);
    },
  },
  {
    title: "migrations run one at a time, and may begin others",
    async run(database) {
      let running = 0;
      let most = 0;
      const results = await atOnce(5, () =>
        database.connection().maintenance.withMigrationLock(async () => {
          running++;
          most = Math.max(most, running);
          await database.connection().maintenance.withMigrationLock(() => names(database));
          running--;
        }),
      );
      assert.deepEqual(
        results.filter(({ status }) => status === "rejected"),
        [],
      );
      assert.equal(most, 1, `${most} ran at the same time`);
    },
  },
  {
    title: "a new table is rolled back with its transaction, or remains, as the dialect declares",
    async run(database) {
      const failure = await failureOf(
        database.transaction(async () => {
          await database.kysely.schema.createTable("suite_new").addColumn("n", "integer").execute();
          throw NO;
        }),
      );
      assert.equal(failure, NO);
      const { schemaIsTransactional } = database.dialect.maintenance;
      const remains = (await columnsOf(database, "suite_new")).length > 0;
      assert.equal(remains, !schemaIsTransactional, `schemaIsTransactional is ${schemaIsTransactional}`);
    },
  },
  {
    title: "tables can be rebuilt, and foreign keys hold again afterwards",
    async run(database) {
      await insertNote(database, await insert(database, "a"));
      const connection = database.connection();
      await connection.maintenance.rebuilding(() => connection.maintenance.checkForeignKeys());
      const unchecked = await failureOf(
        connection.maintenance.rebuilding(() =>
          connection.transaction(async () => {
            await insertNote(database, 999);
            await connection.maintenance.checkForeignKeys();
          }),
        ),
      );
      assert.ok(
        unchecked instanceof ForeignKeyViolationError,
        `neither the insert nor the check refused: ${unchecked}`,
      );
      const failure = await failureOf(insertNote(database, 999));
      assert.ok(failure instanceof ForeignKeyViolationError, `a note without its row threw ${failure}`);
      assert.equal((await database.kysely.selectFrom(NOTES).selectAll().execute()).length, 1);
    },
  },
  {
    title: "all tables are emptied despite foreign keys, and keys count from 1 again",
    async run(database) {
      const { kysely } = database;
      await kysely.schema.createTable("suite_kept").addColumn("n", "integer").execute();
      await kysely.insertInto("suite_kept").values({ n: 7 }).execute();
      await insertNote(database, await insert(database, "a"));
      await database.connection().maintenance.emptyTables(["suite_kept"]);
      assert.deepEqual(await names(database), []);
      assert.deepEqual(await kysely.selectFrom(NOTES).selectAll().execute(), []);
      assert.equal((await kysely.selectFrom("suite_kept").selectAll().execute()).length, 1);
      assert.equal(await insert(database, "b"), 1);
      const failure = await failureOf(insertNote(database, 999));
      assert.ok(failure instanceof ForeignKeyViolationError, "foreign keys no longer hold");
    },
  },
  {
    title: "one table is emptied if all others are kept, and none if all are kept",
    async run(database) {
      const { kysely } = database;
      await insertNote(database, await insert(database, "a"));
      const left = async () => [
        (await names(database)).length,
        (await kysely.selectFrom(NOTES).selectAll().execute()).length,
      ];
      await database.connection().maintenance.emptyTables([ROWS, NOTES]);
      assert.deepEqual(await left(), [1, 1]);
      await database.connection().maintenance.emptyTables([ROWS]);
      assert.deepEqual(await left(), [1, 0]);
    },
  },
  {
    title: "an index is dropped, if the statement names its table",
    async run(database) {
      const { schema } = database.kysely;
      for (let round = 0; round < 2; round++) {
        await schema.createIndex("suite_rows_amount").on(ROWS).column("amount").execute();
        await schema.dropIndex("suite_rows_amount").on(ROWS).execute();
      }
    },
  },
  {
    title: "everything is dropped, including views and referenced tables",
    async run(database) {
      const { kysely } = database;
      await kysely.schema.createView("suite_view").as(kysely.selectFrom(ROWS).select("name")).execute();
      await insertNote(database, await insert(database, "a"));
      await database.connection().maintenance.dropEverything();
      for (const name of [ROWS, NOTES, "suite_view"]) assert.deepEqual(await columnsOf(database, name), [], name);
      await createRows(database);
      assert.deepEqual(await names(database), []);
    },
  },
  {
    title: "a test database is empty, and separate from the original",
    async run(database) {
      await insert(database, "a");
      const made = await database.dialect.maintenance.createTestDatabase();
      const other = new Database({ default: "other", other: made.dialect }, process.cwd());
      try {
        await createRows(other);
        await insert(other, "b");
        assert.deepEqual([await names(database), await names(other)], [["a"], ["b"]]);
      } finally {
        await other.close();
        await made.remove();
      }
    },
  },
  {
    title: "stored data survives reopening the database, unless the dialect is in memory",
    async run(database, source) {
      await insert(database, "a");
      const { isInMemory } = database.dialect;
      await database.close();
      const again = new Database({ default: "again", again: source }, process.cwd());
      try {
        const isEmpty = (await columnsOf(again, ROWS)).length === 0;
        assert.equal(isEmpty, isInMemory, `isInMemory is ${isInMemory}`);
        if (!isEmpty) assert.deepEqual(await names(again), ["a"]);
      } finally {
        await again.close();
      }
    },
  },
  {
    title: "a dialect can connect in advance, and refuses statements once it is closed",
    async run(database) {
      await database.connect();
      await names(database);
      await database.close();
      await database.close();
      const failure = await failureOf(names(database));
      assert.ok(failure instanceof AshlarError && failure.code === "E_DATABASE", `a closed one threw ${failure}`);
    },
  },
];

async function columnsOf(database: Database, table: string): Promise<readonly string[]> {
  const rows = await database.connection().rows(database.dialect.maintenance.columnNames, [table]);
  return rows.map(({ name }) => String(name)).toSorted();
}

async function insertNote({ kysely }: Database, row_id: number): Promise<void> {
  await kysely.insertInto(NOTES).values({ row_id }).execute();
}
