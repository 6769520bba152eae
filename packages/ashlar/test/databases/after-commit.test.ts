import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Database, primaryKey } from "../../src/database/index.ts";
import { Events } from "../../src/events/index.ts";
import { Background } from "../../src/kernel/index.ts";
import { UnitOfWork } from "../../src/support/index.ts";
import { onEachDatabase, type TestDatabase } from "../support/services.ts";

declare module "../../src/events/event-map.ts" {
  interface EventMap {
    "test.committed": { readonly id: number };
  }
}

/** Thrown to roll back a transaction. */
const NO = new Error("no");

await onEachDatabase("after the commit", (engine) => {
  let own: TestDatabase;
  let database: Database;
  let done: string[];
  let failures: unknown[];

  beforeAll(async () => {
    own = await engine.open();
    database = own.database;
    const { kysely } = database;
    await kysely.schema
      .createTable("orders")
      .$call(primaryKey(kysely))
      .addColumn("name", "varchar(255)", (column) => column.notNull())
      .execute();
    database.onFailedWork((error) => failures.push(error));
  });
  beforeEach(async () => {
    done = [];
    failures = [];
    await database.kysely.deleteFrom("orders").execute();
  });
  afterAll(() => own.drop());

  const place = (name: string) => database.kysely.insertInto("orders").values({ name }).execute();
  const later = (what: string) => void database.afterCommit(() => void done.push(what));
  const refused = (task: () => Promise<unknown>) => expect(database.transaction(task)).rejects.toBe(NO);

  test("work runs at once outside a transaction, and its promise is awaited", async () => {
    const finished = database.afterCommit(async () => {
      done.push("began");
      await nextTurn();
      done.push("ended");
    });
    expect(done).toEqual(["began"]);
    await finished;
    expect(done).toEqual(["began", "ended"]);
  });

  test("work waits for the commit, runs in order, and sees what was stored", async () => {
    await database.transaction(async () => {
      later("first");
      void database.afterCommit(async () => {
        done.push(database.connection().inTransaction ? "inside" : "outside");
        const rows = await database.kysely.selectFrom("orders").selectAll().execute();
        done.push(`${rows.length} stored`);
      });
      later("third");
      await place("a");
      await nextTurn();
      expect(done).toEqual([]);
    });
    // The transaction waited for the work as well.
    expect(done).toEqual(["first", "outside", "third", "1 stored"]);
  });

  test("work is dropped on a rollback", async () => {
    await refused(async () => {
      later("never");
      await place("a");
      throw NO;
    });
    await database.transaction(() => later("the next"));
    expect(done).toEqual(["the next"]);
  });

  test("awaiting it in a transaction doesn't wait for the commit", async () => {
    await database.transaction(async () => {
      await database.afterCommit(() => void done.push("work"));
      done.push("transaction");
    });
    expect(done).toEqual(["transaction", "work"]);
  });

  test("a nested transaction's work waits for the outermost commit", async () => {
    await database.transaction(async () => {
      later("before");
      await database.transaction(async () => {
        await place("a");
        later("nested");
      });
      expect(done).toEqual([]);
      later("after");
    });
    expect(done).toEqual(["before", "nested", "after"]);
  });

  test("a nested transaction that is rolled back takes only its own work with it", async () => {
    await database.transaction(async () => {
      later("before");
      await refused(async () => {
        later("nested");
        await database.transaction(() => later("deeper"));
        throw NO;
      });
      later("after");
    });
    expect(done).toEqual(["before", "after"]);
  });

  test("a released savepoint's work is dropped with the surrounding transaction", async () => {
    await refused(async () => {
      await database.transaction(() => later("nested"));
      throw NO;
    });
    expect(done).toEqual([]);
  });

  test("work may write and open a transaction, although the pool has only one writing connection", async () => {
    await database.transaction(async () => {
      void database.afterCommit(() => database.transaction(async () => void (await place("b"))));
      await place("a");
    });
    const rows = await database.kysely.selectFrom("orders").select("name").orderBy("name").execute();
    expect(rows).toEqual([{ name: "a" }, { name: "b" }]);
  });

  test("failing work is reported, and fails neither the transaction nor other work", async () => {
    const result = await database.transaction(async () => {
      void database.afterCommit(() => {
        throw new Error("at once");
      });
      void database.afterCommit(() => Promise.reject(new Error("later")));
      later("other work");
      await place("a");
      return "committed";
    });
    expect([result, done, failures]).toEqual(["committed", ["other work"], [new Error("at once"), new Error("later")]]);
    await database.afterCommit(() => Promise.reject(new Error("outside")));
    expect(failures.at(-1)).toEqual(new Error("outside"));
  });

  test("concurrent transactions each run their own work", async () => {
    const one = async (id: number) => {
      await database.transaction(async () => {
        await place(`order ${id}`);
        later(`order ${id}`);
        await nextTurn();
        if (id % 2 === 0) throw NO;
      });
    };
    await Promise.allSettled(Array.from({ length: 10 }, (_, id) => one(id)));
    expect(done.sort()).toEqual([1, 3, 5, 7, 9].map((id) => `order ${id}`));
  });

  test("code that a committed transaction left running is outside it", async () => {
    const gate = Promise.withResolvers<void>();
    let left: Promise<void> = Promise.resolve();
    await database.transaction(() => {
      left = gate.promise.then(() => later("left running"));
    });
    gate.resolve();
    await left;
    expect(done).toEqual(["left running"]);
  });

  test("code that is still running while its transaction is rolled back is outside it", async () => {
    let left: Promise<void> = Promise.resolve();
    await refused(async () => {
      const unit = UnitOfWork.current!;
      left = place("a").then(() => {
        done.push(unit.isOpen ? "open" : "given up");
        later("left running");
      });
      // The rollback waits for this one as well.
      void place("b");
      throw NO;
    });
    await left;
    expect(done).toEqual(["given up", "left running"]);
  });

  test("work that a transaction must await is part of it, as is the work that it adds, and its failure fails it", async () => {
    const inside: boolean[] = [];
    const slow = async (name: string, next?: () => Promise<unknown>): Promise<void> => {
      await nextTurn();
      inside.push(database.connection().inTransaction);
      await place(name);
      if (next !== undefined) UnitOfWork.current!.awaitBeforeCommit(next());
    };
    const names = async () => {
      const rows = await database.kysely.selectFrom("orders").select("name").orderBy("name").execute();
      return rows.map(({ name }) => name);
    };
    await database.transaction(() => UnitOfWork.current!.awaitBeforeCommit(slow("a", () => slow("b"))));
    expect([inside, await names()]).toEqual([
      [true, true],
      ["a", "b"],
    ]);
    const failing = async (): Promise<void> => {
      await nextTurn();
      throw NO;
    };
    await refused(async () => UnitOfWork.current!.awaitBeforeCommit(slow("c", failing)));
    // A nested one waits, and fails, on its own.
    await database.transaction(async () => {
      await place("d");
      await refused(async () => UnitOfWork.current!.awaitBeforeCommit(slow("e", failing)));
      await database.transaction(() => UnitOfWork.current!.awaitBeforeCommit(slow("f")));
      expect(await names()).toEqual(["a", "b", "d", "f"]);
    });
    expect(await names()).toEqual(["a", "b", "d", "f"]);
  });

  describe("events", () => {
    const listening = () => {
      const events = new Events({ error: (details) => failures.push(details) });
      events.on("test.committed", ({ id }) => {
        done.push(`event ${id} ${database.connection().inTransaction ? "inside" : "outside"}`);
      });
      return events;
    };

    test("an event waits for the commit, and awaiting it doesn't block the transaction", async () => {
      const events = listening();
      await database.transaction(async () => {
        await events.emit("test.committed", { id: 1 });
        done.push("emitted");
        await place("a");
      });
      await events.settled();
      expect(done).toEqual(["emitted", "event 1 outside"]);
    });

    test("an event never happens if its transaction, or its savepoint, is rolled back", async () => {
      const events = listening();
      await refused(async () => {
        void events.emit("test.committed", { id: 1 });
        throw NO;
      });
      await database.transaction(async () => {
        await refused(async () => {
          void events.emit("test.committed", { id: 2 });
          throw NO;
        });
        void events.emit("test.committed", { id: 3 });
      });
      await events.settled();
      expect(done).toEqual(["event 3 outside"]);
    });
  });

  test("a background job waits for the commit, and is dropped on a rollback", async () => {
    const background = new Background({ error: (details: object) => failures.push(details) } as never);
    const job = (name: string) => background.run(name, async () => void done.push(name));
    await refused(async () => {
      job("rolled back");
      throw NO;
    });
    expect(background.pending).toBe(0);
    await database.transaction(async () => {
      job("committed");
      await nextTurn();
      await nextTurn();
      expect(done).toEqual([]);
    });
    await background.settled();
    expect(done).toEqual(["committed"]);
  });
});

await onEachDatabase("after the commit of two databases", (engine) => {
  test("work in a transaction inside another database's waits for both, and is dropped with either", async () => {
    const [outer, inner] = await Promise.all([engine.open(), engine.open()]);
    try {
      const done: string[] = [];
      const nested = (what: string) =>
        inner.database.transaction(() => void inner.database.afterCommit(() => void done.push(what)));
      await outer.database.transaction(async () => {
        await nested("committed");
        expect(done).toEqual([]);
      });
      const attempt = outer.database.transaction(async () => {
        await nested("rolled back");
        throw NO;
      });
      await expect(attempt).rejects.toBe(NO);
      expect(done).toEqual(["committed"]);
    } finally {
      await Promise.all([outer.drop(), inner.drop()]);
    }
  });
});
