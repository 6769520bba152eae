import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type Database,
  Model,
  primaryKey,
  sql,
  type Tables,
  type Transaction,
  UniqueViolationError,
} from "../../src/database/index.ts";
import { onEachDatabase, schemaOf, type TestDatabase } from "../support/services.ts";

class Account extends Model {
  static override timestamps = false;
  declare id: number;
  declare name: string;
  declare balance: number;
}

/** Thrown to roll back a transaction. */
const NO = new Error("no");

await onEachDatabase("transactions", (engine) => {
  let own: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    // The last of many concurrent transactions waits for all the others.
    own = await engine.open({ acquireTimeoutMs: 600_000 });
    database = own.database;
    await database.kysely.schema
      .createTable("accounts")
      .$call(primaryKey(database.kysely))
      .addColumn("name", "varchar(255)", (column) => column.notNull().unique())
      .addColumn("balance", "integer", (column) => column.notNull().defaultTo(0))
      .execute();
    Model.useDatabase(database);
  });
  beforeEach(async () => {
    await database.kysely.deleteFrom("accounts").execute();
  });
  afterAll(() => own.drop());

  const names = async (): Promise<string[]> => (await Account.rows().orderBy("name").get()).map(({ name }) => name);

  test("a function that returns is committed, and its value is returned", async () => {
    const id = await database.transaction(async () => (await Account.create({ name: "a" })).id);
    expect((await Account.findOrFail(id)).name).toBe("a");
  });

  test("a function that throws is rolled back, and the error is thrown unchanged", async () => {
    const error = new Error("no");
    const attempt = database.transaction(async () => {
      await Account.create({ name: "a" });
      await database.kysely.insertInto("accounts").values({ name: "b" }).execute();
      expect(await names()).toEqual(["a", "b"]);
      throw error;
    });
    await expect(attempt).rejects.toBe(error);
    expect(await names()).toEqual([]);
  });

  test("a function that throws synchronously is rolled back too, and the connection is free again", async () => {
    const attempt = database.transaction(() => {
      throw new Error("at once");
    });
    await expect(attempt).rejects.toThrow("at once");
    expect(await names()).toEqual([]);
  });

  test("every query in it belongs to it: models, Kysely, SQL, and all called functions", async () => {
    const deep = async (): Promise<void> => {
      await nextTurn();
      await Account.create({ name: "deep" });
    };
    const attempt = database.transaction(async (trx) => {
      await Promise.all([deep(), Account.create({ name: "model" })]);
      await database.kysely.insertInto("accounts").values({ name: "kysely" }).execute();
      await database.connection().kysely.insertInto("accounts").values({ name: "connection" }).execute();
      await trx.insertInto("accounts").values({ name: "trx" }).execute();
      await sql`insert into accounts (name) values (${"sql"})`.execute(database.kysely);
      expect(await names()).toEqual(["connection", "deep", "kysely", "model", "sql", "trx"]);
      throw new Error("all of it");
    });
    await expect(attempt).rejects.toThrow("all of it");
    expect(await names()).toEqual([]);
  });

  test("its changes are invisible outside until it is committed", async () => {
    const gate = Promise.withResolvers<void>();
    let answered = false;
    // Started outside the transaction, so that it isn't part of it.
    const outside = gate.promise
      .then(() => Account.rows().count())
      .finally(() => {
        answered = true;
      });
    await database.transaction(async () => {
      await Account.create({ name: "a" });
      gate.resolve();
      expect(await outside).toBe(0);
      expect(answered).toBe(true);
      await Account.create({ name: "b" });
    });
    expect(await names()).toEqual(["a", "b"]);
  });

  test("inTransaction returns whether one is open", async () => {
    const connection = database.connection();
    expect(connection.inTransaction).toBe(false);
    expect(await database.transaction(async () => connection.inTransaction)).toBe(true);
    expect(await connection.reserved(async () => connection.inTransaction)).toBe(false);
    expect(connection.inTransaction).toBe(false);
  });

  test("Kysely's own transactions are the framework's", async () => {
    const { kysely } = database;
    const attempt = kysely.transaction().execute(async (trx) => {
      expect(trx.isTransaction).toBe(true);
      await trx.insertInto("accounts").values({ name: "a" }).execute();
      await Account.create({ name: "b" });
      expect(await names()).toEqual(["a", "b"]);
      throw NO;
    });
    await expect(attempt).rejects.toBe(NO);
    await kysely
      .withSchema(schemaOf({ ...engine, ...own }))
      .transaction()
      .setIsolationLevel("serializable")
      .setAccessMode("read write")
      .execute(async (trx) => {
        await trx.insertInto("accounts").values({ name: "c" }).execute();
      });
    expect(await names()).toEqual(["c"]);
    expect(() => kysely.startTransaction()).toThrow(expect.objectContaining({ code: "E_INVALID_QUERY" }));
  });

  test("Kysely's connection() uses one connection throughout, including for models", async () => {
    await database.kysely.connection().execute(async (one) => {
      await sql`create temporary table mine (n integer)`.execute(one);
      await one.insertInto("mine").values({ n: 1 }).execute();
      await Account.create({ name: "a" });
      expect(await database.kysely.selectFrom("mine").select("n").execute()).toEqual([{ n: 1 }]);
      await sql`drop table mine`.execute(one);
    });
    expect(await names()).toEqual(["a"]);
  });

  describe("nested", () => {
    test("the inner one fails on its own", async () => {
      await database.transaction(async () => {
        await Account.create({ name: "outer" });
        const inner = database.transaction(async () => {
          await Account.create({ name: "inner" });
          await Account.create({ name: "outer" });
        });
        await expect(inner).rejects.toBeInstanceOf(UniqueViolationError);
        await Account.create({ name: "after" });
      });
      expect(await names()).toEqual(["after", "outer"]);
    });

    test("the outer one rolls back the inner one", async () => {
      const attempt = database.transaction(async () => {
        await database.transaction(async () => {
          await database.transaction(() => Account.create({ name: "innermost" }));
          await Account.create({ name: "inner" });
        });
        expect(await names()).toEqual(["inner", "innermost"]);
        throw NO;
      });
      await expect(attempt).rejects.toBe(NO);
      expect(await names()).toEqual([]);
    });

    test("concurrent siblings do not undo each other", async () => {
      await database.transaction(async () => {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 10 }, (_, n) =>
            database.transaction(async () => {
              await Account.create({ name: `nested-${n}` });
              await nextTurn();
              if (n % 2 === 1) throw new Error("odd");
            }),
          ),
        );
        expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(5);
      });
      expect(await names()).toEqual(["nested-0", "nested-2", "nested-4", "nested-6", "nested-8"]);
    });

    test("a concurrent query of the outer one is not rolled back with the inner one", async () => {
      await database.transaction(async () => {
        const inner = database.transaction(async () => {
          await Account.create({ name: "inner" });
          await nextTurn();
          throw new Error("inner");
        });
        await Promise.all([expect(inner).rejects.toThrow("inner"), Account.create({ name: "outer" })]);
      });
      expect(await names()).toEqual(["outer"]);
    });

    test("a separate isolation level is refused", async () => {
      const attempt = database.transaction(() => database.transaction(async () => 1, { isolation: "serializable" }));
      await expect(attempt).rejects.toMatchObject({ code: "E_INVALID_QUERY" });
    });
  });

  test("a read-only transaction refuses writes, and later transactions can write however it ended", async () => {
    await Account.create({ name: "before" });
    const refused = { code: "E_DATABASE" };
    const attempt = database.transaction(() => Account.create({ name: "written" }), { readOnly: true });
    await expect(attempt).rejects.toMatchObject(refused);
    const nested = database.transaction(
      () => database.transaction(() => Account.rows().where("name", "=", "before").delete()),
      { readOnly: true },
    );
    await expect(nested).rejects.toMatchObject(refused);
    const byKysely = database.kysely.transaction().setAccessMode("read only");
    const updating = byKysely.execute((trx) => trx.updateTable("accounts").set({ name: "changed" }).execute());
    await expect(updating).rejects.toMatchObject(refused);
    expect(await names()).toEqual(["before"]);
    expect(await database.transaction(names, { readOnly: true })).toEqual(["before"]);
    await database.transaction(() => Account.create({ name: "later" }));
    await Account.create({ name: "on its own" });
    expect(await names()).toEqual(["before", "later", "on its own"]);
  });

  // SQLite has only one isolation level; sqlite-dialect.test.ts tests what a read-only transaction saves.
  if (engine.name === "postgres") {
    test("the requested isolation level and access mode apply", async () => {
      const current = async (trx: Transaction<Tables>): Promise<string> => {
        const { rows } = await sql<Record<string, string>>`
          select current_setting('transaction_isolation') as isolation, current_setting('transaction_read_only') as read_only
        `.execute(trx);
        return `${rows[0]!.isolation}, ${rows[0]!.read_only}`;
      };
      const inForce = (options: Parameters<typeof database.transaction>[1]): Promise<string> =>
        database.transaction(current, options);
      expect(await inForce({})).toBe("read committed, off");
      expect(await inForce({ isolation: "serializable" })).toBe("serializable, off");
      expect(await inForce({ isolation: "repeatable read", readOnly: true })).toBe("repeatable read, on");
      const byKysely = database.kysely.transaction().setAccessMode("read only").setIsolationLevel("serializable");
      expect(await byKysely.execute(current)).toBe("serializable, on");
      expect(await byKysely.setAccessMode("read write").execute(current)).toBe("serializable, off");
    });
  }

  test("statements started on a reserved connection and not awaited finish before the next user gets it", async () => {
    const small = await engine.open(engine.name === "sqlite" ? {} : { poolSize: 1 });
    const connection = small.database.connection();
    const add = (n: number) => sql`insert into things values (${n})`.execute(small.database.kysely);
    await sql`create table things (n integer)`.execute(small.database.kysely);
    let started: Promise<unknown>[] = [];
    await connection.reserved(() => {
      started = [add(1), add(2), add(3)];
    });
    const attempt = small.database.transaction(async () => {
      await Promise.all(started);
      throw NO;
    });
    await expect(attempt).rejects.toBe(NO);
    const { rows } = await sql<{ n: number }>`select n from things order by n`.execute(small.database.kysely);
    expect(rows.map(({ n }) => n)).toEqual([1, 2, 3]);
    await small.drop();
  });

  test.each(["was committed", "was rolled back"])(
    "a statement that a transaction left running does not run in the next one, after it %s",
    async (how) => {
      const gate = Promise.withResolvers<void>();
      let left: Promise<unknown> | null = null;
      const first = database.transaction(async () => {
        left = gate.promise.then(() => Account.create({ name: "left" }));
        if (how === "was rolled back") throw NO;
      });
      await first.catch((error: unknown) => expect(error).toBe(NO));
      const attempt = database.transaction(async () => {
        gate.resolve();
        await nextTurn();
        throw NO;
      });
      await expect(attempt).rejects.toBe(NO);
      await left;
      expect(await names()).toEqual(["left"]);
    },
  );

  test("a statement that is running when the function ends is part of the transaction", async () => {
    const attempt = database.transaction(async () => {
      const started = ["d", "e"].map((name) => database.kysely.insertInto("accounts").values({ name }).execute());
      await started[0];
      throw NO;
    });
    await expect(attempt).rejects.toBe(NO);
    expect(await names()).toEqual([]);
  });

  test("each of 50 interleaved transactions and plain queries is either complete or absent", async () => {
    const bank = await Account.create({ name: "bank", balance: 0 });
    const add = sql<number>`balance + 1`;
    const addOne = () =>
      database.kysely.updateTable("accounts").set({ balance: add }).where("id", "=", bank.id).execute();
    const tasks = Array.from({ length: 50 }, async (_, n) => {
      const plain = addOne();
      const transaction = database
        .transaction(async () => {
          await addOne();
          await nextTurn();
          await Account.create({ name: `t${n}` });
          await database.transaction(addOne);
          if (n % 5 === 0) throw new Error("every fifth");
          await addOne();
        })
        .catch((error: Error) => expect(error.message).toBe("every fifth"));
      const other = Account.create({ name: `p${n}` });
      await Promise.all([plain, transaction, other, Account.where("name", "bank").count()]);
    });
    await Promise.all(tasks);
    await bank.refresh();
    expect(bank.balance).toBe(50 + 40 * 3);
    expect(await Account.where("name", "like", "p%").count()).toBe(50);
    expect(await Account.where("name", "like", "t%").count()).toBe(40);
  });

  test("of 40 concurrent conditional updates, exactly one succeeds", async () => {
    const { id } = await Account.create({ name: "digest-0" });
    const won = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        Account.where("id", id)
          .where("name", "digest-0")
          .update({ name: `digest-${n + 1}` }),
      ),
    );
    expect(won.filter((rows) => rows === 1)).toHaveLength(1);
    expect(won.filter((rows) => rows === 0)).toHaveLength(39);
    expect((await Account.findOrFail(id)).name).toBe(`digest-${won.indexOf(1) + 1}`);
  });

  test("of 20 concurrent inserts with the same unique value, exactly one succeeds", async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => Account.create({ name: "only" })));
    const errors = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    expect(errors).toHaveLength(19);
    for (const error of errors) expect(error).toMatchObject({ code: "E_UNIQUE_VIOLATION", column: "name" });
    expect(await names()).toEqual(["only"]);
  });

  test("two applications on one database do not lose each other's writes", async () => {
    const second = await import("../../src/database/index.ts").then(
      ({ Database: Another }) => new Another({ default: "main", main: own.configuration }, "/"),
    );
    const { id } = await Account.create({ name: "shared" });
    const addOne = (to: Database) =>
      to.transaction(async (trx) => {
        const row = trx.selectFrom("accounts").select("balance").where("id", "=", id);
        const { balance } = await (engine.name === "sqlite" ? row : row.forUpdate()).executeTakeFirstOrThrow();
        await trx
          .updateTable("accounts")
          .set({ balance: balance + 1 })
          .where("id", "=", id)
          .execute();
      });
    // One after the other on SQLite, because both run in one thread here, and the second would block it while waiting
    // for the first.
    for (let n = 0; n < 10; n++) {
      if (engine.name === "sqlite") for (const one of [database, second]) await addOne(one);
      else await Promise.all([addOne(database), addOne(second)]);
    }
    await second.close();
    expect((await Account.findOrFail(id)).balance).toBe(20);
  });

  test("waiting for a connection times out, so that a deadlock becomes an error", async () => {
    const impatient = await engine.open({
      acquireTimeoutMs: 100,
      ...(engine.name !== "sqlite" && { poolSize: 1 }),
    });
    // Connect first, because connecting has the same limit and may take longer; only waiting for the pool should time
    // out.
    await expect
      .poll(() =>
        impatient.database.connect().then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    const outside = Promise.withResolvers<void>();
    // Started outside the transaction, awaited inside it. On SQLite it has to write, because reads don't wait for
    // transactions.
    const statement = engine.name === "sqlite" ? sql`create table never_made (n integer)` : sql`select 1`;
    const query = outside.promise.then(() => statement.execute(impatient.database.kysely));
    query.catch(() => undefined);
    const attempt = impatient.database.transaction(async () => {
      outside.resolve();
      await query;
    });
    await expect(attempt).rejects.toMatchObject({ code: "E_OVERLOADED", status: 503 });
    expect((await sql`select 1 as one`.execute(impatient.database.kysely)).rows).toEqual([{ one: 1 }]);
    await impatient.drop();
  });

  test("close waits for the running transaction, and then nothing runs", async () => {
    const closing = await engine.open();
    await sql`create table things (n integer)`.execute(closing.database.kysely);
    const gate = Promise.withResolvers<void>();
    const transaction = closing.database.transaction(async () => {
      await sql`insert into things values (1)`.execute(closing.database.kysely);
      await gate.promise;
      await sql`insert into things values (2)`.execute(closing.database.kysely);
      return "committed";
    });
    await nextTurn();
    const closed = closing.database.close();
    gate.resolve();
    expect(await transaction).toBe("committed");
    await closed;
    await expect(sql`select 1`.execute(closing.database.kysely)).rejects.toMatchObject({ code: "E_DATABASE" });
    await closing.drop();
  });
});
