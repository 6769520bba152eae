import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Database, Model, primaryKey, UniqueViolationError } from "../../src/database/index.ts";
import { onEachDatabase, type TestDatabase } from "../support/services.ts";

class Tag extends Model {
  static override timestamps = false;
  declare id: number;
  declare name: string;
}

await onEachDatabase("a violation that is caught in a transaction", (engine) => {
  let own: TestDatabase;
  let database: Database;
  const reports: unknown[] = [];

  beforeAll(async () => {
    own = await engine.open();
    database = own.database;
    const table = database.kysely.schema.createTable("tags").$call(primaryKey(database.kysely));
    await table.addColumn("name", "varchar(255)", (column) => column.notNull().unique()).execute();
    Tag.useDatabase(database);
    database.onCaughtFailure((error) => reports.push(error));
  });
  beforeEach(async () => {
    await Tag.rows().delete();
    await Tag.create({ name: "a" });
    reports.length = 0;
  });
  afterAll(() => own.drop());

  const names = async (): Promise<string[]> => (await Tag.rows().orderBy("name").get()).map(({ name }) => name);
  const addsA = async (): Promise<unknown> => {
    return await Tag.create({ name: "a" }).catch((error: unknown) => error);
  };

  test("around a nested transaction lets the rest continue, on every database, without a report", async () => {
    await database.transaction(async () => {
      await Tag.create({ name: "b" });
      const attempt = database.transaction(() => Tag.create({ name: "a" }));
      await expect(attempt).rejects.toBeInstanceOf(UniqueViolationError);
      await Tag.create({ name: "c" });
    });
    expect([await names(), reports]).toEqual([["a", "b", "c"], []]);
  });

  test("without a nested transaction is named by PostgreSQL's refusal of the next statement, and reported on SQLite", async () => {
    const refused: unknown[] = [];
    const attempt = database.transaction(async () => {
      expect(await addsA()).toBeInstanceOf(UniqueViolationError);
      for (const name of ["b", "c"]) await Tag.create({ name }).catch((error: unknown) => refused.push(error));
    });
    if (engine.continues) {
      await attempt;
      expect([await names(), refused]).toEqual([["a", "b", "c"], []]);
      expect(reports).toEqual([expect.any(UniqueViolationError)]);
      return;
    }
    const cause = "(E_UNIQUE_VIOLATION: A record with the same name already exists.). Put a statement that may fail";
    await expect(attempt).rejects.toThrow(
      `The transaction was rolled back, because a statement in it had failed ${cause}`,
    );
    const refusal = expect.objectContaining({
      code: "E_DATABASE",
      databaseCode: "25P02",
      message: expect.stringContaining(
        `An earlier statement of this transaction failed, and its error was caught ${cause}`,
      ),
      cause: expect.any(UniqueViolationError),
    });
    expect([await names(), refused, reports]).toEqual([["a"], [refusal, refusal], []]);
  });

  test("in a nested transaction that continues affects only that one", async () => {
    const nested = database.transaction(async () => {
      await database.transaction(addsA).catch((error: unknown) => error);
      await Tag.create({ name: "b" });
    });
    await nested;
    expect(await names()).toEqual(["a", "b"]);
    expect(reports).toEqual(engine.continues ? [expect.any(UniqueViolationError)] : []);
  });

  test("makes PostgreSQL refuse a nested transaction, whose function is not called", async () => {
    let called = 0;
    const attempt = database.transaction(async () => {
      await addsA();
      await database.transaction(() => called++);
    });
    if (engine.continues) await attempt;
    else await expect(attempt).rejects.toMatchObject({ code: "E_DATABASE", databaseCode: "25P02" });
    expect(called).toBe(engine.continues ? 1 : 0);
  });

  test("affects neither a transaction that throws after it nor the next one", async () => {
    const no = new Error("no");
    const attempt = database.transaction(async () => {
      await addsA();
      throw no;
    });
    await expect(attempt).rejects.toBe(no);
    expect(await addsA()).toBeInstanceOf(UniqueViolationError);
    await database.transaction(() => Tag.create({ name: "b" }));
    expect([await names(), reports]).toEqual([["a", "b"], []]);
  });
});
