import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { onPostgres, postgres } from "../../../test/support/services.ts";
import { type Database, sql } from "../index.ts";

const pid = async (database: Database): Promise<number> =>
  (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(database.kysely)).rows[0]!.pid;

await onPostgres("connections to PostgreSQL", () => {
  const open = async (settings: object) => {
    const own = await postgres.open({ ...settings });
    onTestFinished(() => own.drop());
    return own.database;
  };

  test("beyond maxWaiting, a caller is refused at once, and those who wait get their turn", async () => {
    const database = await open({ poolSize: 1, maxWaiting: 2 });
    const connection = database.connection();
    const gate = Promise.withResolvers<void>();
    const held = connection.reserved(() => gate.promise);
    await nextTurn();
    const waiting = [pid(database), pid(database)];
    await nextTurn();
    await expect(pid(database)).rejects.toMatchObject({
      code: "E_OVERLOADED",
      status: 503,
      message: "All connections to the database are in use, and 2 callers are waiting for one.",
    });
    await expect(database.transaction(() => {})).rejects.toMatchObject({ code: "E_OVERLOADED" });
    gate.resolve();
    await Promise.all([held, ...waiting]);
    expect(await pid(database)).toEqual(expect.any(Number));
  });
});
