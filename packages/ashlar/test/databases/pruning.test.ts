import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createApplication, createLogger } from "../../src/boot/index.ts";
import { DatabaseProvider, sql } from "../../src/database/index.ts";
import { createSessionDataTable, databaseSessions } from "../../src/public/session.ts";
import { Route } from "../../src/routing/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { SessionProvider } from "../../src/session/index.ts";
import { databaseStore, ThrottleProvider } from "../../src/throttle/index.ts";
import { onEachDatabase } from "../support/services.ts";

const ROWS = 2000;

await onEachDatabase("pruning", (engine) => {
  test("lets requests be answered between any two of its deletions", async () => {
    const own = await engine.open();
    onTestFinished(() => own.drop());
    const { kysely } = own.database;
    await kysely.schema
      .createTable("rate_limits")
      .addColumn("id", "varchar(64)", (column) => column.primaryKey())
      .addColumn("attempts", "integer")
      .addColumn("resets_at", "bigint")
      .execute();
    await createSessionDataTable(kysely as never);
    const application = await createApplication({
      providers: [DatabaseProvider, SessionProvider, ThrottleProvider],
      config: {
        database: { DATABASES: { default: "main", main: own.configuration } },
        session: { SESSION: { store: databaseSessions() } },
        throttle: { THROTTLE: { store: databaseStore() } },
      },
      routes: [Route.get("/", () => "answered")],
      environment: { APP_ENV: "test", APP_KEY: generateSecret() },
      logger: createLogger({ name: "test", environment: "test", log: { level: "silent", requests: false } } as never),
    });
    onTestFinished(() => application.shutdown());
    const ids = Array.from({ length: ROWS }, (_, n) => `key ${n}`);
    const past = new Date(0);
    await kysely
      .insertInto("rate_limits")
      .values(ids.map((id) => ({ id, attempts: 1, resets_at: 0 })))
      .execute();
    await kysely
      .insertInto("session_data")
      .values(ids.map((id) => ({ id, data: "{}", created_at: past, last_used_at: past })))
      .execute();
    const order: string[] = [];
    application.container.make("database").onQuery(({ sql: text }) => {
      if (text.startsWith("delete")) order.push("deleted");
    });
    let isOver = false;
    const pruning = application.prune().finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const response = await application.fetch(new Request("http://shop.test/"));
      order.push(await response.text());
      await nextTurn();
    }
    expect(await pruning).toEqual({ "counts of limits": ROWS, "session data": ROWS });
    expect(order.filter((what) => what === "deleted").length).toBeGreaterThan(ROWS / 500);
    const adjacent = order.filter((what, place) => what === "deleted" && order[place - 1] === "deleted");
    expect(adjacent).toEqual([]);
    expect((await sql`select 1 from rate_limits`.execute(kysely)).rows).toEqual([]);
  });
});
