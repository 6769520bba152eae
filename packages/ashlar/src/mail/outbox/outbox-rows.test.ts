import { expect, onTestFinished, test, vi } from "vitest";
import { onEachDatabase, type TestDatabase, type TestEngine } from "../../../test/support/services.ts";
import type { Connection, Row } from "../../database/index.ts";
import { AshlarError, setClock } from "../../support/index.ts";
import { OutboxRows } from "./outbox-rows.ts";
import { addPriorityToMailOutbox, createMailOutboxTable, type MailPriority } from "./outbox-table.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.parse("2026-03-01T12:00:00Z");
/** How far a database server's clock may be from the test's stopped clock, in milliseconds. */
const INEXACT = 20_000;

interface Table extends TestDatabase {
  /** One process's statements. Its claims end after a minute, and it retries a row for a day. */
  readonly rowsOf: (claimant: string, connection?: Connection) => OutboxRows;
  readonly stored: () => Promise<Row[]>;
  readonly set: (id: string, values: Record<string, unknown>) => Promise<unknown>;
}

async function opened(engine: TestEngine): Promise<Table> {
  const own = await engine.open();
  onTestFinished(() => own.drop());
  await createMailOutboxTable(own.database.kysely);
  await addPriorityToMailOutbox(own.database.kysely);
  const { kysely } = own.database;
  onTestFinished(() => setClock(null));
  at(0);
  return {
    ...own,
    rowsOf: (claimant, connection = own.database.connection()) =>
      new OutboxRows(connection, { claimant, claimMs: MINUTE, retryMs: 24 * HOUR, hasPriority: true }),
    stored: async () => (await kysely.selectFrom("mail_outbox").selectAll().orderBy("id").execute()) as Row[],
    set: (id, values) => kysely.updateTable("mail_outbox").set(values).where("id", "=", id).execute(),
  };
}

/** Stops the clock this many milliseconds after the start of the test. */
function at(ms: number): void {
  setClock(() => START + ms);
}

const note = (content = "sealed", priority: MailPriority = "ordinary") => {
  return { kind: "mail", mailable: "Note", content, priority };
};
const room = (all: number, bulk = all) => ({ all, bulk });
const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id).sort();

/** A row's time, in milliseconds since the start of the test. */
function since(value: unknown): number {
  return Number(value) - START;
}

function expectTime(value: unknown, ms: number): void {
  expect(Math.abs(since(value) - ms)).toBeLessThan(INEXACT);
}

