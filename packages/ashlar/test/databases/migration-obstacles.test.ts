import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Connection } from "../../src/database/connections/connection.ts";
import { Migrations, sql } from "../../src/database/index.ts";
import { PostgresDialect } from "../../src/database/postgres/postgres-dialect.ts";
import { readPostgresSettings } from "../../src/database/postgres/postgres-settings.ts";
import { onEachDatabase, onPostgres, postgres, type TestDatabase } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const NAMES = ["2026_01_01_000000_make_a", "2026_01_02_000000_make_b", "2026_01_03_000000_make_c"] as const;

await onEachDatabase("after a change of branch", (engine) => {
  let own: TestDatabase;
  let folder: string;
  let migrations: Migrations;

  const add = (name: string) => {
    const table = name.at(-1);
    return writeFile(
      join(folder, `${name}.ts`),
      `export const up = (database) => database.schema.createTable("${table}").addColumn("n", "integer").execute();
export const down = (database) => database.schema.dropTable("${table}").execute();`,
    );
  };
  const tables = async () => {
    const all = await own.database.kysely.introspection.getTables();
    return all.map(({ name }) => name).filter((name) => name.length === 1);
  };

  beforeEach(async () => {
    own = await engine.open();
    folder = await temporaryFolder();
    migrations = new Migrations(own.database, folder);
    await add(NAMES[0]);
    await add(NAMES[1]);
    await migrations.up();
    await rm(join(folder, `${NAMES[1]}.ts`));
    await add(NAMES[2]);
  });
  afterEach(() => own.drop());

  test.each(["migrate", "migrate:rollback"] as const)("%s fails with a remedy", async (command) => {
    const attempt = command === "migrate" ? migrations.up() : migrations.rollback();
    await expect(attempt).rejects.toMatchObject({
      code: "E_MIGRATION",
      message: expect.stringMatching(
        new RegExp(`missing in .*: ${NAMES[1]}\\..* npx ashlar ${command} --allow-missing$`),
      ),
    });
    // Even the batch's existing migration, which comes after the missing one, is not rolled back.
    expect(await tables()).toEqual(["a", "b"]);
  });

  test("that works, the others are run and rolled back, and the missing one keeps its table", async () => {
    expect(await migrations.up({ allowMissing: true })).toEqual([NAMES[2]]);
    expect(await tables()).toEqual(["a", "b", "c"]);
    expect(await migrations.rollback({ allowMissing: true, steps: 2 })).toEqual([NAMES[2], NAMES[0]]);
    expect(await tables()).toEqual(["b"]);
    expect((await migrations.status()).map(({ name, state }) => [name, state])).toEqual([
      [NAMES[0], "pending"],
      [NAMES[1], "missing"],
      [NAMES[2], "pending"],
    ]);
    await add(NAMES[1]);
    expect(await migrations.rollback()).toEqual([NAMES[1]]);
    expect(await tables()).toEqual([]);
  });
});

await onPostgres("the lock of migrations on PostgreSQL", () => {
  test("is awaited for a limited time, and the refusal names the process that holds it", async () => {
    const own = await postgres.open();
    const { driver: _, ...options } = own.configuration;
    const settings = readPostgresSettings(options, { where: "main" });
    const impatient = new Connection(
      "main",
      (observer) => new PostgresDialect(settings, { where: "main", root: ".", observer }, 0),
    );
    try {
      await own.database.connection().maintenance.withMigrationLock(async () => {
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(own.database.kysely);
        await expect(impatient.maintenance.withMigrationLock(async () => {})).rejects.toMatchObject({
          code: "E_MIGRATION",
          message: expect.stringContaining(`process ${rows[0]!.pid} from 127.0.0.1. Migrate again when it has ended`),
        });
      });
      expect(await impatient.maintenance.withMigrationLock(async () => "free again")).toBe("free again");
    } finally {
      await impatient.close();
      await own.drop();
    }
  });
});
