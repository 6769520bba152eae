import assert from "node:assert/strict";
import {
  type Database,
  type PreparedStatement,
  parameter,
  primaryKey,
  type Row,
  sql,
  UniqueViolationError,
} from "../../../database/index.ts";
import {
  amountOf,
  atOnce,
  type DialectTest,
  failureOf,
  insert,
  NOTES,
  names,
  ROWS,
  STATEMENTS_OF_A_WAIT,
} from "./dialect-test.ts";

const AMOUNT = sql.ref(`${ROWS}.amount`);
const NO = new Error("The transaction is to be rolled back.");

export const WRITES: readonly DialectTest[] = [
  {
    title: "an insert returns its row with the key and the defaults",
    async run(database) {
      const connection = database.connection();
      const write = connection.writes.insert({ table: ROWS, values: { name: parameter("name") }, returning: "all" });
      const [a, b] = [await write({ name: "a" }), await write({ name: "b" })];
      assert.deepEqual([a.length, b.length], [1, 1]);
      assert.deepEqual([a[0]!.name, a[0]!.amount, a[0]!.at, a[0]!.data], ["a", 0, null, null]);
      assert.deepEqual([b[0]!.name, Number(b[0]!.id)], ["b", Number(a[0]!.id) + 1]);
      const defaults = connection.writes.insert({ table: "suite_defaults", values: {}, returning: "all" });
      await createDefaults(database);
      const [row] = await defaults({});
      assert.deepEqual({ ...row }, { id: 1, amount: 7 });
    },
  },
  {
    title: "a conditional insert stores a row only if its condition holds",
    async run(database) {
      const write = noteOn(database);
      assert.deepEqual(await write({ name: "a" }), []);
      const id = await insert(database, "a");
      const [note, ...others] = await write({ name: "a" });
      assert.deepEqual([Number(note?.row_id), others], [id, []]);
      assert.equal((await database.kysely.selectFrom(NOTES).selectAll().execute()).length, 1);
    },
  },
  {
    title: "a conditional insert waits for a pending deletion of the row it depends on, and stores nothing",
    async run(database) {
      await insert(database, "a");
      const [deleted, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const deletion = database.transaction(async () => {
        await database.kysely.deleteFrom(ROWS).where("name", "=", "a").execute();
        deleted.resolve();
        await end.promise;
      });
      await deleted.promise;
      const noted = Promise.resolve(noteOn(database)({ name: "a" }));
      // The insert must not use the old row, whether or not it is already waiting.
      await new Promise((resolve) => setTimeout(resolve, 20));
      end.resolve();
      await deletion;
      assert.deepEqual(await noted, []);
    },
  },
  {
    title: "each of many concurrent upserts gets its own count",
    async run(database) {
      const count = countUp(database);
      const rows = await allOf(atOnce(20, async () => count({ name: "a", by: 1 })));
      const counts = rows.map(([row]) => Number(row!.amount)).toSorted((a, b) => a - b);
      assert.deepEqual(
        counts,
        Array.from({ length: 20 }, (_, index) => index + 1),
      );
    },
  },
  {
    title: "one of many concurrent conditional upserts stores or changes the row",
    async run(database) {
      const claim = claimAt(database);
      for (const time of [100, 200]) {
        const claims = await allOf(atOnce(20, async () => claim({ name: "a", now: time, until: time + 50 })));
        assert.deepEqual(
          claims.filter((rows) => rows.length > 0),
          [[{ amount: time + 50 }]],
        );
        assert.equal(await amountOf(database, "a"), time + 50);
      }
      assert.deepEqual(await claim({ name: "a", now: 240, until: 1000 }), []);
      assert.equal(await amountOf(database, "a"), 250);
    },
  },
  {
    title: "a conditional upsert neither stores nor changes a row if its condition doesn't hold",
    async run(database) {
      const write = database.connection().writes.upsert({
        table: ROWS,
        values: { name: "a", amount: parameter("amount") },
        onlyIf: sql`exists (select 1 from ${sql.table(NOTES)}) = ${parameter("isNoted")}`,
        key: ["name"],
        changes: { amount: parameter("amount") },
        returning: [],
      });
      await write({ amount: 1, isNoted: true });
      assert.deepEqual(await names(database), []);
      assert.deepEqual(await write({ amount: 2, isNoted: false }), []);
      assert.equal(await amountOf(database, "a"), 2);
      await write({ amount: 3, isNoted: true });
      assert.equal(await amountOf(database, "a"), 2);
      await write({ amount: 4, isNoted: false });
      assert.equal(await amountOf(database, "a"), 4);
    },
  },
  {
    title: "the changes of an upsert are computed from the row as it was before",
    async run(database) {
      await insert(database, "a", { amount: 5 });
      const write = database.connection().writes.upsert({
        table: ROWS,
        values: { name: "a", amount: 1 },
        key: ["name"],
        // The order matters: if `name` were computed from the new amount, it would be different.
        changes: { amount: sql`${AMOUNT} + 1`, name: sql`case when ${AMOUNT} = 5 then 'five' else 'other' end` },
        returning: ["name", sql`${AMOUNT} * 10`.as("tenfold")],
      });
      const [row] = await write({});
      assert.deepEqual([row!.name, Number(row!.tenfold)], ["five", 60]);
    },
  },
  {
    title: "one of many concurrent deletions of a row returns it",
    async run(database) {
      await insert(database, "a", { amount: 5 });
      await insert(database, "b");
      const where = sql<boolean>`name = ${parameter("name")}`;
      const write = database
        .connection()
        .writes.delete({ table: ROWS, where, key: "id", returning: ["name", "amount"] });
      const deleted = await allOf(atOnce(20, async () => write({ name: "a" })));
      assert.deepEqual(deleted.flat(), [{ name: "a", amount: 5 }]);
      assert.deepEqual(await names(database), ["b"]);
    },
  },
  {
    title: "a deletion with a limit deletes no more rows than that, and returns them",
    async run(database) {
      // The rows that don't match come first, both by key and by name.
      for (const name of ["0", "1"]) await insert(database, name, { amount: 1 });
      for (const name of ["a", "b", "c"]) await insert(database, name);
      await insert(database, "d", { amount: 1 });
      const write = deleteTwo(database);
      const [first, second, third] = [await write({}), await write({}), await write({})];
      assert.deepEqual([first.length, second.length, third.length], [2, 1, 0]);
      assert.deepEqual([...first, ...second].map(({ name }) => name).toSorted(), ["a", "b", "c"]);
      assert.deepEqual(await names(database), ["0", "1", "d"]);
    },
  },
  {
    title: "a deletion with a limit waits for a pending change of a row, and keeps the row if it no longer matches",
    async run(database) {
      const write = deleteTwo(database);
      // Several rounds, because the first ones may spend their time connecting.
      for (const name of ["a", "b", "c"]) {
        await insert(database, name);
        const changed = Promise.withResolvers<void>();
        const change = database.transaction(async () => {
          await database.kysely.updateTable(ROWS).set({ amount: 1 }).where("name", "=", name).execute();
          changed.resolve();
          for (let left = STATEMENTS_OF_A_WAIT; left > 0; left--) await names(database);
        });
        await changed.promise;
        const deleted = await write({});
        await change;
        assert.deepEqual(deleted, []);
        assert.equal(await amountOf(database, name), 1);
      }
    },
  },
  {
    title: "writes are part of the transaction they run in",
    async run(database) {
      const count = countUp(database);
      await count({ name: "a", by: 1 });
      const failure = await failureOf(
        database.transaction(async () => {
          await count({ name: "a", by: 1 });
          await claimAt(database)({ name: "a", now: 50, until: 60 });
          await claimAt(database)({ name: "b", now: 50, until: 60 });
          assert.deepEqual([await amountOf(database, "a"), await amountOf(database, "b")], [60, 60]);
          throw NO;
        }),
      );
      assert.equal(failure, NO);
      assert.deepEqual(await names(database), ["a"]);
      assert.equal(await amountOf(database, "a"), 1);
    },
  },
  {
    title: "a write that violates another constraint throws and changes nothing",
    async run(database) {
      await insert(database, "a", { amount: 5 });
      await insert(database, "b");
      const write = database.connection().writes.upsert({
        table: ROWS,
        values: { name: "b", amount: 1 },
        key: ["name"],
        changes: { name: "a", amount: 9 },
        changeIf: sql`${AMOUNT} = 0`,
        returning: ["id"],
      });
      const failure = await failureOf(Promise.resolve().then(() => write({})));
      assert.ok(failure instanceof UniqueViolationError, `it threw ${failure}`);
      assert.deepEqual([await amountOf(database, "a"), await amountOf(database, "b")], [5, 0]);
    },
  },
];

async function createDefaults({ kysely }: Database): Promise<void> {
  await kysely.schema
    .createTable("suite_defaults")
    .$call(primaryKey(kysely))
    .addColumn("amount", "integer", (column) => column.notNull().defaultTo(7))
    .execute();
}

/** Deletes at most two rows whose amount is 0. */
function deleteTwo(database: Database): PreparedStatement {
  const where = sql<boolean>`amount = 0`;
  return database.connection().writes.delete({ table: ROWS, where, limit: 2, key: "id", returning: ["name"] });
}

/** Inserts a note about the row with this name, if the row exists. */
function noteOn(database: Database): PreparedStatement {
  const { kysely, dialect } = database;
  const row = kysely.selectFrom(ROWS).select("id").where("name", "=", parameter("name"));
  return database.connection().writes.insert({
    table: NOTES,
    values: { row_id: row },
    onlyIf: sql`exists ${dialect.transactions.lockRows(row, "reference")}`,
    returning: ["row_id"],
  });
}

/** Adds to the amount in the row with a name, or inserts that row. */
function countUp(database: Database): PreparedStatement {
  return database.connection().writes.upsert({
    table: ROWS,
    values: { name: parameter("name"), amount: parameter("by") },
    key: ["name"],
    changes: { amount: sql`${AMOUNT} + ${parameter("by")}` },
    returning: ["amount"],
  });
}

/** Sets the amount in the row with a name, if the amount is in the past. */
function claimAt(database: Database): PreparedStatement {
  return database.connection().writes.upsert({
    table: ROWS,
    values: { name: parameter("name"), amount: parameter("until") },
    key: ["name"],
    changes: { amount: parameter("until") },
    changeIf: sql`${AMOUNT} <= ${parameter("now")}`,
    returning: ["amount"],
  });
}

async function allOf(results: Promise<PromiseSettledResult<Row[]>[]>): Promise<Row[][]> {
  const settled = await results;
  // Copied, because drivers return rows with different prototypes.
  return settled.map((result) =>
    result.status === "fulfilled" ? result.value.map((row) => ({ ...row })) : assert.fail(result.reason),
  );
}
