import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { json, Model, primaryKey, timestamp } from "../../src/database/index.ts";
import { Route } from "../../src/routing/index.ts";
import { AshlarError } from "../../src/support/index.ts";
import { ADA, PASSWORD, type TestAccounts, testAccounts } from "../support/account-application.ts";
import { sentencesIn } from "../support/field-errors.ts";
import { onEachDatabase } from "../support/services.ts";

class Parcel extends Model {
  static override timestamps = false;
  static override casts = { labels: "json", sent_at: "datetime", fragile: "boolean", weight: "integer" } as const;
  declare id: number;
  declare title: string;
  declare place: number | null;
  declare labels: unknown;
  declare sent_at: Date | null;
  declare fragile: boolean | null;
  declare weight: number | null;
}

/** Values other than a single one in a JSON body, and the results of text that a form sends. */
const NO_VALUES: readonly [what: string, value: unknown][] = [
  ["a list", ["a", "b"]],
  ["an empty list", []],
  ["a list of one", [1]],
  ["an object", { a: 1 }],
  ["an empty object", {}],
  ["a NUL", "a\0b"],
  ["half a surrogate pair", "\ud800"],
];

const JSON_ONLY = { accept: "application/json" };

await onEachDatabase("a value from a request that no column can hold", (engine) => {
  let accounts: TestAccounts;

  const ends: (() => Promise<void>)[] = [];

  // One application for all tests, because nearly every one checks at the end that the rows are unchanged.
  beforeAll(async () => {
    accounts = await testAccounts({
      engine,
      atEnd: (end) => ends.unshift(end),
      routes: [
        Route.post("/find", async ({ request }) => Parcel.findOrFail(request.input("value") as number)),
        Route.post(
          "/find-by",
          async ({ request }) =>
            (await Parcel.findBy("title", request.input("value") as string)) ??
            Promise.reject(new AshlarError("E_ROW_NOT_FOUND")),
        ),
        Route.post("/where", ({ request }) => Parcel.where("title", request.input("value") as string).get()),
        Route.post("/where-not", ({ request }) => Parcel.where("title", "!=", request.input("value") as string).get()),
        Route.post("/where-place", ({ request }) => Parcel.where("place", request.input("value") as number).get()),
        Route.post("/where-in", ({ request }) =>
          Parcel.rows()
            .whereIn("title", [request.input("value") as string])
            .get(),
        ),
        Route.post("/listed", ({ request }) =>
          Parcel.rows()
            .whereIn("id", request.input("value") as number[])
            .get(),
        ),
        Route.post("/set", async ({ request }) => {
          const parcel = await Parcel.findOrFail(1);
          parcel.title = request.input("value") as string;
          return parcel.save();
        }),
        Route.post("/fill", async ({ request }) => new Parcel().fill(request.all()).save()),
        Route.post("/refill", async ({ request }) => (await Parcel.findOrFail(1)).fill(request.all()).save()),
        Route.post("/update-all", async ({ request }) => String(await Parcel.where("id", 1).update(request.all()))),
        Route.post("/update", ({ request }) => {
          return Parcel.where("id", 1).update({ title: request.input("value") as string });
        }),
        Route.post("/page", ({ request }) => Parcel.rows().paginate(Number(request.input("value")))),
      ],
    });
    const { kysely } = accounts.database;
    await kysely.schema
      .createTable("parcels")
      .$call(primaryKey(kysely))
      .addColumn("title", "varchar(20)")
      .addColumn("place", "integer")
      .addColumn("labels", json(kysely))
      .addColumn("sent_at", timestamp(kysely))
      .addColumn("fragile", engine.name === "sqlite" ? "integer" : "boolean")
      .addColumn("weight", "bigint")
      .addColumn("size", "integer", (column) => column.notNull().defaultTo(0))
      .execute();
    Parcel.useDatabase(accounts.database);
    await Parcel.create({ title: "a", place: 1 });
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });
  beforeEach(async () => {
    await Parcel.where("id", "!=", 1).delete();
    await Parcel.where("id", 1).update({ title: "a", place: 1 });
  });

  const post = async (path: string, body: object) => accounts.visitor().post(path, body, JSON_ONLY);
  const titles = async () => (await Parcel.all()).map(({ title }) => title);

  describe.each(["/find", "/find-by", "/where", "/where-not", "/where-place", "/where-in", "/set", "/update"])(
    "S36 POST %s",
    (path) => {
      test.each(NO_VALUES)("refuses %s with 422", async (_, value) => {
        const { status, body } = await post(path, { value });
        // Text that no database can store isn't in any row.
        const isMissing = path.startsWith("/find") && typeof value === "string";
        const expected = isMissing ? [404, "E_ROW_NOT_FOUND"] : [422, "E_INVALID_INPUT"];
        expect([status, (body as { readonly code: string }).code]).toEqual(expected);
        expect(JSON.stringify(body)).not.toContain("a\\u0000b");
        expect(await titles()).toEqual(["a"]);
      });
    },
  );

  test("S36 names the field", async () => {
    const { body } = await post("/where", { value: ["a"] });
    expect(body).toMatchObject({
      errors: { title: [{ rule: "database.value", params: {}, message: "This value can't be used here." }] },
    });
  });

  test("S36 true is not the key of any row", async () => {
    expect((await post("/find", { value: true })).status).toBe(422);
  });

  test("S36 whereIn refuses a value that is not a list, a list that is too long, and a nested list", async () => {
    for (const value of ["12", { length: 1 }, [[1]], Array(30_001).fill(1)]) {
      await expect(async () => Parcel.rows().whereIn("id", value as number[])).rejects.toMatchObject({ status: 422 });
    }
    expect((await post("/listed", { value: "12" })).status).toBe(422);
    expect((await post("/listed", { value: [1, 2] })).body).toMatchObject([{ id: 1 }]);
    expect(await Parcel.rows().whereIn("id", Array(30_000).fill(1)).count()).toBe(1);
  });

  test.each([
    ["labels", { a: [1] }, 200],
    ["title", { a: 1 }, 422],
    ["title", ["a"], 422],
    ["sent_at", "not a time", 422],
    ["sent_at", { a: 1 }, 422],
    ["fragile", "yes", 422],
    ["weight", "12", 422],
    ["weight", 1.5, 422],
    ["weight", ["12"], 422],
    ["a b", 1, 422],
    ["save", 1, 422],
  ])("S36 filling in %s with %j returns %i", async (column, value, expected) => {
    const { status } = await post("/fill", { title: "b", [column]: value });
    expect(status === 201 ? 200 : status).toBe(expected);
    expect(await titles()).toEqual(expected === 200 ? ["a", "b"] : ["a"]);
  });

  test("S36 null for a required column, and a name that is not a column's, are refused by field", async () => {
    const body = async (path: string, input: object) => {
      const answer = await post(path, input);
      return [answer.status, sentencesIn(answer.body)];
    };
    const refused = (name: string) => [422, { [name]: ["This value can't be used here."] }];
    expect(await body("/fill", { title: "b", size: null })).toEqual(refused("size"));
    expect(await body("/fill", { title: "b", nowhere: 1 })).toEqual(refused("nowhere"));
    expect(await body("/refill", { size: null })).toEqual(refused("size"));
    expect(await body("/refill", { nowhere: 1, size: 2 })).toEqual(refused("nowhere"));
    expect(await body("/update-all", { size: null })).toEqual(refused("size"));
    expect(await body("/update-all", { nowhere: null })).toEqual(refused("nowhere"));
    expect(await titles()).toEqual(["a"]);
  });

  test("S36 columns that no input can set keep their error: guarded ones, unknown ones, and ones without a value", async () => {
    class Guarded extends Parcel {
      static override table = "parcels";
      static override guarded = ["size", "nowhere"];
    }
    class Listed extends Parcel {
      static override table = "parcels";
      static override fillable = ["nowhere"];
    }
    class Timed extends Parcel {
      static override table = "parcels";
      static override timestamps = true;
    }
    const save = async (model: Parcel, values: object) => await Object.assign(model, values).save();
    await expect(save(new Guarded(), { size: null })).rejects.toMatchObject({ code: "E_NOT_NULL_VIOLATION" });
    for (const model of [new Guarded(), new Listed()]) {
      await expect(save(model, { nowhere: 1 })).rejects.toMatchObject({ code: "E_DATABASE" });
    }
    await expect(save(new Timed(), { title: "b" })).rejects.toMatchObject({ code: "E_DATABASE" });
    const { kysely } = accounts.database;
    await kysely.schema
      .createTable("crates")
      .$call(primaryKey(kysely))
      .addColumn("size", "integer", (size) => size.notNull())
      .execute();
    class Crate extends Parcel {
      static override table = "crates";
    }
    await expect(new Crate().save()).rejects.toMatchObject({ code: "E_NOT_NULL_VIOLATION" });
  });

  test("S36 numbers that are too large or invalid are never a 500", async () => {
    const large = [2n ** 63n, -(2n ** 70n)];
    for (const value of large) {
      expect(await Parcel.find(value)).toBe(null);
      await expect(Parcel.where("weight", value).get()).rejects.toMatchObject({ status: 422 });
      await expect(Parcel.create({ weight: value as never })).rejects.toMatchObject({ status: 422 });
    }
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, new Date(Number.NaN)]) {
      await expect(Parcel.find(value as number)).rejects.toMatchObject({ status: 422 });
      await expect(Parcel.create({ place: value as never })).rejects.toMatchObject({ status: 422 });
    }
    for (const value of ["x", -1, 0, 1.5, 2 ** 53]) expect((await post("/page", { value })).status).toBe(422);
    expect((await post("/find", { value: "no key" })).status).toBe(404);
    expect((await post("/find", { value: 1e300 })).status).toBe(404);
  });

  test("text that is too long for its column is refused, if the database has a limit", async () => {
    const { status } = await post("/set", { value: "x".repeat(21) });
    expect(status).toBe(engine.name === "sqlite" ? 200 : 422);
  });

  const ENDPOINTS: readonly (readonly [path: string, usual: Readonly<Record<string, unknown>>, field: string])[] = [
    ["/login", { password: PASSWORD }, "email"],
    ["/login", { email: ADA.email }, "password"],
    ["/register", { name: "Eve", password: PASSWORD, password_confirmation: PASSWORD }, "email"],
    ["/register", { email: "eve@example.com", password: PASSWORD, password_confirmation: PASSWORD }, "name"],
    ["/register", { name: "Eve", email: "eve@example.com", password_confirmation: PASSWORD }, "password"],
    ["/change_password", {}, "email"],
    ["/password_reset", { password: "staple battery horse", password_confirmation: "staple battery horse" }, "token"],
  ];

  test.each(ENDPOINTS)("S36 POST %s %j accepts only text as %s", async (path, usual, field) => {
    for (const [, value] of NO_VALUES) {
      const { status } = await post(path, { ...usual, [field]: value });
      // A token that is text belongs to no link: its page says so.
      const least = typeof value === "string" ? 302 : 400;
      expect(status, `${field}: ${JSON.stringify(value)}`).toSatisfy((code: number) => code >= least && code < 500);
    }
    const form = new URLSearchParams([
      ...Object.entries(usual).map(([name, text]) => [name, String(text)]),
      [`${field}[]`, "a"],
    ]);
    const request = new Request(`https://shop.example${path}`, { method: "POST", body: form, headers: JSON_ONLY });
    expect((await accounts.application.fetch(request)).status).toBe(422);
    expect(await accounts.rows("users")).toHaveLength(2);
  });
});
