import { expect, onTestFinished, test } from "vitest";
import { doubled, readsOf } from "../../../test/support/outbox-reads.ts";
import { onEachDatabase, type TestDatabase, type TestEngine } from "../../../test/support/services.ts";
import type { QueryEvent, Row } from "../../database/index.ts";
import { outboxSizes } from "./outbox-sizes.ts";
import { addPriorityToMailOutbox, createMailOutboxTable } from "./outbox-table.ts";

/** More mails of one priority than are counted. */
const MANY = 32_768;
const COUNTED = 10_000;

async function opened(engine: TestEngine, hasPriority = true): Promise<TestDatabase> {
  const own = await engine.open();
  onTestFinished(() => own.drop());
  await createMailOutboxTable(own.database.kysely);
  if (hasPriority) await addPriorityToMailOutbox(own.database.kysely);
  return own;
}

function row(createdSecondsAgo: number, more: object = {}): Row {
  const created_at = Date.now() - createdSecondsAgo * 1000;
  return { kind: "mail", content: "", attempts: 1, created_at, available_at: 0, retry_until: 0, ...more };
}

async function insert({ database: { kysely } }: TestDatabase, ...rows: readonly Row[]): Promise<void> {
  for (const one of rows) await kysely.insertInto("mail_outbox").values(one).execute();
}

await onEachDatabase("the sizes of the outbox", (engine) => {
  test("are counted by state, with the age of the oldest one that waits by priority", async () => {
    const own = await opened(engine);
    const empty = { account: 0, ordinary: 0, bulk: 0 };
    expect(await outboxSizes(own.database.connection(), true)).toEqual({ waiting: 0, failed: 0, oldestSeconds: empty });
    await insert(
      own,
      row(30, { priority: 0 }),
      row(600, { priority: 2 }),
      row(60, { priority: 2 }),
      row(9000, { priority: 1, failed_at: 1 }),
    );
    const { oldestSeconds, ...counts } = await outboxSizes(own.database.connection(), true);
    expect(counts).toEqual({ waiting: 3, failed: 1 });
    // A server's clock may be a little different.
    expect(Math.abs(oldestSeconds.account - 30)).toBeLessThan(20);
    expect([oldestSeconds.ordinary, Math.abs(oldestSeconds.bulk - 600) < 20]).toEqual([0, true]);
  });

  test("count all mails as ordinary if the table has no priorities", async () => {
    const own = await opened(engine, false);
    await insert(own, row(600), row(60), row(9000, { failed_at: 1 }));
    const { oldestSeconds, ...counts } = await outboxSizes(own.database.connection(), false);
    expect(counts).toEqual({ waiting: 2, failed: 1 });
    expect([oldestSeconds.account, Math.abs(oldestSeconds.ordinary - 600) < 20]).toEqual([0, true]);
  });

  test("of a large table take one statement, which reads no more than it counts", async () => {
    const own = await opened(engine);
    const { database } = own;
    await insert(own, row(600, { priority: 2 }));
    await doubled(engine, own, MANY);
    const statements: string[] = [];
    const stop = database.onQuery(({ sql: statement }: QueryEvent) => void statements.push(statement));
    expect(await outboxSizes(database.connection(), true)).toMatchObject({ waiting: COUNTED, failed: 0 });
    stop();
    expect(statements).toHaveLength(1);
    const reads = await readsOf(engine, own, statements[0]!.replaceAll("?", "0"));
    if (engine.name === "sqlite") {
      expect(String(reads).match(/(?:SEARCH|SCAN) mail_outbox.*/g)).toEqual([
        ...Array(4).fill(expect.stringMatching(/^SEARCH mail_outbox USING COVERING INDEX mail_outbox_due_by_priority/)),
      ]);
    } else {
      expect(reads).toBeGreaterThanOrEqual(COUNTED);
      expect(reads).toBeLessThan(COUNTED + 100);
    }
  });
});
