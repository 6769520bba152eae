import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { mariadb, onMariadb } from "../../../test/support/services.ts";
import { type Database, sql } from "../index.ts";

const idOf = async (database: Database): Promise<number> =>
  (await sql<{ id: number }>`select connection_id() as id`.execute(database.kysely)).rows[0]!.id;

await onMariadb("connections to MariaDB", () => {
  const open = async (settings: object) => {
    const own = await mariadb.open({ ...settings });
    onTestFinished(() => own.drop());
    return own.database;
  };

  test("beyond maxWaiting, a caller is refused at once, and those who wait get their turn", async () => {
    const database = await open({ poolSize: 1, maxWaiting: 2 });
    const gate = Promise.withResolvers<void>();
    const held = database.connection().reserved(() => gate.promise);
    await nextTurn();
    const waiting = [idOf(database), idOf(database)];
    await nextTurn();
    await expect(idOf(database)).rejects.toMatchObject({
      code: "E_OVERLOADED",
      status: 503,
      message: "All connections to the database are in use, and 2 callers are waiting for one.",
    });
    await expect(database.transaction(() => {})).rejects.toMatchObject({ code: "E_OVERLOADED" });
    gate.resolve();
    await Promise.all([held, ...waiting]);
    expect(await idOf(database)).toEqual(expect.any(Number));
  });

  test("that the server has ended are not counted as open", async () => {
    const [database, admin] = [await open({ poolSize: 1 }), await open({ poolSize: 1 })];
    const id = await idOf(database);
    expect(database.usage()).toEqual({ main: { limit: 1, open: 1, used: 0, waiting: 0 } });
    await sql.raw(`kill ${id}`).execute(admin.kysely);
    await expect.poll(() => database.usage()).toEqual({ main: { limit: 1, open: 0, used: 0, waiting: 0 } });
    expect(await idOf(database)).not.toBe(id);
    expect(database.usage()).toEqual({ main: { limit: 1, open: 1, used: 0, waiting: 0 } });
  });

  test("that can't be opened are not counted any longer", async () => {
    const database = await open({ user: "nobody_here", password: "wrong" });
    await expect(database.connect()).rejects.toMatchObject({ code: "E_DATABASE" });
    expect(database.usage()).toEqual({ main: { limit: 10, open: 0, used: 0, waiting: 0 } });
  });
});
