import assert from "node:assert/strict";
import { inspect } from "node:util";
import {
  type Database,
  ForeignKeyViolationError,
  NotNullViolationError,
  sql,
  UniqueViolationError,
  UnknownColumnError,
} from "../../../database/index.ts";
import { AshlarError } from "../../../support/index.ts";
import { amountOf, atOnce, type DialectTest, failureOf, insert, NOTES, names, ROWS } from "./dialect-test.ts";

const SECRET = "hunter2-never-to-be-logged";

export const STATEMENTS: readonly DialectTest[] = [
  {
    title: "one of many concurrent inserts of the same unique value succeeds",
    async run(database) {
      const results = await atOnce(20, () => insert(database, "a"));
      const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
      assert.equal(failures.length, 19, `${20 - failures.length} of 20 succeeded`);
      for (const failure of failures) assert.ok(failure instanceof UniqueViolationError, `one threw ${failure}`);
      assert.deepEqual(await names(database), ["a"]);
    },
  },
  {
    title: "no two concurrent conditional updates see the same row",
    async run(database) {
      await insert(database, "a", { amount: 5 });
      const results = await atOnce(20, () => takeOne(database));
      const taken = results.map((result) =>
        result.status === "fulfilled" ? result.value : assert.fail(result.reason),
      );
      assert.equal(taken.filter((one) => one === 1n).length, 5);
      assert.equal(taken.filter((one) => one === 0n).length, 15);
      assert.equal(await amountOf(database, "a"), 0);
    },
  },
  {
    title: "an update counts all matching rows, even those that already have the new values",
    async run(database) {
      await insert(database, "a", { amount: 5 });
      const query = database.kysely.updateTable(ROWS).set({ amount: 5 }).where("name", "=", "a");
      assert.equal((await query.executeTakeFirstOrThrow()).numUpdatedRows, 1n);
    },
  },
  {
    title: "violated constraints and unknown columns have their own errors",
    async run(database) {
      const { kysely } = database;
      await insert(database, "a");
      const unique = await failureOf(insert(database, "a"));
      assert.ok(unique instanceof UniqueViolationError, `a second "a" threw ${unique}`);
      assert.deepEqual(unique.columns, ["name"]);
      const foreign = await failureOf(kysely.insertInto(NOTES).values({ row_id: 999 }).execute());
      assert.ok(foreign instanceof ForeignKeyViolationError, `a note without its row threw ${foreign}`);
      const empty = await failureOf(kysely.insertInto(ROWS).values({ name: null }).execute());
      assert.ok(empty instanceof NotNullViolationError, `a row without a name threw ${empty}`);
      assert.deepEqual(empty.columns, ["name"]);
      const inserted = await failureOf(kysely.insertInto(ROWS).values({ name: "b", colour: "red" }).execute());
      assert.ok(inserted instanceof UnknownColumnError, `an unknown column in an insert threw ${inserted}`);
      assert.ok(inserted.names.includes("colour"), `its names are ${inserted.names}`);
      const updated = await failureOf(kysely.updateTable(ROWS).set({ colour: "red" }).execute());
      assert.ok(updated instanceof UnknownColumnError, `an unknown column in an update threw ${updated}`);
      const other = await failureOf(sql`selekt 1`.execute(kysely));
      assert.ok(
        other instanceof AshlarError && other.code === "E_DATABASE",
        `a statement that is not SQL threw ${other}`,
      );
    },
  },
  {
    title: "no error contains a value of a row",
    async run(database) {
      const { kysely } = database;
      await insert(database, SECRET);
      const failures = [
        await failureOf(insert(database, SECRET)),
        await failureOf(kysely.insertInto(ROWS).values({ name: SECRET, amount: null }).execute()),
        await failureOf(kysely.insertInto(ROWS).values({ name: "b", amount: SECRET }).execute()),
        await failureOf(kysely.insertInto(ROWS).values({ name: SECRET, colour: SECRET }).execute()),
      ];
      for (const failure of failures) {
        const shown = inspect(failure, { depth: 20, showHidden: true });
        assert.ok(!shown.includes(SECRET), `the value is in ${shown}`);
      }
    },
  },
  {
    title: "a statement with one parameter returns the first row, or none if no row has the value",
    async run(database) {
      const id = await insert(database, "a");
      const connection = database.connection();
      const { sql: text } = database.kysely.selectFrom(ROWS).selectAll().where("id", "=", id).compile();
      assert.equal((await connection.first(text, id))?.name, "a");
      assert.equal(await connection.first(text, id + 1), undefined);
      assert.equal(await connection.first(text, "abc"), undefined);
    },
  },
  {
    title: "each statement is announced before it runs, without its values",
    async run(database) {
      const told: string[] = [];
      const end = database.onQuery((query) => void told.push(query.sql));
      await insert(database, SECRET);
      await database.transaction(() => names(database));
      end();
      await names(database);
      assert.equal(told.filter((text) => text.startsWith("insert")).length, 1);
      assert.equal(told.filter((text) => text.startsWith("select")).length, 1);
      assert.ok(!told.join().includes(SECRET), "a value was announced");
    },
  },
];

async function takeOne({ kysely }: Database): Promise<bigint> {
  const { numUpdatedRows } = await kysely
    .updateTable(ROWS)
    .set({ amount: sql`amount - 1` })
    .where("name", "=", "a")
    .where("amount", ">", 0)
    .executeTakeFirstOrThrow();
  return numUpdatedRows;
}
