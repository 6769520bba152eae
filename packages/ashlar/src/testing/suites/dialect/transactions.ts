import assert from "node:assert/strict";
import { type Database, UniqueViolationError } from "../../../database/index.ts";
import { AshlarError } from "../../../support/index.ts";
import {
  amountOf,
  atOnce,
  type DialectTest,
  failureOf,
  insert,
  MANY,
  names,
  ROWS,
  STATEMENTS_OF_A_WAIT,
} from "./dialect-test.ts";

const NO = new Error("The transaction is to be rolled back.");

export const TRANSACTIONS: readonly DialectTest[] = [
  {
    title: "a transaction stores everything if it returns, and nothing if it throws",
    async run(database) {
      await database.transaction(async () => {
        await insert(database, "a");
        await insert(database, "b");
      });
      const failure = await failureOf(
        database.transaction(async () => {
          await insert(database, "c");
          assert.deepEqual(await names(database), ["a", "b", "c"]);
          throw NO;
        }),
      );
      assert.equal(failure, NO);
      assert.deepEqual(await names(database), ["a", "b"]);
    },
  },
  {
    title: "a transaction's changes are not visible outside of it before the commit",
    async run(database) {
      const [opened, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const rolledBack = failureOf(
        database.transaction(async () => {
          await insert(database, "a");
          opened.resolve();
          await end.promise;
          throw NO;
        }),
      );
      await opened.promise;
      // This may either return immediately, without the row, or wait for the transaction to end.
      const seen = names(database);
      end.resolve();
      assert.equal(await rolledBack, NO);
      assert.deepEqual(await seen, []);
    },
  },
  {
    title: "a nested transaction can fail on its own",
    async run(database) {
      await database.transaction(async () => {
        await insert(database, "a");
        const failure = await failureOf(
          database.transaction(async () => {
            await insert(database, "b");
            throw NO;
          }),
        );
        assert.equal(failure, NO);
        await insert(database, "c");
      });
      assert.deepEqual(await names(database), ["a", "c"]);
    },
  },
  {
    title: "after a failed statement in a nested transaction, the outer one continues",
    async run(database) {
      await insert(database, "a");
      await database.transaction(async () => {
        const failure = await failureOf(database.transaction(() => insert(database, "a")));
        assert.ok(failure instanceof UniqueViolationError, `it threw ${failure}`);
        await insert(database, "b");
      });
      assert.deepEqual(await names(database), ["a", "b"]);
    },
  },
  {
    title: "a commit after a failed statement stores everything else, or throws and stores nothing",
    async run(database) {
      await insert(database, "a");
      const failure = await failureOf(
        database.transaction(async () => {
          await insert(database, "b");
          await failureOf(insert(database, "a"));
        }),
      );
      if (database.dialect.transactions.failureEndsTransaction) {
        assert.ok(failure instanceof AshlarError, "failureEndsTransaction is set, and the transaction returned");
        assert.deepEqual(await names(database), ["a"]);
      } else {
        assert.equal(failure, null);
        assert.deepEqual(await names(database), ["a", "b"]);
      }
    },
  },
  {
    title: "rows that are locked against changes are read by one transaction at a time",
    async run(database) {
      await insert(database, "a");
      const results = await atOnce(10, () => database.transaction(() => raise(database)));
      assert.deepEqual(
        results.filter(({ status }) => status === "rejected"),
        [],
      );
      assert.equal(await amountOf(database, "a"), 10);
    },
  },
  {
    title: "a read-only transaction can read and refuses writes, and later transactions can write",
    async run(database) {
      await insert(database, "a");
      assert.deepEqual(await database.transaction(() => names(database), { readOnly: true }), ["a"]);
      for (let round = 0; round < 2; round++) {
        const failure = await failureOf(database.transaction(() => insert(database, "b"), { readOnly: true }));
        assert.ok(isDatabaseError(failure), `a row that was inserted in a read-only transaction threw ${failure}`);
      }
      assert.deepEqual(await names(database), ["a"]);
      await database.transaction(() => insert(database, "c"));
      await insert(database, "d");
      assert.deepEqual(await names(database), ["a", "c", "d"]);
    },
  },
  {
    title: "concurrent serializable transactions store what they would store one after the other",
    async run(database) {
      // Several rounds, because the first ones may spend their time connecting.
      for (let round = 0; round < 5; round++) {
        const before = await names(database);
        let seen = 0;
        const results = await atOnce(2, (index) =>
          database.transaction(
            async () => {
              const amount = (await names(database)).length;
              seen++;
              // If the other transaction has to wait for this one, this one continues alone.
              for (let left = STATEMENTS_OF_A_WAIT; left > 0 && seen < 2; left--) await names(database);
              await insert(database, `row ${round}.${index}`, { amount });
            },
            { isolation: "serializable" },
          ),
        );
        for (const result of results) {
          if (result.status === "rejected")
            assert.ok(result.reason instanceof AshlarError, `it threw ${result.reason}`);
        }
        const { length } = await names(database);
        assert.ok(length > before.length, "neither of two transactions was stored");
      }
      const rows = await database.kysely.selectFrom(ROWS).select("amount").orderBy("amount").execute();
      assert.deepEqual(
        rows.map(({ amount }) => Number(amount)),
        rows.map((_, index) => index),
        "two transactions have counted the same rows, and both were stored: the isolation level was ignored",
      );
    },
  },
  {
    title: "a caller waits for a connection only as long as the limit, and a caller with a connection continues",
    isImpatient: true,
    async run(database) {
      const refused = Promise.withResolvers<void>();
      const results = atOnce(MANY, (index) =>
        database
          .transaction(async () => {
            await refused.promise;
            await insert(database, `row ${index}`);
          })
          .catch((error: unknown) => {
            refused.resolve();
            throw error;
          }),
      );
      const failures = (await results).flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
      assert.ok(
        failures.length > 0,
        `${MANY} transactions were open at the same time: use fewer connections for the tests`,
      );
      const codes = new Set(failures.map((error) => (error as AshlarError).code));
      assert.deepEqual([...codes], ["E_OVERLOADED"]);
      assert.equal((await names(database)).length, MANY - failures.length);
    },
  },
];

function isDatabaseError(error: unknown): boolean {
  return error instanceof AshlarError && error.code === "E_DATABASE";
}

async function raise({ kysely, dialect }: Database): Promise<void> {
  const query = kysely.selectFrom(ROWS).select("amount").where("name", "=", "a");
  const { amount } = await dialect.transactions.lockRows(query, "change").executeTakeFirstOrThrow();
  // Gives other transactions time to interfere.
  await new Promise((resolve) => setTimeout(resolve, 1));
  await kysely
    .updateTable(ROWS)
    .set({ amount: Number(amount) + 1 })
    .where("name", "=", "a")
    .execute();
}
