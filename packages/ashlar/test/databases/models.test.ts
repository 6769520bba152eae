import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Casts, json, Model, primaryKey, reference, timestamp, timestamps } from "../../src/database/index.ts";
import { setClock } from "../../src/support/index.ts";
import { onEachDatabase, type TestDatabase } from "../support/services.ts";

class User extends Model {
  static override hidden = ["password"];
  static override casts: Casts = { active: "boolean", settings: "json", verified_at: "datetime", logins: "integer" };
  declare id: number;
  declare email: string;
  declare password: string | null;
  declare active: boolean;
  declare settings: { theme: string; tags?: string[] } | null;
  declare verified_at: Date | null;
  declare logins: number;
  declare created_at: Date;
  declare updated_at: Date;
}

class Tag extends Model {
  static override table = "labels";
  static override primaryKey = "slug";
  static override timestamps = false;
  static override fillable = ["slug", "title"];
  declare slug: string;
  declare title: string;
  declare colour: string | null;
}

const NOON = Date.parse("2026-03-01T12:00:00.000Z");

await onEachDatabase("models", (engine) => {
  let own: TestDatabase;

  beforeAll(async () => {
    own = await engine.open();
    const { kysely } = own.database;
    await kysely.schema
      .createTable("users")
      .$call(primaryKey(kysely))
      .addColumn("email", "varchar(255)", (column) => column.notNull().unique())
      .addColumn("password", "varchar(255)")
      .addColumn("active", "boolean", (column) => column.notNull().defaultTo(true))
      .addColumn("settings", json(kysely))
      .addColumn("verified_at", timestamp(kysely))
      .addColumn("logins", "integer", (column) => column.notNull().defaultTo(0))
      .addColumn("friend_id", reference(kysely), (column) => column.references("users.id"))
      .$call(timestamps(kysely))
      .execute();
    await kysely.schema
      .createTable("labels")
      .addColumn("slug", "varchar(255)", (column) => column.primaryKey())
      .addColumn("title", "varchar(255)", (column) => column.notNull())
      .addColumn("colour", "varchar(255)")
      .execute();
    Model.useDatabase(own.database);
  });
  beforeEach(async () => {
    setClock(() => NOON);
    await own.database.kysely.deleteFrom("users").execute();
    await own.database.kysely.deleteFrom("labels").execute();
  });
  afterEach(() => setClock(null));
  afterAll(() => own.drop());

  const statements = async (task: () => Promise<unknown>): Promise<string[]> => {
    const seen: string[] = [];
    const end = own.database.onQuery(({ sql }) => seen.push(sql));
    await task().finally(end);
    return seen;
  };

  describe("storing", () => {
    test("create stores a row and returns it with the values that the database added", async () => {
      const user = await User.create({ email: "ada@example.com", settings: { theme: "dark" } });
      expect(user).toBeInstanceOf(User);
      expect({ ...user }).toEqual({
        id: expect.any(Number),
        email: "ada@example.com",
        password: null,
        active: true,
        settings: { theme: "dark" },
        verified_at: null,
        logins: 0,
        friend_id: null,
        created_at: new Date(NOON),
        updated_at: new Date(NOON),
      });
      expect({ ...(await User.findOrFail(user.id)) }).toEqual({ ...user });
    });

    test("save writes only the columns that changed, and the time", async () => {
      const user = await User.create({ email: "ada@example.com" });
      setClock(() => NOON + 5000);
      user.email = "countess@example.com";
      const [update, ...more] = await statements(() => user.save());
      expect(update).toMatch(/^update "users" set "email" = \S+, "updated_at" = \S+ where "id" = \S+$/);
      expect(more).toEqual([]);
      expect(user.updated_at).toEqual(new Date(NOON + 5000));
      const stored = await User.findOrFail(user.id);
      expect([stored.email, stored.updated_at, stored.created_at]).toEqual([
        "countess@example.com",
        new Date(NOON + 5000),
        new Date(NOON),
      ]);
    });

    test("save makes no query if nothing has changed", async () => {
      const { id } = await User.create({
        email: "ada@example.com",
        settings: { theme: "dark", tags: ["a"] },
        verified_at: new Date(NOON),
        active: false,
      });
      const user = await User.findOrFail(id);
      user.email = "ada@example.com";
      user.verified_at = new Date(NOON);
      user.settings = { theme: "dark", tags: ["a"] };
      user.active = false;
      expect(user.isDirty()).toBe(false);
      expect(await statements(() => user.save())).toEqual([]);
    });

    test("in-place changes inside JSON are detected and stored", async () => {
      const { id } = await User.create({ email: "ada@example.com", settings: { theme: "dark" } });
      const user = await User.findOrFail(id);
      user.settings!.theme = "light";
      expect([user.isDirty(), user.isDirty("settings")]).toEqual([true, true]);
      expect(user.isDirty("email")).toBe(false);
      await user.save();
      expect((await User.findOrFail(id)).settings).toEqual({ theme: "light" });
      expect(user.isDirty()).toBe(false);
    });

    test("getOriginal returns the stored value until the model is saved", async () => {
      const user = await User.create({
        email: "ada@example.com",
        verified_at: new Date(NOON),
        settings: { theme: "a" },
      });
      user.email = "other@example.com";
      user.verified_at = null;
      user.settings = null;
      expect([user.getOriginal("email"), user.getOriginal("verified_at"), user.getOriginal("settings")]).toEqual([
        "ada@example.com",
        new Date(NOON),
        { theme: "a" },
      ]);
      expect([user.isDirty("email", "logins"), user.isDirty("password", "logins")]).toEqual([true, false]);
      await user.save();
      expect([user.getOriginal("email"), user.getOriginal("verified_at")]).toEqual(["other@example.com", null]);
    });

    test("columns stored by your own statement are recorded, and the rest of the row stays known", async () => {
      const user = await User.create({ email: "ada@example.com" });
      await User.where("id", user.id).update({ logins: 3, verified_at: new Date(NOON) });
      user.noteStored({ logins: 3, verified_at: new Date(NOON) });
      expect([user.logins, user.isDirty(), user.getOriginal("email")]).toEqual([3, false, "ada@example.com"]);
      user.verified_at = null;
      expect(await statements(() => user.save())).toHaveLength(1);
      expect((await User.findOrFail(user.id)).verified_at).toBe(null);
    });

    test("save stores a new model, which counts as stored from then on", async () => {
      const user = new User();
      user.email = "ada@example.com";
      expect([user.isStored(), user.isDirty(), user.getOriginal("email")]).toEqual([false, true, undefined]);
      await user.save();
      expect(user.isStored()).toBe(true);
      expect(await User.rows().count()).toBe(1);
    });

    test("a model without a single value is stored with the defaults", async () => {
      class Empty extends Model {
        static override table = "empties";
        static override timestamps = false;
        declare id: number;
      }
      const { kysely } = own.database;
      await kysely.schema.createTable("empties").$call(primaryKey(kysely)).execute();
      const [first, second] = [await Empty.create({}), await Empty.create({})];
      expect([first.id, second.id]).toEqual([1, 2]);
    });

    test("an undefined attribute is not stored: the default or the stored value stays", async () => {
      const user = new User().fill({ email: "ada@example.com" });
      user.logins = undefined as never;
      await user.save();
      expect(user.logins).toBe(0);
      user.email = undefined as never;
      user.logins = 1;
      await user.save();
      expect(await User.findOrFail(user.id)).toMatchObject({ email: "ada@example.com", logins: 1 });
    });

    test("times set by hand are kept", async () => {
      const user = await User.create({ email: "a@example.com", created_at: new Date(0), updated_at: new Date(0) });
      expect([user.created_at, user.updated_at]).toEqual([new Date(0), new Date(0)]);
      user.email = "b@example.com";
      user.updated_at = new Date(1000);
      await user.save();
      expect((await User.findOrFail(user.id)).updated_at).toEqual(new Date(1000));
    });

    test("the primary key can be changed on purpose", async () => {
      const user = await User.create({ email: "a@example.com" });
      user.id += 1000;
      await user.save();
      expect((await User.findBy("email", "a@example.com"))!.id).toBe(user.id);
    });

    test("saving a row that no longer exists is an error", async () => {
      const user = await User.create({ email: "a@example.com" });
      await User.where("id", user.id).delete();
      user.email = "b@example.com";
      await expect(user.save()).rejects.toMatchObject({ code: "E_ROW_NOT_FOUND", status: 404 });
    });

    test("delete removes the row only once", async () => {
      const user = await User.create({ email: "a@example.com" });
      const same = await User.findOrFail(user.id);
      expect([await user.delete(), await same.delete(), await new User().delete()]).toEqual([true, false, false]);
      expect([user.isStored(), await User.find(user.id)]).toEqual([false, null]);
    });

    test("delete removes no other row", async () => {
      const users = [];
      for (const name of ["a", "b", "c"]) users.push(await User.create({ email: `${name}@example.com` }));
      await users[1]!.delete();
      expect((await User.rows().orderBy("id").get()).map(({ email }) => email)).toEqual([
        "a@example.com",
        "c@example.com",
      ]);
    });

    test("refresh reads the changes of another writer, and drops unsaved ones", async () => {
      const user = await User.create({ email: "a@example.com" });
      await User.where("id", user.id).update({ logins: 7 });
      user.email = "unsaved@example.com";
      await user.refresh();
      expect([user.email, user.logins, user.isDirty()]).toEqual(["a@example.com", 7, false]);
      await user.delete();
      await expect(user.refresh()).rejects.toMatchObject({ code: "E_ROW_NOT_FOUND" });
    });
  });

  describe("finding", () => {
    test("find accepts the key as a number, as text and as a bigint", async () => {
      const { id } = await User.create({ email: "a@example.com" });
      const found = [await User.find(id), await User.find(String(id)), await User.find(BigInt(id))];
      expect(found.map((user) => user?.email)).toEqual(Array(3).fill("a@example.com"));
    });

    test.each(["abc", "", "1; drop table users", "99999999999999999999", "1.5", "\0", "💥"])(
      "find finds nothing under %j",
      async (key) => {
        await User.create({ email: "a@example.com" });
        expect(await User.find(key)).toBe(null);
        expect(await User.rows().count()).toBe(1);
      },
    );

    test("findOrFail throws a 404 if there is no row", async () => {
      await expect(User.findOrFail(123456)).rejects.toMatchObject({ code: "E_ROW_NOT_FOUND", status: 404 });
    });

    test("findBy finds by any column, and by an empty one", async () => {
      await User.create({ email: "a@example.com", password: "x" });
      await User.create({ email: "b@example.com" });
      expect((await User.findBy("email", "a@example.com"))?.password).toBe("x");
      expect((await User.findBy("password", null))?.email).toBe("b@example.com");
      expect(await User.findBy("email", "c@example.com")).toBe(null);
      expect(await User.findBy("email", "A@example.com")).toBe(null);
    });

    test("findBy sends the same compiled statement each time", async () => {
      const seen = await statements(async () => {
        for (const email of ["a", "b", "c"]) await User.findBy("email", email);
      });
      expect(new Set(seen).size).toBe(1);
      expect(seen[0]).toMatch(/^select \* from "users" where "email" = (\?|\$1) limit 1$/);
      expect(await statements(() => User.findBy("password", null))).toEqual([expect.stringMatching(/is null limit/)]);
    });

    test("a model can have a different table and key, and no timestamps", async () => {
      await Tag.create({ slug: "node", title: "Node" });
      expect({ ...(await Tag.findOrFail("node")) }).toEqual({ slug: "node", title: "Node", colour: null });
    });

    test("all returns every row", async () => {
      for (const email of ["a", "b"]) await User.create({ email });
      expect((await User.all()).map((user) => user.email).sort()).toEqual(["a", "b"]);
    });
  });

  describe("filling", () => {
    test("the primary key is not filled, unless fillable names it", async () => {
      const user = await User.create({ id: 4711, email: "a@example.com" });
      expect(user.id).not.toBe(4711);
      expect((await Tag.create({ slug: "kept", title: "Kept" })).slug).toBe("kept");
    });

    test("an undefined value leaves the attribute unchanged", async () => {
      const tag = await Tag.create({ slug: "a", title: "A" });
      expect(tag.fill({ title: undefined }).title).toBe("A");
    });

    test("attributes that fillable does not contain are left out", async () => {
      const tag = await Tag.create({ slug: "a", title: "A", colour: "red" });
      expect(tag.colour).toBe(null);
    });

    test.each([
      "__proto__",
      "constructor",
      "prototype",
      "save",
      "toJSON",
      "toString",
      "a b",
      'a"; drop table users',
      "",
    ])("S43 fill refuses the name %j", (name) => {
      const values = JSON.parse(`{${JSON.stringify(name)}: {"polluted": true}}`);
      const user = new User();
      expect(() => user.fill(values)).toThrow(expect.objectContaining({ code: "E_INVALID_INPUT" }));
      expect(Object.getPrototypeOf(user)).toBe(User.prototype);
      expect(({} as Record<string, unknown>).polluted).toBe(undefined);
    });

    test.each(["__proto__", "email = email or 1", "users.email", "email--", "é"])(
      "a query refuses the column %j",
      async (name) => {
        const column = name as "email";
        const refused = { code: "E_INVALID_INPUT", status: 422 };
        await expect(User.findBy(column, "x")).rejects.toMatchObject(refused);
        for (const use of [
          () => User.where(column, "x"),
          () => User.rows().whereIn(column, ["x"]),
          () => User.rows().whereNull(column),
          () => User.rows().whereNotNull(column),
          () => User.rows().orderBy(column),
        ]) {
          expect(use).toThrow(expect.objectContaining(refused));
        }
        await expect(User.rows().update({ [name]: "x" } as object)).rejects.toMatchObject(refused);
      },
    );

    test("S36 a list or an object cannot be looked up", async () => {
      await User.create({ email: "a@example.com" });
      const values = [
        ["a@example.com"],
        { email: 1 },
        Number.NaN,
        new Date(Number.NaN),
        undefined,
        Symbol("x"),
        () => "x",
      ];
      for (const value of values as never[]) {
        const isInput = ["object", "number"].includes(typeof value);
        const refused = { code: isInput ? "E_INVALID_INPUT" : "E_INVALID_QUERY" };
        await expect(User.findBy("email", value)).rejects.toMatchObject(refused);
        expect(() => User.where("email", value)).toThrow(expect.objectContaining(refused));
        expect(() => User.rows().whereIn("email", [value])).toThrow(expect.objectContaining(refused));
      }
    });

    test("S36 true is not a key, although SQLite would find the first row by it", async () => {
      await User.create({ email: "a@example.com" });
      for (const key of [true, false] as never[]) {
        await expect(User.find(key)).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
      }
    });
  });

  describe("casts", () => {
    test("every kind is read back unchanged, with its type", async () => {
      const values = {
        email: "a",
        active: false,
        settings: { theme: "ü", tags: ["1"] },
        verified_at: new Date(NOON + 123),
        logins: 3,
      };
      const { id } = await User.create(values);
      const { email, active, settings, verified_at, logins } = await User.findOrFail(id);
      expect({ email, active, settings, verified_at, logins }).toEqual(values);
    });

    test("null stays null", async () => {
      const { id } = await User.create({ email: "a", settings: null, verified_at: null });
      const user = await User.findOrFail(id);
      expect([user.settings, user.verified_at]).toEqual([null, null]);
    });

    test.each([{ a: 1 }, ["x"], "text", "", 7, false])("JSON like %j is read back unchanged", async (value) => {
      const { id } = await User.create({ email: "a", settings: value as never });
      const user = await User.findOrFail(id);
      expect(user.settings).toEqual(value);
      expect(user.isDirty()).toBe(false);
    });

    test("times compare as times", async () => {
      for (const [email, time] of [
        ["early", "2026-01-01T00:00:00.000Z"],
        ["late", "2026-01-01T00:00:00.001Z"],
      ] as const) {
        await User.create({ email, verified_at: new Date(time) });
      }
      const before = await User.where("verified_at", "<", new Date("2026-01-01T00:00:00.001Z")).get();
      const exact = await User.where("verified_at", new Date("2026-01-01T00:00:00.001Z")).get();
      const zoned = await User.where("verified_at", ">=", new Date("2026-01-01T01:00:00.001+01:00")).get();
      expect([before, exact, zoned].map((users) => users.map((user) => user.email))).toEqual([
        ["early"],
        ["late"],
        ["late"],
      ]);
    });

    test("the database's own time is in the format of the models' times", async () => {
      setClock(null);
      await own.database.kysely.insertInto("users").values({ email: "raw" }).execute();
      const user = (await User.findBy("email", "raw"))!;
      expect(Math.abs(user.created_at.getTime() - Date.now())).toBeLessThan(60_000);
      expect(await User.where("created_at", "<=", new Date(Date.now() + 60_000)).count()).toBe(1);
    });

    test("booleans can be looked up", async () => {
      await User.create({ email: "on", active: true });
      await User.create({ email: "off", active: false });
      expect((await User.findBy("active", false))?.email).toBe("off");
      expect((await User.where("active", true).get()).map((user) => user.email)).toEqual(["on"]);
    });

    test.each([
      ["active", "yes"],
      ["verified_at", "soon"],
      ["logins", 1.5],
    ])("%s refuses %j, without repeating it", async (column, value) => {
      const user = new User();
      user.email = "a";
      (user as unknown as Record<string, unknown>)[column] = value;
      const error = await user.save().catch((caught: unknown) => caught as Error);
      expect(error).toMatchObject({ code: "E_INVALID_INPUT" });
      expect((error as Error).message).not.toContain(String(value));
    });
  });

  describe("numbers", () => {
    test("a large integer is a bigint only if a number could not hold it", async () => {
      const { kysely } = own.database;
      await kysely.schema
        .createTable("numbers")
        .addColumn("name", "varchar(20)", (column) => column.primaryKey())
        .addColumn("value", "bigint")
        .execute();
      class Numeral extends Model {
        static override table = "numbers";
        static override timestamps = false;
        static override primaryKey = "name";
        static override fillable = ["name", "value"];
        declare name: string;
        declare value: number | bigint;
      }
      await Numeral.create({ name: "small", value: 42 });
      await Numeral.create({ name: "safe", value: Number.MAX_SAFE_INTEGER });
      const large = await Numeral.create({ name: "large", value: 9007199254740993n });
      expect(large.value).toBe(9007199254740993n);
      for (let round = 0; round < 2; round++) {
        const values = await Promise.all(
          ["small", "safe", "large"].map(async (name) => (await Numeral.find(name))?.value),
        );
        expect(values).toEqual([42, Number.MAX_SAFE_INTEGER, 9007199254740993n]);
      }
      expect((await Numeral.rows().orderBy("value").get()).map(({ name }) => name)).toEqual(["small", "safe", "large"]);
      expect((await Numeral.findBy("value", 9007199254740993n))?.name).toBe("large");
      expect(JSON.stringify(large)).toBe('{"name":"large","value":"9007199254740993"}');
    });
  });

  describe("JSON", () => {
    test("hidden columns are left out, also inside a list", async () => {
      const user = await User.create({ email: "a@example.com", password: "secret" });
      const json = JSON.stringify({ users: [user] });
      expect(json).not.toContain("secret");
      expect(json).not.toContain("password");
      expect(JSON.parse(json).users[0]).toMatchObject({
        email: "a@example.com",
        created_at: "2026-03-01T12:00:00.000Z",
      });
    });

    test("toJSON returns times as text", async () => {
      const user = await User.create({ email: "a@example.com" });
      expect(user.toJSON().created_at).toBe("2026-03-01T12:00:00.000Z");
    });
  });

  describe("Kysely", () => {
    test("query returns a select on the table", async () => {
      await User.create({ email: "a@example.com" });
      const rows = await User.query().select("email").where("email", "like", "a%").execute();
      expect(rows).toEqual([{ email: "a@example.com" }]);
    });

    test("fromRow creates a model from a row fetched by a separate query", async () => {
      await User.create({ email: "a@example.com", active: false });
      const row = await own.database.kysely.selectFrom("users").selectAll().executeTakeFirstOrThrow();
      const user = User.fromRow(row as Record<string, unknown>);
      expect([user.active, user.created_at]).toEqual([false, new Date(NOON)]);
      user.email = "b@example.com";
      await user.save();
      expect(await User.where("email", "b@example.com").exists()).toBe(true);
    });

    test("a row without its key can be read but not saved", async () => {
      await User.create({ email: "a@example.com" });
      const user = User.fromRow({ email: "a@example.com" });
      user.email = "b@example.com";
      await expect(user.save()).rejects.toMatchObject({
        code: "E_INVALID_QUERY",
        message: "The model User was read without its primary key.",
      });
    });
  });
});
