import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { CompiledQuery, sql } from "kysely";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { Database } from "../connections/database.ts";
import type { QueryBuilder } from "../dialect/tables.ts";
import { runAwaited } from "./migration-statements.ts";

let database: Database;

beforeEach(async () => {
  database = new Database({ default: "memory", memory: { driver: "sqlite", path: ":memory:" } }, "/");
  await database.kysely.schema.createTable("things").addColumn("n", "integer").execute();
});
afterEach(() => database.close());

const run = <T>(task: (kysely: QueryBuilder) => Promise<T>): Promise<T> =>
  runAwaited((check) => database.connection().guardedKysely(check), task);
const count = async (): Promise<number> => (await database.kysely.selectFrom("things").selectAll().execute()).length;

test("returns the function's result, and rethrows its error", async () => {
  expect(await run(async (kysely) => await kysely.insertInto("things").values({ n: 1 }).execute())).toHaveLength(1);
  const error = new Error("no");
  const failing = run(async () => {
    throw error;
  });
  await expect(failing).rejects.toBe(error);
});

test("S67 the failure of a dropped statement is reported to the caller, and not to the process's listeners", async () => {
  const rejections: unknown[] = [];
  const listener = (reason: unknown): void => void rejections.push(reason);
  process.on("unhandledRejection", listener);
  onTestFinished(() => void process.off("unhandledRejection", listener));
  const before = process.listenerCount("unhandledRejection");
  const attempt = run(async (kysely) => {
    kysely.insertInto("nowhere").values({ n: 1 }).execute();
    for (let n = 0; n < 3; n++) await kysely.insertInto("things").values({ n }).execute();
  });
  await expect(attempt).rejects.toMatchObject({
    code: "E_MIGRATION",
    message: expect.stringContaining('not awaited: insert into "nowhere"'),
  });
  await nextTurn();
  expect([rejections, process.listenerCount("unhandledRejection")]).toEqual([[], before]);
});

test("S67 a helper that continues after the function has returned cannot change anything", async () => {
  const gate = Promise.withResolvers<void>();
  let helper: Promise<unknown> = Promise.resolve();
  const attempt = run(async (kysely) => {
    helper = (async () => {
      await gate.promise;
      await kysely.insertInto("things").values({ n: 1 }).execute();
    })().catch((error: unknown) => error);
  });
  await attempt;
  gate.resolve();
  expect(await helper).toMatchObject({
    code: "E_MIGRATION",
    message: "The migration's function has already returned.",
  });
  expect(await count()).toBe(0);
});

test("S67 a rejection that is not the migration's is left to the process's listeners", async () => {
  const rejections: unknown[] = [];
  const listener = (reason: unknown): void => void rejections.push(reason);
  process.on("unhandledRejection", listener);
  onTestFinished(() => void process.off("unhandledRejection", listener));
  const other = new Error("other");
  const done = run(async (kysely) => {
    void Promise.reject(other);
    await kysely.insertInto("things").values({ n: 1 }).execute();
    await nextTurn();
    return "done";
  });
  expect(await done).toBe("done");
  expect(rejections).toEqual([other]);
});

test("S67 a dropped helper whose statement has already failed is reported with the failure", async () => {
  const attempt = run(async (kysely) => {
    void (async () => await kysely.insertInto("nowhere").values({ n: 1 }).execute())();
    for (let n = 0; n < 3; n++) await kysely.insertInto("things").values({ n }).execute();
  });
  await expect(attempt).rejects.toMatchObject({
    code: "E_MIGRATION",
    message: expect.stringMatching(
      /^A statement was not awaited\. Write "await" before it\. It failed: .*no such table: nowhere/,
    ),
  });
});

test("settings of a Kysely transaction are kept", async () => {
  const seen: string[] = [];
  const end = database.onQuery(({ sql }) => seen.push(sql));
  await run(
    async (kysely) =>
      await kysely
        .transaction()
        .setAccessMode("read only")
        .execute(async () => {}),
  );
  end();
  expect(seen).toEqual(["begin", "commit"]);
});

test("S67 a rejection that is not the migration's, and has no listener, is rethrown", async () => {
  const listeners = process.rawListeners("unhandledRejection") as (() => void)[];
  const other = new Error("other");
  await run(async () => {
    for (const listener of listeners) process.off("unhandledRejection", listener);
    try {
      // Like Node calls the listeners.
      expect(() => process.emit("unhandledRejection", other, Promise.resolve())).toThrow(other);
    } finally {
      for (const listener of listeners) process.on("unhandledRejection", listener);
    }
  });
});

