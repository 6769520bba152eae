import { describe, expect, test } from "vitest";
import { Database } from "../../src/public/database.ts";
import { dialectSuite } from "../../src/public/testing.ts";
import { createMariadb, onMariadb } from "../support/mariadb/mariadb-server.ts";
import { MigrationFolder } from "../support/migration-folder.ts";

await onMariadb("a dialect for MariaDB, written from outside", () => {
  describe("keeps the promises", () => {
    const suite = dialectSuite(({ acquireTimeoutMs }) => createMariadb(acquireTimeoutMs));
    for (const { title, run } of suite) test(title, run);
  });

  test("after a deadlock, the victim's transaction refuses every statement and stores nothing", async () => {
    const made = await createMariadb(10_000);
    const database = new Database({ default: "main", main: made.dialect }, process.cwd());
    try {
      const { kysely } = database;
      await kysely.schema
        .createTable("counts")
        .addColumn("id", "integer", (id) => id.primaryKey())
        .execute();
      await kysely
        .insertInto("counts")
        .values([{ id: 1 }, { id: 2 }])
        .execute();
      const lock = (id: number) => kysely.selectFrom("counts").selectAll().where("id", "=", id).forUpdate().execute();
      const isLocked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
      const crossing = (first: 1 | 2, second: 1 | 2) =>
        database.transaction(async () => {
          await lock(first);
          isLocked[first - 1]!.resolve();
          await isLocked[second - 1]!.promise;
          const failure: unknown = await lock(second).then(
            () => null,
            (error: unknown) => error,
          );
          const row = { id: 10 * first };
          const refusal: unknown = await kysely
            .insertInto("counts")
            .values(row)
            .execute()
            .then(
              () => null,
              (error: unknown) => error,
            );
          return [failure, refusal];
        });
      const outcomes = await Promise.allSettled([crossing(1, 2), crossing(2, 1)]);
      const victims = outcomes.flatMap((outcome, index) => (outcome.status === "rejected" ? [index] : []));
      expect(victims).toHaveLength(1);
      const survivor = victims[0] === 0 ? 2 : 1;
      expect(outcomes[survivor - 1]).toEqual({ status: "fulfilled", value: [null, null] });
      expect(outcomes[victims[0]!]).toMatchObject({ reason: { code: "E_DATABASE_UNAVAILABLE" } });
      const ids = (await kysely.selectFrom("counts").select("id").orderBy("id").execute()).map(({ id }) => id);
      expect(ids).toEqual([1, 2, 10 * survivor]);
    } finally {
      await database.close();
      await made.remove();
    }
  });

  test("a migration runs without a transaction, and reports what remains if it fails", async () => {
    const made = await createMariadb(10_000);
    const database = new Database({ default: "main", main: made.dialect }, process.cwd());
    const folder = new MigrationFolder(database, {
      "2026_01_01_000000_fail": `export async function up(database) {
        await database.schema.createTable("half").addColumn("n", "integer").execute();
        throw new TypeError("no luck");
      }`,
    });
    try {
      const failure = expect.stringMatching(/up\(\) failed, and what it did before that remains, .* no luck$/);
      await expect(folder.migrations.up()).rejects.toMatchObject({ code: "E_MIGRATION", message: failure });
      expect(await folder.tables()).toEqual(["half", "migrations"]);
      expect(await folder.migrations.status()).toMatchObject([{ state: "pending" }]);
    } finally {
      folder.remove();
      await database.close();
      await made.remove();
    }
  });
});
