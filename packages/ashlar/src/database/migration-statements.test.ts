import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { Database } from "./database.ts";
import { runAwaited } from "./migration-statements.ts";
import type { QueryBuilder } from "./tables.ts";

let database: Database;

beforeEach(async () => {
  database = new Database({ default: "memory", memory: { driver: "sqlite", path: ":memory:" } }, "/");
  await database.kysely.schema.createTable("things").addColumn("n", "integer").execute();
});
afterEach(() => database.close());

const run = <T>(task: (kysely: QueryBuilder) => Promise<T>): Promise<T> =>
  runAwaited((check) => database.connection().guardedKysely(check), task);
const count = async (): Promise<number> => (await database.kysely.selectFrom("things").selectAll().execute()).length;

test("gives what the function gives, and throws what it throws", async () => {
  expect(await run(async (kysely) => await kysely.insertInto("things").values({ n: 1 }).execute())).toHaveLength(1);
  const error = new Error("no");
  const failing = run(async () => {
    throw error;
  });
  await expect(failing).rejects.toBe(error);
});

test("S67 a dropped statement that fails is told here, and to none of the process's listeners", async () => {
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

test("S67 a helper that goes on after the function has returned changes nothing any more", async () => {
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
    message: "The migration's function has returned already.",
  });
  expect(await count()).toBe(0);
});

test("S67 a rejection that is none of the migration's is left to the process's listeners", async () => {
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

test("S67 a rejection that is none of the migration's, and nobody listens for, ends the process", async () => {
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
     console.log("It went on.");`,
  );
  const run = promisify(execFile)(process.execPath, [script]).finally(() => rm(script));
  await expect(run).rejects.toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Error: other") });
});
