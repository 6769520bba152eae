import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Casts, type ComparisonOperator, json, Model, primaryKey, timestamp } from "../../src/database/index.ts";
import { anyText } from "../support/any-text.ts";
import { onEachDatabase, type TestDatabase } from "../support/services.ts";

class Sample extends Model {
  static override timestamps = false;
  static override casts: Casts = { moment: "datetime", data: "json", flag: "boolean" };
  declare id: number;
  declare text: string | null;
  declare number: number | null;
  declare moment: Date | null;
  declare data: unknown;
  declare flag: boolean | null;
}

/** Text as PostgreSQL can store it: it has no NUL. */
const text = fc.string({ unit: "grapheme", maxLength: 40 }).filter((value) => !value.includes("\0"));
const number = fc.integer({ min: -2_147_483_648, max: 2_147_483_647 });
const moment = fc.date({ min: new Date("1900-01-01"), max: new Date("2999-12-31"), noInvalidDate: true });
const data = fc.jsonValue({ maxDepth: 3 }).filter((value) => !JSON.stringify(value).includes("\\u0000"));
const sample = fc.record({
  text: fc.option(text),
  number: fc.option(number),
  moment: fc.option(moment),
  data: fc.option(data.map((value) => JSON.parse(JSON.stringify(value)) as unknown)),
  flag: fc.option(fc.boolean()),
});

const COMPARE: Partial<Record<ComparisonOperator, (a: number, b: number) => boolean>> = {
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};

await onEachDatabase("any values", (engine) => {
  let own: TestDatabase;

  beforeAll(async () => {
    own = await engine.open();
    const { kysely } = own.database;
    await kysely.schema
      .createTable("samples")
      .$call(primaryKey(kysely))
      .addColumn("text", "text")
      .addColumn("number", "integer")
      .addColumn("moment", timestamp(kysely))
      .addColumn("data", json(kysely))
      .addColumn("flag", "boolean")
      .execute();
    Sample.useDatabase(own.database);
  });
  beforeEach(async () => {
    await own.database.kysely.deleteFrom("samples").execute();
  });
  afterAll(() => own.drop());

  test("stored values are read back unchanged, are not dirty, and find their row", async () => {
    await fc.assert(
      fc.asyncProperty(sample, async (values) => {
        const { id } = await Sample.create(values);
        const found = await Sample.findOrFail(id);
        expect({ ...found }).toEqual({ id, ...values });
        expect(found.isDirty()).toBe(false);
        for (const column of ["text", "number", "moment", "flag"] as const) {
          expect(await Sample.where("id", id).where(column, values[column]).exists()).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("an updated row is stored with the new values", async () => {
    await fc.assert(
      fc.asyncProperty(sample, sample, async (before, after) => {
        const model = await Sample.create(before);
        Object.assign(model, after);
        await model.save();
        expect({ ...(await Sample.findOrFail(model.id)) }).toEqual({ id: model.id, ...after });
        expect(model.isDirty()).toBe(false);
      }),
      { numRuns: 40 },
    );
  });

  test("any text in a lookup is a value and never SQL", async () => {
    await Sample.create({ text: "kept" });
    const hostile = fc.oneof(
      anyText(),
      fc.constantFrom(
        "' or '1'='1",
        '" or ""="',
        "'; drop table samples; --",
        "\\'",
        "kept' --",
        "$1",
        "?",
        "\0",
        "\ud800",
      ),
    );
    await fc.assert(
      fc.asyncProperty(hostile, async (value) => {
        fc.pre(value !== "kept");
        expect(await Sample.findBy("text", value)).toBe(null);
        expect(await Sample.find(value)).toBe(null);
      }),
      { numRuns: 60 },
    );
    expect(await Sample.rows().count()).toBe(1);
  });

  test("conditions select the same rows as in JavaScript", async () => {
    const numbers = fc.array(fc.option(fc.integer({ min: -3, max: 3 })), { minLength: 1, maxLength: 8 });
    const condition = fc.record({
      operator: fc.constantFrom(...(Object.keys(COMPARE) as ComparisonOperator[])),
      value: fc.integer({ min: -3, max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(numbers, fc.array(condition, { maxLength: 3 }), async (values, conditions) => {
        await own.database.kysely.deleteFrom("samples").execute();
        for (const one of values) await Sample.create({ number: one });
        let query = Sample.rows();
        let expected = values;
        for (const { operator, value } of conditions) {
          query = query.where("number", operator, value);
          // NULL compares with nothing, so no comparison finds it.
          expected = expected.filter((one) => one !== null && COMPARE[operator]!(one, value));
        }
        const found = (await query.orderBy("id").get()).map((row) => row.number);
        expect(found).toEqual(expected);
        expect([await query.count(), await query.exists()]).toEqual([expected.length, expected.length > 0]);
        expect(await query.delete()).toBe(expected.length);
        expect(await Sample.rows().count()).toBe(values.length - expected.length);
      }),
      { numRuns: 40 },
    );
  });
});
