import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { sleeps } from "../../../test/support/sleeps.ts";
import { Database } from "../connections/database.ts";
import type { Row } from "../dialect/executor.ts";
import { type BatchTable, deleteInBatches, visitInBatches } from "./batches.ts";

let database: Database;
let notes: BatchTable;
/** Each statement in short: its verb, and the number of keys in it. */
let asked: string[];

beforeEach(async () => {
  database = new Database({ default: "memory", memory: { driver: "sqlite", path: ":memory:" } }, "/");
  const { kysely } = database;
  const table = kysely.schema.createTable("notes").addColumn("key", "text", (column) => column.primaryKey());
  await table.addColumn("age", "integer").addColumn("text", "text").execute();
  notes = { kysely, table: "notes", key: "key" };
  asked = [];
  database.onQuery(({ sql }) => {
    const keys = /in \(([?, ]+)\)/.exec(sql)?.[1]?.split(",").length;
    asked.push([sql.split(" ")[0], keys].join(" ").trim());
  });
});
afterEach(() => database.close());

const keyOf = (n: number): string => String(n).padStart(5, "0");

/** Stores this many rows with an age, the largest keys first. */
async function store(count: number, age: number, from = 0): Promise<void> {
  const values = Array.from({ length: count }, (_, n) => ({ key: keyOf(from + n), age, text: `note ${from + n}` }));
  await database.kysely.insertInto("notes").values(values.reverse()).execute();
  asked.length = 0;
}

const left = async (): Promise<number> => (await database.kysely.selectFrom("notes").select("key").execute()).length;
const deleteOld = (signal?: AbortSignal): Promise<number> => deleteInBatches(notes, (is) => is("age", ">", 9), signal);

test.each([
  [0, ["select"]],
  [1, ["select", "delete 1"]],
  [500, ["select", "delete 500", "select"]],
  [1001, ["select", "delete 500", "select", "delete 500", "select", "delete 1"]],
])("deletes %s rows that match the condition, and no others", async (count, statements) => {
  await store(7, 9, 5000);
  if (count > 0) await store(count, 10);
  expect(await deleteOld()).toBe(count);
  expect(asked).toEqual(statements);
  expect(await left()).toBe(7);
});

test("a row that is used again after it was found is kept and not counted", async () => {
  await store(3, 10);
  let builds = 0;
  let used: Promise<unknown> = Promise.resolve();
  const deleted = await deleteInBatches(notes, (is) => {
    if (++builds === 2) {
      used = database.kysely.updateTable("notes").set({ age: 0 }).where("key", "=", keyOf(1)).execute();
    }
    return is("age", ">", 9);
  });
  await used;
  expect(asked).toEqual(["select", "update", "delete 3"]);
  expect(deleted).toBe(2);
  expect(await database.kysely.selectFrom("notes").select("key").execute()).toEqual([{ key: keyOf(1) }]);
});

/** Makes other work wait for its turn after each statement, and records when it runs. */
function otherAfter(verb: string): void {
  const end = database.onQuery(({ sql }) => {
    if (!sql.startsWith(verb)) return;
    end();
    setImmediate(() => asked.push("other"));
  });
}

test("other work gets its turn between two batches", async () => {
  await store(501, 10);
  otherAfter("delete");
  await deleteOld();
  expect(asked).toEqual(["select", "delete 500", "other", "select", "delete 1"]);
  await store(501, 10);
  otherAfter("select");
  await visitInBatches(notes, [], async () => {});
  expect(asked).toEqual(["select", "other", "select"]);
});

test("after each batch but the last, a pause is as long as the batch was, and a second at most", async () => {
  await store(1700, 10);
  const slept = sleeps();
  const clock = vi.mocked(performance.now);
  const times = [0, 40.5, 100, 3100, 5000, 5000, 6000];
  clock.mockImplementation(() => times.shift()!);
  await deleteOld();
  expect(slept).toEqual([41, 1000, 0]);
});

test("a signal ends the pause", async () => {
  await store(501, 10);
  const stop = new AbortController();
  vi.spyOn(performance, "now").mockReturnValueOnce(0).mockReturnValueOnce(1_000_000);
  onTestFinished(() => void vi.restoreAllMocks());
  otherAfter("delete");
  const end = database.onQuery(({ sql }) => void (sql.startsWith("delete") && setImmediate(() => stop.abort())));
  expect(await deleteOld(stop.signal)).toBe(500);
  end();
});

test("a signal ends the work after the current batch, or before the first", async () => {
  await store(1200, 10);
  expect(await deleteOld(AbortSignal.abort())).toBe(0);
  await visitInBatches(notes, [], async () => expect.unreachable(), AbortSignal.abort());
  expect(asked).toEqual([]);
  const visiting = new AbortController();
  const visited: number[] = [];
  const visit = async (rows: readonly Row[]): Promise<void> => {
    visited.push(rows.length);
    visiting.abort();
  };
  await visitInBatches(notes, [], visit, visiting.signal);
  expect(visited).toEqual([500]);
  const deleting = new AbortController();
  database.onQuery(({ sql }) => void (sql.startsWith("delete") && deleting.abort()));
  expect(await deleteOld(deleting.signal)).toBe(500);
  expect(await left()).toBe(700);
});

test.each([
  [0, []],
  [1, [1]],
  [500, [500]],
  [1002, [500, 500, 2]],
])("visits each of %s rows once, in the order of their keys", async (count, sizes) => {
  if (count > 0) await store(count, 1);
  const visited: Row[][] = [];
  await visitInBatches(notes, ["text"], async (rows) => {
    visited.push([...rows]);
  });
  expect(visited.map(({ length }) => length)).toEqual(sizes);
  const expected = Array.from({ length: count }, (_, n) => ({ key: keyOf(n), text: `note ${n}` }));
  expect(visited.flat()).toEqual(expected);
});

test("the next batch is read after the last one has been visited, which may have deleted its rows", async () => {
  await store(1001, 1);
  let visited = 0;
  await visitInBatches(notes, [], async (rows) => {
    await nextTurn();
    visited += rows.length;
    const keys = rows.map(({ key }) => key as string);
    await database.kysely.deleteFrom("notes").where("key", "in", keys).execute();
  });
  expect(asked).toEqual(["select", "delete 500", "select", "delete 500", "select", "delete 1"]);
  expect([visited, await left()]).toEqual([1001, 0]);
});
