import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Database, primaryKey, sqlite, uniqueColumnNamesOf } from "../../src/database/index.ts";
import { onEachDatabase } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

await onEachDatabase("unique columns", (engine) => {
  test("are those with their own unique index, complete and without other columns", async () => {
    const { database, drop } = await engine.open();
    try {
      const { schema } = database.kysely;
      await schema
        .createTable("parcels")
        .$call(primaryKey(database.kysely))
        .addColumn("code", "varchar(40)", (column) => column.unique())
        .addColumn("token", "varchar(40)")
        .addColumn("label", "varchar(40)")
        .addColumn("place", "varchar(40)")
        .execute();
      await schema.createIndex("parcels_token").on("parcels").column("token").unique().execute();
      await schema.createIndex("parcels_place").on("parcels").column("place").execute();
      await schema.createIndex("parcels_both").on("parcels").columns(["label", "place"]).unique().execute();
      const unique = await uniqueColumnNamesOf(database.connection(), "parcels");
      expect([...unique!].filter((name) => name !== "id").sort()).toEqual(["code", "token"]);
      expect(await uniqueColumnNamesOf(database.connection(), "no_such_table")).toEqual(new Set());
    } finally {
      await drop();
    }
  });
});

test("an inspected SQLite file is not created, and can be read but not written", async () => {
  const root = await temporaryFolder();
  const databases = { default: "main", main: sqlite({ path: "data/app.sqlite" }) };
  const missing = new Database(databases, root, { isInspected: true });
  await missing.connect();
  await missing.close();
  expect(readdirSync(root)).toEqual([]);

  const real = new Database(databases, root);
  await real.kysely.schema.createTable("parcels").$call(primaryKey(real.kysely)).execute();
  await real.close();
  const inspected = new Database(databases, root, { isInspected: true });
  const parcels = inspected.kysely as never as import("kysely").Kysely<{ parcels: { id: number } }>;
  expect(await parcels.selectFrom("parcels").selectAll().execute()).toEqual([]);
  await expect(parcels.insertInto("parcels").values({ id: 1 }).execute()).rejects.toMatchObject({ code: "E_DATABASE" });
  await inspected.transaction(async () => {}, { readOnly: true });
  await expect(parcels.insertInto("parcels").values({ id: 1 }).execute()).rejects.toMatchObject({ code: "E_DATABASE" });
  await inspected.close();
  expect(readdirSync(join(root, "data"))).toEqual(["app.sqlite"]);
  expect(existsSync(join(root, "data/app.sqlite-wal"))).toBe(false);
});
