import { expect, onTestFinished, test } from "vitest";
import { onEachDatabase, type TestDatabase, testWhere } from "../../../test/support/services.ts";
import { sql } from "../../database/index.ts";
import { createRateLimitsTable } from "./rate-limits-table.ts";

await onEachDatabase("the table rate_limits", (engine) => {
  async function opened(): Promise<TestDatabase["database"]> {
    const own = await engine.open();
    onTestFinished(() => own.drop());
    return own.database;
  }

  test.each([
    ["attempts", { attempts: null, resets_at: 1000 }],
    ["resets_at", { attempts: 1, resets_at: null }],
  ])("accepts no row without %s", async (column, values) => {
    const { kysely } = await opened();
    await createRateLimitsTable(kysely);
    const inserted = kysely
      .insertInto("rate_limits")
      .values({ id: "a", ...values })
      .execute();
    await expect(inserted).rejects.toMatchObject({ code: "E_NOT_NULL_VIOLATION", columns: [column] });
  });

  test("finds expired windows by an index", async () => {
    const database = await opened();
    await createRateLimitsTable(database.kysely);
    const plan = await database.transaction(async () => {
      // An empty table would be read in full anyway.
      if (engine.name === "postgres") await sql`set local enable_seqscan = off`.execute(database.kysely);
      const explain = sql.raw(engine.name === "sqlite" ? "explain query plan" : "explain");
      return await sql`${explain} select id from rate_limits where resets_at <= 1`.execute(database.kysely);
    });
    expect(JSON.stringify(plan.rows)).toContain("rate_limits_resets_at");
  });

  // On MariaDB, index names belong to their table.
  testWhere(engine.name !== "mariadb", "fails if its index cannot be created", async () => {
    const { kysely } = await opened();
    await kysely.schema.createTable("rate_limits_resets_at").addColumn("id", "integer").execute();
    await expect(createRateLimitsTable(kysely)).rejects.toThrow("rate_limits_resets_at");
  });
});
