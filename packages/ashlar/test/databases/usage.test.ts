import { expect, onTestFinished, test } from "vitest";
import { DatabaseProvider } from "../../src/database/index.ts";
import { buildApplication, ownDatabases } from "../support/build-application.ts";
import { onEachDatabase } from "../support/services.ts";

await onEachDatabase("the usage of connections", (engine) => {
  test("open transactions are used connections, and callers beyond the limit wait", async () => {
    const settings = engine.name === "sqlite" ? {} : { poolSize: 2 };
    const limit = engine.name === "sqlite" ? 1 : 2;
    const application = await buildApplication({
      routes: [],
      providers: [DatabaseProvider],
      databases: await ownDatabases({ engine, settings }),
    });
    const usage = () => application.stats().database;
    expect(usage()).toEqual({ main: { limit, open: 1, used: 0, waiting: 0 } });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    onTestFinished(() => release());
    const database = application.container.make("database");
    let begun = 0;
    const transactions = Array.from({ length: limit + 3 }, () =>
      database.transaction(async () => {
        begun++;
        await released;
      }),
    );
    await expect.poll(() => begun).toBe(limit);
    await expect.poll(usage).toEqual({ main: { limit, open: limit, used: limit, waiting: 3 } });
    release();
    await Promise.all(transactions);
    expect(usage()).toEqual({ main: { limit, open: limit, used: 0, waiting: 0 } });
  });
});
