import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Constructor } from "../../support/index.ts";
import { Database } from "../connections/database.ts";
import { compose } from "./compose.ts";
import { Model } from "./model.ts";
import type { ModelClass } from "./model-types.ts";

interface SealsStatics {
  sealColumn: string;
}

/** A mixin with a column that a subclass may rename. */
function Seals<B extends ModelClass>(base: B): B & Constructor<object> & SealsStatics {
  return class extends base {
    static sealColumn = "seal";
    static override get guarded(): readonly string[] {
      return [this.sealColumn];
    }
  };
}

/** A mixin with a column of a fixed name. */
function Counts<B extends ModelClass>(base: B): B {
  return class extends base {
    static override guarded: readonly string[] = ["uses"];
  };
}

class Letter extends compose(Model, Seals, Counts) {
  static override table = "letters";
  static override timestamps = false;
  declare id: number;
  declare title: string | null;
  declare seal: string | null;
  declare uses: number | null;
}

const GREEDY = { id: 7, title: "Dear", seal: "forged", uses: 99, stamp: "forged" };

let database: Database;

beforeEach(async () => {
  database = new Database({ default: "memory", memory: { driver: "sqlite", path: ":memory:" } }, "/");
  Letter.useDatabase(database);
  const table = database.kysely.schema
    .createTable("letters")
    .addColumn("id", "integer", (column) => column.primaryKey());
  await table
    .addColumn("title", "text")
    .addColumn("seal", "text")
    .addColumn("stamp", "text")
    .addColumn("uses", "integer")
    .execute();
});
afterEach(async () => {
  Letter.leaveDatabase(database);
  await database.close();
});

const rows = () => database.kysely.selectFrom("letters").selectAll().execute();

describe("S57 a column guarded by a mixin", () => {
  test("is set by neither fill nor create, even without fillable", async () => {
    expect({ ...new Letter().fill(GREEDY as object) }).toEqual({ title: "Dear", stamp: "forged" });
    await Letter.create(GREEDY as object);
    expect(await rows()).toEqual([{ id: 1, title: "Dear", seal: null, uses: null, stamp: "forged" }]);
  });

  test("is not set on a stored model either", async () => {
    const letter = await Letter.create({ title: "a" });
    letter.seal = "own";
    await letter.save();
    await letter.fill(GREEDY as object).save();
    expect(await rows()).toEqual([{ id: 1, title: "Dear", seal: "own", uses: null, stamp: "forged" }]);
  });

  test("follows the name that the class below uses for the column", () => {
    class Stamped extends Letter {
      static override sealColumn = "stamp";
    }
    expect({ ...new Stamped().fill(GREEDY as object) }).toEqual({ title: "Dear", seal: "forged" });
  });

  test("stays guarded if the class below guards more", () => {
    class Guarded extends Letter {
      static override guarded: readonly string[] = ["title"];
    }
    expect({ ...new Guarded().fill(GREEDY as object) }).toEqual({ stamp: "forged" });
    expect(["id", "title", "seal", "uses", "stamp"].map((column) => Guarded.isFillable(column))).toEqual([
      false,
      false,
      false,
      false,
      true,
    ]);
  });

  test("must not be listed in fillable: the first use of the model fails", async () => {
    class Careless extends Letter {
      static override fillable: readonly string[] = ["title", "seal"];
    }
    const refused = {
      code: "E_INVALID_MODEL",
      message:
        'Careless.fillable names "seal", which the model or one of its mixins guards. ' +
        "Remove it from fillable, and set the column with the mixin's own methods.",
    };
    expect(() => new Careless().fill({ title: "a" })).toThrow(expect.objectContaining(refused));
    await expect(Careless.find(1)).rejects.toMatchObject(refused);
    await expect(Careless.create(GREEDY as object)).rejects.toMatchObject(refused);
    expect(await rows()).toEqual([]);
  });

  test("can still be set on purpose", async () => {
    const letter = new Letter();
    letter.seal = "own";
    await letter.save();
    expect((await rows())[0]).toMatchObject({ seal: "own" });
  });
});
