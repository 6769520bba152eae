import { expect, onTestFinished, test } from "vitest";
import { onEachDatabase } from "../../../test/support/services.ts";
import type { Database } from "../connections/database.ts";
import { compose } from "./compose.ts";
import { Model } from "./model.ts";
import type { ModelClass, Normalizers } from "./model-types.ts";

/** A mixin that normalizes a column. */
function Tagged<B extends ModelClass>(base: B): B {
  return class extends base {
    static override normalizes: Normalizers = { tag: (text) => text.toLowerCase() };
  };
}

class Coupon extends compose(Model, Tagged) {
  static override table = "coupons";
  static override timestamps = false;
  static override normalizes: Normalizers = { code: (text) => text.trim().toUpperCase() };
  declare id: number;
  declare code: string | null;
  declare tag: string | null;
  declare note: string | null;
}

await onEachDatabase("static normalizes", (engine) => {
  const contents = {
    name: "coupons",
    async fill({ kysely }: Database): Promise<void> {
      const table = kysely.schema.createTable("coupons").addColumn("id", "integer", (column) => column.primaryKey());
      await table
        .addColumn("code", "varchar(20)")
        .addColumn("tag", "varchar(20)")
        .addColumn("note", "varchar(20)")
        .execute();
    },
  };

  async function coupons(): Promise<Database> {
    const { database, drop } = await engine.open({}, contents);
    Coupon.useDatabase(database);
    onTestFinished(async () => {
      Coupon.leaveDatabase(database);
      await drop();
    });
    return database;
  }

  const rows = (database: Database) => database.kysely.selectFrom("coupons").selectAll().orderBy("id").execute();

  test("stores text in its normal form, however the column was set, and leaves others alone", async () => {
    const database = await coupons();
    const made = await Object.assign(new Coupon(), { id: 1, code: " a1 ", tag: "NEW", note: " As Is" }).save();
    expect(made).toMatchObject({ code: "A1", tag: "new", note: " As Is" });
    made.code = "b2 ";
    expect((await made.save()).code).toBe("B2");
    await Object.assign(new Coupon().fill({ code: "c3" }), { id: 2 }).save();
    await Coupon.where("id", 2).update({ code: "d4" });
    expect(await rows(database)).toMatchObject([
      { code: "B2", tag: "new", note: " As Is" },
      { code: "D4", tag: null },
    ]);
  });

  test("another spelling of the stored value is not a change, and an earlier row stays until its column is set", async () => {
    const database = await coupons();
    await database.kysely.insertInto("coupons").values({ id: 1, code: "old", tag: "new", note: null }).execute();
    const coupon = await Coupon.findOrFail(1);
    coupon.tag = "NEW";
    expect([coupon.isDirty("tag"), coupon.isDirty("code")]).toEqual([false, false]);
    coupon.note = "x";
    await coupon.save();
    expect(await rows(database)).toMatchObject([{ code: "old", note: "x" }]);
    coupon.code = " Old";
    await coupon.save();
    expect(await rows(database)).toMatchObject([{ code: "OLD" }]);
  });

  test("a save that is rolled back leaves the value as it was set", async () => {
    const database = await coupons();
    const coupon = await Object.assign(new Coupon(), { id: 1, code: "a1" }).save();
    const undone = database.transaction(async () => {
      coupon.code = "b2";
      await coupon.save();
      throw new Error("undone");
    });
    await expect(undone).rejects.toThrow("undone");
    expect([coupon.code, coupon.isDirty("code")]).toEqual(["b2", true]);
    expect((await coupon.save()).code).toBe("B2");
  });
});
