import { expect, test } from "vitest";
import * as mariadb from "../mariadb/mariadb-settings.ts";
import * as postgres from "../postgres/postgres-settings.ts";

const WHERE = { where: "config/database.ts: DATABASES.main" };
const READ = ["postgres://ada@one/shop", "postgres://ada@two:5555/shop"];
const MARIADB_READ = READ.map((url) => url.replace("postgres:", "mariadb:"));

test.each([
  [undefined, 2000],
  [600_000, 2000],
  [1999, 1999],
  [50, 50],
])(
  "with a connection timeout of %j ms, a replica's is %i, and its other settings are the primary's",
  (acquireTimeoutMs, ms) => {
    const options = { acquireTimeoutMs, poolSize: 7, statementTimeoutMs: 1234 };
    const common = { acquireTimeoutMs: ms, poolSize: 7, statementTimeoutMs: 1234, read: [] };
    const ofPostgres = postgres.readPostgresSettings({ ...options, read: READ }, WHERE);
    expect(postgres.replicaSettings(ofPostgres, 1)).toMatchObject({ ...common, url: READ[1] });
    const ofMariadb = mariadb.readMariadbSettings({ ...options, read: MARIADB_READ }, WHERE);
    expect(mariadb.replicaSettings(ofMariadb, 0)).toMatchObject({ ...common, host: "one", port: 3306, user: "ada" });
    expect(mariadb.replicaSettings(ofMariadb, 1)).toMatchObject({ ...common, host: "two", port: 5555 });
  },
);

test("a list with one wrong address is refused as a whole, without repeating a password", () => {
  const wrong = "http://ada:hunter2@one/shop";
  for (const read of [
    () => postgres.readPostgresSettings({ read: [READ[0]!, wrong] }, WHERE),
    () => mariadb.readMariadbSettings({ read: [MARIADB_READ[0]!, wrong] }, WHERE),
  ]) {
    expect(read).toThrow(
      expect.objectContaining({ code: "E_INVALID_CONFIGURATION", message: expect.not.stringContaining("hunter2") }),
    );
  }
});
