import { afterEach, beforeEach, expect, test } from "vitest";
import { Database } from "../connections/database.ts";
import { Model } from "./model.ts";
import type { Casts } from "./model-attributes.ts";
import { boundDatabase } from "./model-database.ts";
import { metadataOf } from "./model-metadata.ts";

const memory = { driver: "sqlite", path: ":memory:" };
let first: Database;
let second: Database;

beforeEach(async () => {
  first = new Database({ default: "a", a: memory, b: memory }, "/");
  second = new Database({ default: "a", a: memory }, "/");
  for (const [database, name] of [
    [first.connection("a"), "first"],
    [first.connection("b"), "other"],
    [second.connection("a"), "second"],
  ] as const) {
    await database.kysely.schema.createTable("things").addColumn("id", "integer").addColumn("name", "text").execute();
    await database.kysely.insertInto("things").values({ id: 1, name }).execute();
  }
});
afterEach(async () => {
  Model.leaveDatabase(first);
  Model.leaveDatabase(second);
  await Promise.all([first.close(), second.close()]);
});

class Thing extends Model {
  static override timestamps = false;
  declare id: number;
  declare name: string;
}
class Special extends Thing {
  static override table = "things";
}

const name = async (model: typeof Thing): Promise<string | undefined> => (await model.find(1))?.name;

test("a model without a database is an error with a remedy", async () => {
  await expect(Thing.find(1)).rejects.toMatchObject({
    code: "E_DATABASE",
    message:
      "The model Thing has no database. List DatabaseProvider in PROVIDERS, or call Model.useDatabase(database).",
  });
});

test("the database of the nearest class is used, even if it changes later", async () => {
  Model.useDatabase(first);
  expect([await name(Thing), await name(Special)]).toEqual(["first", "first"]);
  Special.useDatabase(second);
  expect([await name(Thing), await name(Special)]).toEqual(["first", "second"]);
  Special.leaveDatabase(second);
  expect(await name(Special)).toBe("first");
  Model.useDatabase(second);
  expect(await name(Special)).toBe("second");
});

test("removing a database that is not the assigned one changes nothing", async () => {
  Model.useDatabase(second);
  Model.leaveDatabase(first);
  expect(boundDatabase(Model)).toBe(second);
  expect(await name(Thing)).toBe("second");
});

test("a model can use another connection", async () => {
  class Elsewhere extends Thing {
    static override table = "things";
    static override connection = "b";
  }
  class Nowhere extends Thing {
    static override connection = "c";
  }
  Model.useDatabase(first);
  expect(await name(Elsewhere)).toBe("other");
  await expect(name(Nowhere)).rejects.toMatchObject({ code: "E_DATABASE", message: expect.stringContaining('"c"') });
});

test("a metadata is created once per class", () => {
  Model.useDatabase(first);
  expect(metadataOf(Thing)).toBe(metadataOf(Thing));
  expect(metadataOf(Thing)).not.toBe(metadataOf(Special));
});

test("a table or key that is not an identifier is refused", async () => {
  class Odd extends Thing {
    static override table = 'things" --';
  }
  Model.useDatabase(first);
  await expect(Odd.find(1)).rejects.toMatchObject({ code: "E_INVALID_QUERY" });
});

test("a column named like a method of the model is refused when it is read", async () => {
  Model.useDatabase(first);
  const { kysely } = first.connection("a");
  await kysely.schema.alterTable("things").addColumn("save", "text").execute();
  await expect(Thing.find(1)).rejects.toMatchObject({
    code: "E_INVALID_QUERY",
    message: expect.stringContaining('"save"'),
  });
});

test("a table that has changed in the meantime is read as it is now", async () => {
  Model.useDatabase(first);
  const { kysely } = first.connection("a");
  expect({ ...(await Thing.find(1)) }).toEqual({ id: 1, name: "first" });
  await kysely.schema
    .alterTable("things")
    .addColumn("extra", "integer", (column) => column.defaultTo(5))
    .execute();
  expect({ ...(await Thing.find(1)) }).toEqual({ id: 1, name: "first", extra: 5 });
  await kysely.schema.alterTable("things").dropColumn("name").execute();
  expect({ ...(await Thing.find(1)) }).toEqual({ id: 1, extra: 5 });
});

test("without timestamps, columns with their names are read and stored unchanged", async () => {
  Model.useDatabase(first);
  const { kysely } = first.connection("a");
  await kysely.schema
    .alterTable("things")
    .addColumn("created_at", "integer", (column) => column.defaultTo(5))
    .execute();
  const thing = (await Thing.find(1))!;
  expect({ ...thing }).toEqual({ id: 1, name: "first", created_at: 5 });
  thing.name = "renamed";
  await thing.save();
  expect(Object.keys(thing)).toEqual(["id", "name", "created_at"]);
});

test("a class's cast for a column takes precedence over its base class's", async () => {
  class Listed extends Thing {
    static override table = "things";
    static override casts: Casts = { name: "boolean" };
  }
  class Json extends Listed {
    static override casts: Casts = { name: "json" };
  }
  class Same extends Json {}
  Model.useDatabase(first);
  await first.kysely.updateTable("things").set({ name: "[1]" }).execute();
  expect([await name(Json), await name(Same)]).toEqual([[1], [1]]);
});

test("a class's hidden and guarded columns still apply if a subclass lists its own", async () => {
  class Reserved extends Thing {
    static override table = "things";
    static override hidden: readonly string[] = ["name"];
    static override guarded: readonly string[] = ["name"];
  }
  class Closed extends Reserved {
    static override hidden: readonly string[] = ["id"];
    static override guarded: readonly string[] = ["colour"];
  }
  Model.useDatabase(first);
  const [reserved, closed] = await Promise.all([Reserved.find(1), Closed.find(1)]);
  expect([reserved!.toJSON(), closed!.toJSON()]).toEqual([{ id: 1 }, {}]);
  const fillable = (model: typeof Reserved) => ["name", "colour"].map((column) => model.isFillable(column));
  expect([fillable(Reserved), fillable(Closed)]).toEqual([
    [false, true],
    [false, false],
  ]);
});

test("a row whose key is null cannot be saved, because no row could be identified", async () => {
  Model.useDatabase(first);
  await first.kysely.insertInto("things").values({ id: null, name: "keyless" }).execute();
  const keyless = (await Thing.findBy("name", "keyless"))!;
  keyless.name = "changed";
  await expect(keyless.save()).rejects.toMatchObject({ code: "E_INVALID_QUERY" });
});