test("S67 a rejection that is not the migration's, and has no listener, ends the process", async () => {
  const script = join(tmpdir(), `ashlar-rejection-${process.pid}.ts`);
  await writeFile(
    script,
    `import { setImmediate as nextTurn } from "node:timers/promises";
     import { runAwaited } from "${import.meta.dirname}/migration-statements.ts";
     await runAwaited(() => ({}), async () => {
       void Promise.reject(new Error("other"));
       await nextTurn();
       await nextTurn();
     });
     console.log("It continued.");`,
  );
  const run = promisify(execFile)(process.execPath, [script]).finally(() => rm(script));
  await expect(run).rejects.toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Error: other") });
});

test.each<[string, (kysely: QueryBuilder) => unknown, string]>([
  [
    "a builder",
    (kysely) => kysely.insertInto("things").values({ n: 1 }).execute(),
    ': insert into "things" ("n") values (?)',
  ],
  ["raw SQL", (kysely) => sql`insert into things values (${7})`.execute(kysely), ": insert into things values (?)"],
  [
    "a compiled statement",
    (kysely) => kysely.executeQuery(CompiledQuery.raw("insert into things values (1)")),
    ": insert into things values (1)",
  ],
  ["a transaction of Kysely's", (kysely) => kysely.transaction().execute(async () => {}), ""],
  [
    "what is in a transaction of Kysely's",
    (kysely) =>
      kysely.transaction().execute(async (trx) => {
        void trx.deleteFrom("things").execute();
      }),
    "",
  ],
])("S67 %s that was dropped is reported, without its values", async (_, drop, named) => {
  const attempt = run(async (kysely) => void drop(kysely));
  await expect(attempt).rejects.toMatchObject({
    code: "E_MIGRATION",
    message: `A statement was not awaited${named}. Write "await" before it.`,
  });
});

test("S67 a statement dropped in a Kysely transaction or connection is detected, even if that scope was awaited", async () => {
  const scopes = [
    (kysely: QueryBuilder) => kysely.transaction(),
    (kysely: QueryBuilder) => kysely.connection(),
  ] as readonly ((kysely: QueryBuilder) => { execute<T>(task: (one: QueryBuilder) => Promise<T>): Promise<T> })[];
  for (const scope of scopes) {
    const attempt = run(async (kysely) => {
      await scope(kysely).execute(async (one) => void one.deleteFrom("things").execute());
    });
    await expect(attempt).rejects.toThrow('not awaited: delete from "things"');
    expect(await run((kysely) => scope(kysely).execute(async () => "given"))).toBe("given");
  }
});

test("a value thrown by a transaction's function is rethrown, even if it is not an error", async () => {
  const thrown = await run(async (kysely) => {
    await kysely.transaction().execute(() => Promise.reject("just text"));
  }).catch((error: unknown) => error);
  expect(thrown).toBe("just text");
});

test.each([0, 100])(
  "S67 one of which only the errors are handled is detected, %i microtasks later too",
  async (more) => {
    const attempt = run(async (kysely) => {
      kysely
        .insertInto("things")
        .values({ n: 1 })
        .execute()
        .catch(() => undefined);
      // On another database, the statement would still be running.
      for (let n = 0; n < more; n++) await Promise.resolve();
    });
    await expect(attempt).rejects.toThrow('not awaited: insert into "things"');
  },
);

test("S67 a dropped helper's only statement is awaited, and its failure reported", async () => {
  const attempt = run(async (kysely) => {
    void (async () => await kysely.insertInto("nowhere").values({ n: 1 }).execute())();
  });
  await expect(attempt).rejects.toThrow(/not awaited: insert into "nowhere".* It failed: .*no such table/);
});

test("an error of an awaited statement is reported unchanged, while others of Promise.all are still running", async () => {
  const insert = (kysely: QueryBuilder, table: string) => kysely.insertInto(table).values({ n: 1 }).execute();
  const attempt = run(async (kysely) => {
    await Promise.all([insert(kysely, "nowhere"), insert(kysely, "things"), insert(kysely, "things")]);
  });
  await expect(attempt).rejects.toMatchObject({ code: "E_DATABASE", message: expect.stringContaining("nowhere") });
});

test("a custom error for a query without a row is thrown unchanged", async () => {
  class Missing extends Error {
    constructor() {
      super("missing");
    }
  }
  const attempt = run((kysely) => kysely.selectFrom("things").selectAll().executeTakeFirstOrThrow(Missing));
  await expect(attempt).rejects.toBeInstanceOf(Missing);
});

test("a value that is not a builder is returned unchanged", async () => {
  const seen = await run(async (kysely) => [kysely.isTransaction, kysely.getExecutor().plugins]);
  expect(seen).toEqual([false, []]);
});
