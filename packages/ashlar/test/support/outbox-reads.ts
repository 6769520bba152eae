import { type Row, sql } from "../../src/database/index.ts";
import type { TestDatabase, TestEngine } from "./services.ts";

/** Duplicates the outbox's only row until there are this many, a power of two. */
export async function doubled({ name }: TestEngine, { database }: TestDatabase, count: number): Promise<void> {
  const { priority } = (await database.kysely.selectFrom("mail_outbox").selectAll().executeTakeFirstOrThrow()) as Row;
  const names = ["kind", "content", "attempts", "created_at", "available_at", "retry_until"];
  const columns = sql.raw([...names, ...(priority === undefined ? [] : ["priority"])].join(", "));
  for (let rows = 1; rows < count; rows *= 2) {
    await sql`insert into mail_outbox (${columns}) select ${columns} from mail_outbox`.execute(database.kysely);
  }
  // The server does this by itself once a table has changed.
  if (name === "postgres") await sql`vacuum analyze mail_outbox`.execute(database.kysely);
}

/** How many rows or index entries a statement reads; on SQLite, which doesn't count them, the steps of its plan. */
export async function readsOf(
  engine: TestEngine,
  { database }: TestDatabase,
  statement: string,
): Promise<number | string> {
  const { kysely } = database;
  const text = sql.raw(statement);
  if (engine.name === "postgres") {
    const { rows } = await sql<{ "QUERY PLAN": string }>`explain (analyze) ${text}`.execute(kysely);
    const scans = rows.flatMap((line) => [...(/Scan .*actual.* rows=(\d+)/.exec(line["QUERY PLAN"])?.slice(1) ?? [])]);
    return scans.reduce((sum, count) => sum + Number(count), 0);
  }
  if (engine.name === "sqlite") {
    const { rows } = await sql<{ detail: string }>`explain query plan ${text}`.execute(kysely);
    return rows.map(({ detail }) => detail).join("\n");
  }
  return await database.transaction(async () => {
    const read = async () => {
      const { rows } = await sql<Row>`show session status like 'Handler_read%'`.execute(kysely);
      return rows.reduce((sum, { Variable_name: name, Value }) => {
        // A derived table's rows are read again by these.
        return /rnd/.test(String(name)) ? sum : sum + Number(Value);
      }, 0);
    };
    const before = await read();
    await text.execute(kysely);
    return (await read()) - before;
  });
}