await onEachDatabase("rows of the outbox", (engine) => {
  // SQLite has no separate clock.
  const inexact = engine.name === "sqlite" ? 0 : INEXACT;

  test("a row belongs to the process that wrote it until its claim ends, and then to the process that claims it", async () => {
    const { rowsOf, stored } = await opened(engine);
    const [first, second] = [rowsOf("first"), rowsOf("second")];
    const id = await first.insert(note());
    expect(await second.claim(room(10), [])).toEqual([]);
    at(MINUTE - INEXACT);
    expect(await second.claim(room(10), [])).toEqual([]);
    at(MINUTE + inexact);
    expect(await second.claim(room(10), [])).toEqual([
      { id, kind: "mail", content: "sealed", attempts: 2, priority: "ordinary" },
    ]);
    expect(await first.claim(room(10), [])).toEqual([]);
    const [before] = await stored();
    expectTime(before!.available_at, 2 * MINUTE + inexact);
    // The first process may still believe that it has the row.
    at(MINUTE + 2 * INEXACT);
    expect(await first.renew([id])).toEqual(new Set());
    expect(await first.postpone(id, "down", MINUTE)).toBe("lost");
    expect(await first.fail(id, "refused")).toBe("lost");
    await first.release([id]);
    expect(await first.finish(id)).toBe(false);
    expect(await stored()).toEqual([before]);
    expect(await second.finish(id)).toBe(true);
    expect([await second.finish(id), await stored()]).toEqual([false, []]);
    expect(await second.postpone(id, "down", MINUTE)).toBe("lost");
  });

  test("a process doesn't claim its own running work, even if that claim has ended", async () => {
    const { rowsOf } = await opened(engine);
    const rows = rowsOf("slow");
    const [one, other] = [await rows.insert(note()), await rows.insert(note())];
    at(2 * MINUTE);
    expect(idsOf(await rows.claim(room(10), [one]))).toEqual([other]);
  });

  test("a poll costs one statement while only the process's own work is due", async () => {
    const { database, rowsOf } = await opened(engine);
    const rows = rowsOf("slow");
    const id = await rows.insert(note());
    let statements = 0;
    onTestFinished(database.onQuery(() => void statements++));
    expect([await rows.claim(room(10), []), statements]).toEqual([[], 1]);
    at(2 * MINUTE);
    expect([await rows.claim(room(10), [id]), statements]).toEqual([[], 2]);
    await rows.fail(id, "refused");
    statements = 0;
    expect([await rows.claim(room(10), []), statements]).toEqual([[], 1]);
  });

  test("the work that has been due longest is claimed first, and no more than requested", async () => {
    const { database, rowsOf, set } = await opened(engine);
    // A database that reads the index gets them in this order anyway.
    const index = database.kysely.schema.dropIndex("mail_outbox_due_by_priority");
    await (engine.name === "mariadb" ? index.on("mail_outbox") : index).execute();
    const [first, second] = [rowsOf("first"), rowsOf("second")];
    const ids = [];
    for (const due of [4, 2, 3, 1]) {
      const id = await first.insert(note());
      await set(id, { available_at: due });
      ids.push(id);
    }
    expect(idsOf(await second.claim(room(2), []))).toEqual(idsOf([{ id: ids[1]! }, { id: ids[3]! }]));
    expect(idsOf(await second.claim(room(2), []))).toEqual(idsOf([{ id: ids[0]! }, { id: ids[2]! }]));
  });

  test("work that was claimed or abandoned between the poll and the claim is left alone", async () => {
    const { database, rowsOf, set, stored } = await opened(engine);
    const connection = database.connection();
    const ids: string[] = [];
    const changes = [
      { claim: "faster", available_at: START + HOUR },
      { claim: null, failed_at: START },
    ];
    // As on a database that doesn't lock the rows that it reads.
    const racing = {
      kysely: connection.kysely,
      transaction: connection.transaction.bind(connection),
      dialect: {
        values: connection.dialect.values,
        transactions: {
          lockRows: (query: { execute(): Promise<{ readonly id: unknown }[]> }) => ({
            execute: async () => {
              const found = await query.execute();
              for (const [index, values] of changes.entries()) await set(ids[index]!, values);
              return found;
            },
          }),
        },
      },
    };
    for (let count = 0; count < 3; count++) ids.push(await rowsOf("dead").insert(note()));
    at(2 * MINUTE);
    expect(idsOf(await rowsOf("slower", racing as unknown as Connection).claim(room(10), []))).toEqual([ids[2]]);
    expect(await stored()).toMatchObject([
      ...changes.map((values) => ({ attempts: 1, claim: values.claim })),
      { attempts: 2 },
    ]);
  });

  test("nothing is claimed if another process has claimed everything since the poll", async () => {
    const { database, rowsOf, set, stored } = await opened(engine);
    const connection = database.connection();
    const id = await rowsOf("dead").insert(note());
    at(2 * MINUTE);
    const racing = {
      kysely: connection.kysely,
      transaction: connection.transaction.bind(connection),
      dialect: {
        values: connection.dialect.values,
        transactions: {
          lockRows: (query: { execute(): Promise<unknown[]> }) => ({
            execute: async () => {
              await set(id, { claim: "faster", available_at: START + HOUR });
              return query.execute();
            },
          }),
        },
      },
    };
    const statements: string[] = [];
    onTestFinished(database.onQuery(({ sql }) => void statements.push(sql)));
    expect(await rowsOf("slower", racing as unknown as Connection).claim(room(10), [])).toEqual([]);
    // Only the faster process has updated the row.
    expect(statements.filter((text) => text.startsWith("update"))).toHaveLength(1);
    expect(await stored()).toMatchObject([{ claim: "faster", attempts: 1 }]);
  });

  test("a claim that conflicts with another process's is tried again", async () => {
    const { database, rowsOf } = await opened(engine);
    const connection = database.connection();
    let looks = 0;
    const conflicting = {
      kysely: connection.kysely,
      transaction: connection.transaction.bind(connection),
      dialect: {
        values: connection.dialect.values,
        transactions: {
          lockRows: (query: object) => {
            if (++looks === 1) throw new AshlarError("E_DATABASE_CONFLICT");
            return query;
          },
        },
      },
    };
    const id = await rowsOf("dead").insert(note());
    at(2 * MINUTE);
    const claimed = await rowsOf("next", conflicting as unknown as Connection).claim(room(10), []);
    expect([idsOf(claimed), looks]).toEqual([[id], 2]);
  });

  test("a claim is renewed on the rows that are named, if this process has them", async () => {
    const { rowsOf, stored } = await opened(engine);
    const [first, second] = [rowsOf("first"), rowsOf("second")];
    const [named, unnamed, foreign] = [
      await first.insert(note()),
      await first.insert(note()),
      await second.insert(note()),
    ];
    const before = await stored();
    at(HOUR);
    expect(await first.renew([named, foreign])).toEqual(new Set([named]));
    const [renewed, ...others] = await stored();
    expectTime(renewed!.available_at, HOUR + MINUTE);
    expect([unnamed, others]).toEqual([String(others[0]!.id), before.slice(1)]);
  });

  test("more claims than a statement can name are renewed, and released", async () => {
    const { rowsOf, stored } = await opened(engine);
    const own = rowsOf("own");
    const ids = [await own.insert(note()), await own.insert(note())];
    // The others are done by now.
    const others = Array.from({ length: 70_000 }, (_, n) => String(1_000_000 + n));
    const all = [ids[0]!, ...others, ids[1]!];
    at(MINUTE / 2);
    expect(await own.renew(all)).toEqual(new Set(ids));
    for (const { available_at } of await stored()) expectTime(available_at, 1.5 * MINUTE);
    await own.release(all);
    expect((await stored()).map(({ claim }) => claim)).toEqual([null, null]);
  });

  test("a postponed row can be claimed by any process after the pause, which is in whole milliseconds", async () => {
    const { rowsOf, stored } = await opened(engine);
    const [first, second] = [rowsOf("first"), rowsOf("second")];
    const id = await first.insert(note());
    expect(await first.postpone(id, "down", HOUR + 0.4)).toBe("postponed");
    const [row] = await stored();
    expect(row).toMatchObject({ claim: null, failed_at: null, reason: "down" });
    expect(Number.isInteger(Number(row!.available_at))).toBe(true);
    expectTime(row!.available_at, HOUR);
    if (engine.name === "sqlite") expect(since(row!.available_at)).toBe(HOUR + 1);
    at(HOUR - INEXACT);
    expect(await second.claim(room(10), [])).toEqual([]);
    at(HOUR + INEXACT);
    expect(await second.claim(room(10), [])).toMatchObject([{ id, attempts: 2 }]);
  });

  test("a row whose next attempt would come when its time is over is abandoned, and not claimed again", async () => {
    const { rowsOf, stored } = await opened(engine);
    const rows = rowsOf("first");
    const [soon, late] = [await rows.insert(note()), await rows.insert(note())];
    expect(await rows.postpone(soon, "down", 24 * HOUR - INEXACT)).toBe("postponed");
    expect(await rows.postpone(late, "down", 24 * HOUR + inexact)).toBe("failed");
    const [, given] = await stored();
    expectTime(given!.failed_at, 0);
    at(48 * HOUR);
    expect(idsOf(await rowsOf("second").claim(room(10), []))).toEqual([soon]);
  });

  test("a row that another process has already finished can still be postponed", async () => {
    const { database, rowsOf } = await opened(engine);
    const { kysely, dialect } = database.connection();
    const finished = {
      dialect,
      kysely: {
        updateTable: (table: string) => kysely.updateTable(table),
        selectFrom: (table: string) => kysely.selectFrom(table).where("id", "=", "0"),
      },
    };
    const id = await rowsOf("first").insert(note());
    const rows = rowsOf("first", finished as unknown as Connection);
    expect(await rows.postpone(id, "down", MINUTE)).toBe("postponed");
  });

  test("a reason is stored without addresses, and truncated to the available space", async () => {
    const { rowsOf, stored } = await opened(engine);
    const rows = rowsOf("first");
    const [id, long] = [await rows.insert(note()), await rows.insert(note())];
    const reason = `550 <ada@example.com>, "bob@example.com" (cy+x@mail.example): refused; dan@example.com said so`;
    expect(await rows.fail(id, reason)).toBe("failed");
    await rows.fail(long, "x".repeat(501));
    expect(await stored()).toMatchObject([
      { claim: null, reason: `550 <…>, "…" (…): refused; … said so` },
      { reason: "x".repeat(500) },
    ]);
  });

  test("a released row is due at once, as if it had not been tried", async () => {
    const { rowsOf, stored } = await opened(engine);
    const [first, second] = [rowsOf("first"), rowsOf("second")];
    const [released, kept] = [await first.insert(note()), await first.insert(note())];
    await first.release([released]);
    expect(await stored()).toMatchObject([
      { claim: null, attempts: 0 },
      { claim: "first", attempts: 1 },
    ]);
    at(INEXACT);
    expect(await second.claim(room(10), [])).toMatchObject([{ id: released, attempts: 1 }]);
    expect(await first.finish(kept)).toBe(true);
  });

  test("abandoned rows are listed oldest first, and no others", async () => {
    const { rowsOf } = await opened(engine);
    const rows = rowsOf("first");
    const ids = [];
    for (let count = 0; count < 4; count++) ids.push(await rows.insert(note(`sealed ${count}`)));
    for (const index of [2, 1, 0]) await rows.fail(ids[index]!, `reason ${index}`);
    expect((await rows.failed(10)).map(({ id }) => id)).toEqual(ids.slice(0, 3));
    const [oldest, ...others] = await rows.failed(1);
    expect([oldest, others]).toEqual([
      {
        id: ids[0],
        kind: "mail",
        mailable: "Note",
        priority: "ordinary",
        content: "sealed 0",
        attempts: 1,
        createdAt: expect.any(Date),
        failedAt: expect.any(Date),
        reason: "reason 0",
      },
      [],
    ]);
    expectTime(oldest!.createdAt, 0);
    expectTime(oldest!.failedAt, 0);
    expect(await rows.counts()).toEqual({ waiting: 1, failed: 3 });
    const promised = await rows.insert({ ...note(), kind: "greeting", mailable: null });
    await rows.fail(promised, "broken");
    expect((await rows.failed(10)).at(-1)).toMatchObject({ kind: "greeting", mailable: null });
  });

  test("abandoned rows start over on request, due at once, and are retried for as long as new ones", async () => {
    const { rowsOf, stored } = await opened(engine);
    const rows = rowsOf("first");
    const [waiting, chosen, other] = [await rows.insert(note()), await rows.insert(note()), await rows.insert(note())];
    expect(await rows.postpone(waiting, "down", HOUR)).toBe("postponed");
    for (const id of [chosen, other]) await rows.fail(id, "refused");
    const [untouched] = await stored();
    at(48 * HOUR);
    expect(await rows.retry([waiting, chosen])).toBe(1);
    const [first, second, third] = await stored();
    expect(first).toEqual(untouched);
    expect([second, third]).toMatchObject([{ failed_at: null, attempts: 0 }, { attempts: 1 }]);
    expect(third!.failed_at).not.toBeNull();
    expectTime(second!.available_at, 48 * HOUR);
    expectTime(second!.retry_until, 72 * HOUR);
    expect([await rows.retry(null), await rows.retry(null)]).toEqual([1, 0]);
    expect(await rows.counts()).toEqual({ waiting: 3, failed: 0 });
    expect((await stored())[0]).toEqual(untouched);
  });

  test("rows that were abandoned long enough ago are deleted, until it is stopped", async () => {
    const { rowsOf, stored } = await opened(engine);
    const rows = rowsOf("first");
    const [failed, waiting] = [await rows.insert(note()), await rows.insert(note())];
    await rows.fail(failed, "refused");
    at(HOUR);
    expect(await rows.prune(HOUR + INEXACT)).toBe(0);
    expect(await rows.prune(HOUR - inexact, AbortSignal.abort())).toBe(0);
    expect(await rows.prune(HOUR - inexact)).toBe(1);
    expect(idsOf((await stored()).map(({ id }) => ({ id: String(id) })))).toEqual([waiting]);
  });

  test("a process whose own clock is an hour fast claims nothing too early", async () => {
    const { rowsOf } = await opened(engine);
    setClock(null);
    await rowsOf("first").insert(note());
    const fast = Date.now() + HOUR;
    vi.spyOn(Date, "now").mockReturnValue(fast);
    onTestFinished(() => void vi.restoreAllMocks());
    // Only processes on the same machine share a file.
    expect(await rowsOf("second").claim(room(10), [])).toHaveLength(engine.name === "sqlite" ? 1 : 0);
  });

  test("what waits for its next attempt can be made due, and nothing else changes", async () => {
    const { rowsOf, stored } = await opened(engine);
    const rows = rowsOf("first");
    const [waiting, working, failed] = [
      await rows.insert(note()),
      await rows.insert(note()),
      await rows.insert(note()),
    ];
    await rows.postpone(waiting, "down", HOUR);
    await rows.fail(failed, "refused");
    const before = await stored();
    expect(await rows.hurry()).toBe(1);
    const [first, ...others] = await stored();
    expect(others).toEqual(before.slice(1));
    expectTime(first!.available_at, 0);
    at(inexact);
    expect(idsOf(await rowsOf("second").claim(room(10), [working]))).toEqual([waiting]);
  });
});
