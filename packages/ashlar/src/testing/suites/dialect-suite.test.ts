import { describe, test } from "vitest";
import { onPostgres, postgres, sqlite } from "../../../test/support/services.ts";
import { connectionSource, sqlite as sqliteFile } from "../../database/index.ts";
import { dialectSuite } from "./dialect-suite.ts";

const suiteOn = (engine: typeof sqlite) =>
  dialectSuite(async (options) => {
    const { database, configuration, drop } = await engine.open({ ...options });
    await database.close();
    return { dialect: connectionSource("main", configuration), remove: drop };
  });

describe("sqlite() on a file", () => {
  for (const { title, run } of suiteOn(sqlite)) test(title, run);
});

describe("sqlite() in memory", () => {
  const inMemory = dialectSuite((options) => ({
    dialect: sqliteFile({ path: ":memory:", ...options }),
    remove: async () => {},
  }));
  for (const { title, run } of inMemory) test(title, run);
});

await onPostgres("postgres()", () => {
  for (const { title, run } of suiteOn(postgres)) test(title, run);
});
