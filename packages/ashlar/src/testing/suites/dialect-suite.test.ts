import { tmpdir } from "node:os";
import { describe, test } from "vitest";
import { mariadb, onMariadb, onPostgres, postgres, sqlite } from "../../../test/support/services.ts";
import { connectionSource, sqlite as sqliteFile } from "../../database/index.ts";
import { type DialectSuiteOptions, type DialectSuiteSettings, dialectSuite } from "./dialect-suite.ts";

const suiteOn = (engine: typeof sqlite, settings: DialectSuiteSettings = {}) =>
  dialectSuite(async (options) => {
    const { database, configuration, drop } = await engine.open({ ...options });
    await database.close();
    return { dialect: connectionSource("main", configuration), remove: drop };
  }, settings);

describe("sqlite() on a file", () => {
  for (const { title, run } of suiteOn(sqlite)) test(title, run);
});

describe("sqlite() in memory", () => {
  const make = (options: DialectSuiteOptions) => ({
    dialect: sqliteFile({ path: ":memory:", ...options }),
    remove: async () => {},
  });
  // A folder can't be opened as a database.
  const unreachable = () => sqliteFile({ path: tmpdir() });
  for (const { title, run } of dialectSuite(make, { unreachable })) test(title, run);
});

await onPostgres("postgres()", () => {
  // No server listens on port 1.
  const unreachable = () => connectionSource("main", { driver: "postgres", host: "127.0.0.1", port: 1 });
  for (const { title, run } of suiteOn(postgres, { unreachable })) test(title, run);
});

await onMariadb("mariadb()", () => {
  const unreachable = () => connectionSource("main", { driver: "mariadb", host: "127.0.0.1", port: 1 });
  for (const { title, run } of suiteOn(mariadb, { unreachable })) test(title, run);
});
