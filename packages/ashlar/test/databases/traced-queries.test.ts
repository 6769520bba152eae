import { expect, onTestFinished, test } from "vitest";
import { type TraceMessages, traceChannels } from "../../src/public/telemetry.ts";
import { onEachDatabase } from "../support/services.ts";

/** The traced statements, and how they ended. */
function listen(): [event: string, sql: string, error: string | null][] {
  const seen: [string, string, string | null][] = [];
  const { query } = traceChannels;
  const note = (event: string) => (message: unknown) => {
    const { connection, sql, error } = message as TraceMessages["query"];
    expect(connection).toBe("main");
    seen.push([event, sql, error === undefined ? null : String(error)]);
  };
  const [start, end, asyncEnd] = [note("start"), note("end"), note("asyncEnd")];
  const ended = (message: unknown) => {
    if ((message as TraceMessages["query"]).isAsync !== true) end(message);
  };
  query.start.subscribe(start);
  query.end.subscribe(ended);
  query.asyncEnd.subscribe(asyncEnd);
  onTestFinished(() => {
    query.start.unsubscribe(start);
    query.end.unsubscribe(ended);
    query.asyncEnd.unsubscribe(asyncEnd);
  });
  return seen;
}

await onEachDatabase("traced statements", (engine) => {
  test("S83 each statement starts and ends once, in transactions too, without its values", async () => {
    const { database, drop } = await engine.open();
    onTestFinished(() => drop());
    const { kysely } = database;
    await kysely.schema
      .createTable("codes")
      .addColumn("code", "varchar(20)", (column) => column.unique())
      .execute();
    const seen = listen();
    await kysely.insertInto("codes").values({ code: "s3cret-one" }).execute();
    await database.transaction(async (trx) => {
      await trx.insertInto("codes").values({ code: "s3cret-two" }).execute();
      await kysely.selectFrom("codes").select("code").where("code", "=", "s3cret-two").execute();
    });
    const again = kysely.insertInto("codes").values({ code: "s3cret-one" });
    await expect(again.execute()).rejects.toMatchObject({ code: "E_UNIQUE_VIOLATION" });
    const verbs = seen.map(([event, sql]) => `${event === "start" ? "start" : "end"} ${sql.split(" ", 1)[0]}`);
    const pairs = ["insert", "insert", "select", "insert"].flatMap((verb) => [`start ${verb}`, `end ${verb}`]);
    expect(verbs).toEqual(pairs);
    expect(seen.map(([, , error]) => error !== null)).toEqual([...Array.from({ length: 7 }, () => false), true]);
    expect(JSON.stringify(seen)).not.toContain("s3cret");
  });
});
