import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Model, primaryKey, sql, timestamp, timestamps } from "../../src/database/index.ts";
import { metadataOf } from "../../src/database/models/model-metadata.ts";
import { setClock } from "../../src/support/index.ts";
import { onEachDatabase, type TestDatabase } from "../support/services.ts";

class Book extends Model {
  declare id: number;
  declare title: string;
  declare pages: number;
  declare lent_at: Date | null;
  declare created_at: Date;
  declare updated_at: Date;
}

await onEachDatabase("queries", (engine) => {
  let own: TestDatabase;

  beforeAll(async () => {
    own = await engine.open();
    const { kysely } = own.database;
    await kysely.schema
      .createTable("books")
      .$call(primaryKey(kysely))
      .addColumn("title", "varchar(255)", (column) => column.notNull())
      .addColumn("pages", "integer", (column) => column.notNull())
      .addColumn("lent_at", timestamp(kysely))
      .$call(timestamps(kysely))
      .execute();
    Book.useDatabase(own.database);
  });
  beforeEach(async () => {
    await own.database.kysely.deleteFrom("books").execute();
    for (const [title, pages] of [
      ["Emma", 474],
      ["Dune", 412],
      ["Ulysses", 730],
      ["Emil", 160],
    ] as const) {
      await Book.create({ title, pages, lent_at: title === "Dune" ? new Date(0) : null });
    }
  });
  afterAll(() => own.drop());

  const titles = (books: readonly Book[]): string[] => books.map(({ title }) => title).sort();

  test("conditions are joined by and", async () => {
    const books = await Book.where("pages", ">", 400).where("title", "like", "E%").get();
    expect(titles(books)).toEqual(["Emma"]);
  });

  test.each([
    ["=", 412, ["Dune"]],
    ["!=", 412, ["Emil", "Emma", "Ulysses"]],
    ["<>", 412, ["Emil", "Emma", "Ulysses"]],
    ["<", 412, ["Emil"]],
    ["<=", 412, ["Dune", "Emil"]],
    [">", 474, ["Ulysses"]],
    [">=", 474, ["Emma", "Ulysses"]],
  ] as const)("filters pages by %s %i", async (operator, value, expected) => {
    expect(titles(await Book.where("pages", operator, value).get())).toEqual(expected);
  });

  test("like and not like filter by a pattern", async () => {
    expect(titles(await Book.where("title", "like", "Em%").get())).toEqual(["Emil", "Emma"]);
    expect(titles(await Book.where("title", "not like", "Em%").get())).toEqual(["Dune", "Ulysses"]);
  });

  test("null is found by = and by whereNull, and left out by != and whereNotNull", async () => {
    const empty = ["Emil", "Emma", "Ulysses"];
    expect(titles(await Book.where("lent_at", null).get())).toEqual(empty);
    expect(titles(await Book.where("lent_at", "=", null).get())).toEqual(empty);
    expect(titles(await Book.rows().whereNull("lent_at").get())).toEqual(empty);
    expect(titles(await Book.where("lent_at", "!=", null).get())).toEqual(["Dune"]);
    expect(titles(await Book.where("lent_at", "<>", null).get())).toEqual(["Dune"]);
    expect(titles(await Book.rows().whereNotNull("lent_at").get())).toEqual(["Dune"]);
    expect(() => Book.where("lent_at", "<", null)).toThrow(expect.objectContaining({ code: "E_INVALID_QUERY" }));
  });

  test("whereIn accepts several values, one value and none", async () => {
    expect(titles(await Book.rows().whereIn("pages", [160, 730, 1]).get())).toEqual(["Emil", "Ulysses"]);
    expect(titles(await Book.rows().whereIn("title", ["Dune"]).get())).toEqual(["Dune"]);
    expect(await Book.rows().whereIn("title", []).count()).toBe(0);
    expect(await Book.rows().whereIn("title", []).delete()).toBe(0);
  });

  test("an unknown operator is refused", () => {
    expect(() => Book.where("pages", "or 1=1 --" as "=", 1)).toThrow(
      expect.objectContaining({ code: "E_INVALID_QUERY" }),
    );
    expect(() => Book.rows().orderBy("pages", "asc; --" as "asc")).toThrow(
      expect.objectContaining({ code: "E_INVALID_INPUT" }),
    );
  });

  test("S168 a column that the table does not have is the client's mistake, unless the class names it", async () => {
    const name = "shelf" as "title";
    const queries: (() => Promise<unknown>)[] = [
      () => Book.findBy(name, "x"),
      () => Book.findBy(name, null as never),
      () => Book.where(name, "x").get(),
      () => Book.where("title", "Emma").where(name, "like", "x%").first(),
      () => Book.where(name, "x").count(),
      () => Book.where(name, "x").exists(),
      () => Book.where(name, "x").paginate(),
      () => Book.where(name, "x").delete(),
      () => Book.where(name, "x").update({ title: "x" }),
      () => Book.rows().whereIn(name, ["x"]).get(),
      () => Book.rows().whereNull(name).get(),
      () => Book.rows().whereNotNull(name).get(),
      () => Book.rows().orderBy("pages").orderBy(name, "desc").get(),
      () => Book.rows().orderBy(name).first(),
      () => Book.rows().orderBy(name).paginate(),
    ];
    for (const query of queries) {
      await expect(query(), String(query)).rejects.toMatchObject({
        code: "E_INVALID_INPUT",
        status: 422,
        message: '"shelf" is not a column of the table "books".',
      });
    }
    class Shelved extends Book {
      static override table = "books";
      static override casts = { shelf: "json" } as const;
    }
    await expect(Shelved.where(name, "x").get()).rejects.toMatchObject({ code: "E_DATABASE", status: 500 });
    await expect(Shelved.findBy(name, "x")).rejects.toMatchObject({ code: "E_DATABASE", status: 500 });
  });

  test("S168 remembered lookups don't grow with names of nonexistent columns", async () => {
    await Book.findBy("title", "Emma");
    const before = metadataOf(Book).lookups.size;
    for (let index = 0; index < 20; index++) await Book.findBy(`none_${index}` as "title", "x").catch(() => {});
    expect(metadataOf(Book).lookups.size).toBe(before);
  });

  test("S169 rows are ordered by a hidden column only if that is allowed, however its name is capitalized", async () => {
    class Secretive extends Book {
      static override table = "books";
      static override hidden = ["pages"];
    }
    for (const name of ["pages", "PAGES", "Pages"]) {
      const query = Secretive.rows()
        .orderBy("title")
        .orderBy(name as "pages");
      for (const run of [() => query.get(), () => query.first(), () => query.paginate()]) {
        await expect(run()).rejects.toMatchObject({ code: "E_INVALID_INPUT", status: 422 });
      }
    }
    const allowed = await Secretive.rows()
      .orderBy("pages", { allow: ["pages"] })
      .get();
    expect(allowed.map(({ title }) => title)).toEqual(["Emil", "Dune", "Emma", "Ulysses"]);
  });

  test("S169 a request orders only by permitted columns", async () => {
    const sorted = async (column: unknown, direction?: unknown) =>
      (
        await Book.rows()
          .orderBy(column, { allow: ["title", "pages"], direction })
          .get()
      ).map(({ title }) => title);
    expect(await sorted("title")).toEqual(["Dune", "Emil", "Emma", "Ulysses"]);
    expect(await sorted("pages", "desc")).toEqual(["Ulysses", "Emma", "Dune", "Emil"]);
    expect((await sorted(undefined)).toSorted()).toEqual(["Dune", "Emil", "Emma", "Ulysses"]);
    expect((await sorted(null, "desc")).toSorted()).toEqual(["Dune", "Emil", "Emma", "Ulysses"]);
    for (const column of ["id", "TITLE", "title desc", "", ["title"], { title: 1 }, 1, true, "__proto__"]) {
      await expect(sorted(column)).rejects.toMatchObject({
        code: "E_INVALID_INPUT",
        status: 422,
        message: "Rows can be ordered by title, pages, and by nothing else.",
      });
    }
    for (const direction of ["", "DESC", "desc; --", ["asc"], null, 1]) {
      await expect(sorted("title", direction)).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
    }
  });

  test("order, limit and offset apply to the query", async () => {
    const ordered = Book.rows().orderBy("pages", "desc");
    const pages = async (query: typeof ordered): Promise<number[]> => (await query.get()).map((book) => book.pages);
    expect(await pages(ordered)).toEqual([730, 474, 412, 160]);
    expect(await pages(ordered.limit(2))).toEqual([730, 474]);
    expect(await pages(ordered.limit(2).offset(1))).toEqual([474, 412]);
    expect(await pages(ordered.offset(3))).toEqual([160]);
    expect(await pages(ordered.limit(0))).toEqual([]);
    const newLast = Book.rows().whereIn("title", ["Dune", "Emma", "Emil"]).orderBy("created_at").orderBy("pages");
    await own.database.kysely
      .updateTable("books")
      .set({ created_at: new Date(0) })
      .where("title", "=", "Emma")
      .execute();
    await own.database.kysely
      .updateTable("books")
      .set({ created_at: new Date(9) })
      .where("title", "!=", "Emma")
      .execute();
    expect(await pages(newLast)).toEqual([474, 160, 412]);
    for (const number of [-1, 1.5, Number.NaN, "1" as never]) {
      expect(() => ordered.limit(number)).toThrow(expect.objectContaining({ code: "E_INVALID_INPUT" }));
      expect(() => ordered.offset(number)).toThrow(expect.objectContaining({ code: "E_INVALID_INPUT" }));
    }
  });

  test("a query is not changed by queries built from it", async () => {
    const thick = Book.where("pages", ">", 400);
    expect(await thick.where("title", "Dune").limit(1).count()).toBe(1);
    expect(await thick.count()).toBe(3);
  });

  test("first, count and exists return their result", async () => {
    expect((await Book.rows().orderBy("pages").first())?.title).toBe("Emil");
    expect((await Book.rows().orderBy("pages").offset(1).first())?.title).toBe("Dune");
    expect(await Book.where("pages", 1).first()).toBe(null);
    expect(await Book.rows().count()).toBe(4);
    expect([await Book.where("pages", 160).exists(), await Book.where("pages", 161).exists()]).toEqual([true, false]);
  });

  test("update changes all rows in one statement, including their time, and returns how many", async () => {
    setClock(() => Date.parse("2030-01-01T00:00:00Z"));
    expect(await Book.where("pages", "<", 450).update({ lent_at: new Date(5) })).toBe(2);
    setClock(null);
    const changed = await Book.where("lent_at", new Date(5)).get();
    expect(titles(changed)).toEqual(["Dune", "Emil"]);
    expect(changed.map((book) => book.updated_at.toISOString())).toEqual(Array(2).fill("2030-01-01T00:00:00.000Z"));
    expect(await Book.where("pages", 1).update({ pages: 2 })).toBe(0);
  });

  test("update counts the rows it found, even if they already had the value", async () => {
    expect(await Book.where("title", "Dune").update({ pages: 412 })).toBe(1);
  });

  test("delete returns how many", async () => {
    expect(await Book.where("pages", "<", 450).delete()).toBe(2);
    expect(titles(await Book.all())).toEqual(["Emma", "Ulysses"]);
  });

  test.each(["a\0b", "\ud800"])("text that no database can store is refused in your own SQL too: %j", async (text) => {
    const { kysely } = own.database;
    await expect(sql`select ${text} as text`.execute(kysely)).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
    const update = kysely.updateTable("books").set({ title: text }).execute();
    await expect(update).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
  });

  test("update leaves a column that is set to undefined unchanged", async () => {
    expect(await Book.where("title", "Emma").update({ title: "Emma again", pages: undefined })).toBe(1);
    expect((await Book.findBy("title", "Emma again"))?.pages).toBeGreaterThan(0);
  });

  test("update and delete refuse clauses that databases interpret differently", async () => {
    for (const query of [Book.rows().limit(1), Book.rows().offset(1), Book.rows().orderBy("id")]) {
      const refusal = (verb: string): object => ({
        code: "E_INVALID_QUERY",
        message: `A query with an order, a limit or an offset cannot ${verb}.`,
      });
      await expect(query.update({ pages: 1 })).rejects.toMatchObject(refusal("update"));
      await expect(query.delete()).rejects.toMatchObject(refusal("delete"));
    }
    await expect(Book.rows().update({})).rejects.toMatchObject({ code: "E_INVALID_QUERY" });
    await expect(Book.rows().update({ pages: undefined })).rejects.toMatchObject({ code: "E_INVALID_QUERY" });
    expect(await Book.rows().count()).toBe(4);
  });

  test("mistakes in a range of rows are reported under their names", async () => {
    const attempts: readonly [field: string, attempt: () => unknown][] = [
      ["direction", () => Book.rows().orderBy("pages", "up" as never)],
      ["limit", () => Book.rows().limit(-1)],
      ["offset", () => Book.rows().offset(1.5)],
      ["page", () => Book.rows().paginate(0)],
      ["perPage", () => Book.rows().paginate(1, 0)],
    ];
    for (const [field, attempt] of attempts) {
      const errors = { [field]: [{ rule: "database.value", params: {}, message: "This value can't be used here." }] };
      await expect((async () => attempt())()).rejects.toMatchObject({ code: "E_INVALID_INPUT", errors });
    }
  });

  test("paginate returns a page and the totals", async () => {
    expect(await Book.rows().orderBy("id").paginate(2, 1)).toMatchObject({
      data: [{ title: "Dune" }],
      total: 4,
      lastPage: 4,
    });
    const { data, ...numbers } = await Book.rows().orderBy("pages").paginate(2, 3);
    expect(titles(data)).toEqual(["Ulysses"]);
    expect(numbers).toEqual({ total: 4, page: 2, perPage: 3, lastPage: 2 });
    expect(await Book.where("pages", 1).paginate()).toEqual({ data: [], total: 0, page: 1, perPage: 20, lastPage: 1 });
    expect((await Book.rows().paginate(9, 3)).data).toEqual([]);
    for (const [page, perPage] of [
      [0, 1],
      [1, 0],
      [Number.NaN, 1],
      ["1" as never, 1],
    ] as const) {
      await expect(Book.rows().paginate(page, perPage)).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
    }
  });
});
