import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { copyDatabase } from "../../src/cli/database-copy/copy-database.ts";
import {
  Database,
  type DialectSource,
  Migrations,
  type Row,
  sql,
  sqlite as sqliteFile,
} from "../../src/database/index.ts";
import { DATABASE_MODULE } from "../support/migration-folder.ts";
import {
  mariadb,
  onEachDatabase,
  onMariadb,
  onPostgres,
  postgres,
  sqlite,
  type TestDatabase,
  type TestEngine,
} from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const MIGRATION = `
  import { json, longText, primaryKey, reference, sql, timestamp, timestamps } from "${DATABASE_MODULE}";
  export async function up(database) {
    const { schema } = database;
    await schema.createTable("posts").$call(primaryKey(database))
      .addColumn("title", "varchar(20)", (column) => column.notNull())
      .addColumn("author_id", reference(database), (column) => column.references("authors.id"))
      .addColumn("parent_id", reference(database), (column) => column.references("posts.id"))
      .$call(timestamps(database)).execute();
  }`;

const BEFORE = `
  import { json, longText, primaryKey, reference, sql, timestamp, timestamps } from "${DATABASE_MODULE}";
  export async function up(database) {
    const { schema } = database;
    const isPostgres = json(database) === "jsonb";
    await schema.createTable("authors").$call(primaryKey(database))
      .addColumn("is_active", "boolean").addColumn("settings", json(database)).addColumn("biography", longText(database))
      .addColumn("photo", isPostgres ? "bytea" : "blob").addColumn("balance", "decimal(12, 2)").addColumn("rank", "double precision")
      .addColumn("large", "bigint").addColumn("seen_at", timestamp(database)).execute();
    await schema.createTable("memberships")
      .addColumn("author_id", reference(database), (column) => column.notNull().references("authors.id"))
      .addColumn("name", "varchar(40)", (column) => column.notNull())
      .addPrimaryKeyConstraint("memberships_primary", ["author_id", "name"]).execute();
    await schema.createTable("notes").addColumn("note", "varchar(40)").addColumn("n", "integer").execute();
    await schema.createTable("countries").addColumn("code", "varchar(2)", (column) => column.primaryKey())
      .addColumn("name", "varchar(40)").addColumn("added_at", timestamp(database)).execute();
    await database.insertInto("countries").values({ code: "NO", name: "Norway", added_at: new Date() }).execute();
    await database.insertInto("countries").values({ code: "FI", name: "Finland", added_at: new Date() }).execute();
  }`;

const CITIES = `
  export async function up(database) {
    await database.schema.createTable("cities").addColumn("name", "varchar(40)", (column) => column.primaryKey())
      .addColumn("country", "varchar(2)", (column) => column.notNull().references("countries.code")).execute();
    await database.insertInto("cities").values({ name: "Tampere", country: "FI" }).execute();
  }`;

const SEEN_AT = new Date("2026-02-03T04:05:06.789Z");
const PHOTO = Uint8Array.from({ length: 256 }, (_, byte) => byte);
const AUTHOR = {
  ...{ id: 3, is_active: true, settings: '{"z": [1, "ä"], "a": null}', biography: "Œuvre 🏔\n", photo: PHOTO },
  ...{ balance: "19.90", rank: 0.1, large: 9_007_199_254_740_993n, seen_at: SEEN_AT },
};
const NONE = { is_active: null, settings: null, biography: null, photo: null, balance: null, rank: null };

/** A copy of every table, without reports. */
const QUIETLY = { from: "from", to: "to", skip: [], begin: () => {}, progress: () => {} };

/** The target's triggers by what they do, and the table whose rows they change. */
const TRIGGERS = [
  [
    "loses a row",
    "create trigger loses before insert on notes when new.n = 7 begin select raise(ignore); end",
    "notes",
  ],
  // Even of a table that was already copied.
  [
    "adds rows",
    "create trigger adds after insert on posts begin insert into authors (large) values (1); end",
    "authors",
  ],
] as const;

await onEachDatabase("db:copy from SQLite", (engine) => {
  let from: TestDatabase;
  let to: TestDatabase;
  let both: Database;
  let root: string;

  beforeEach(async () => {
    root = await temporaryFolder();
    await mkdir(join(root, "database/migrations"), { recursive: true });
    await writeFile(join(root, "database/migrations/2026_01_01_000000_before.ts"), BEFORE);
    await writeFile(join(root, "database/migrations/2026_01_02_000000_posts.ts"), MIGRATION);
    [from, to] = [await sqlite.open(), await engine.open()];
    for (const { database } of [from, to]) await new Migrations(database, join(root, "database/migrations")).up();
    both = new Database({ default: "from", from: from.configuration, to: to.configuration }, root);
    await fill(from.database);
  });
  afterEach(async () => {
    await both.close();
    await Promise.all([from.drop(), to.drop()]);
  });

  const copy = (options: { readonly skip?: readonly string[] } = {}) =>
    copyDatabase(both, { ...QUIETLY, root, ...options });
  const rows = async (table: string, order: string) =>
    (await sql<Row>`select * from ${sql.id(table)} order by ${sql.raw(order)}`.execute(to.database.kysely)).rows;
  const counts = async () => {
    const tables = ["authors", "posts", "memberships", "notes", "countries"];
    const counted = tables.map((table) => sql<{ n: unknown }>`select count(*) as n from ${sql.id(table)}`);
    return await Promise.all(counted.map(async (one) => Number((await one.execute(to.database.kysely)).rows[0]!.n)));
  };

  test("every table has all its rows, with values of each kind as they were", async () => {
    expect(await copy()).toEqual({ tables: 5, rows: 2 + 3 + 2 + 1203 + 2, others: [] });

    const [, ada] = await rows("authors", "id");
    const { settings, photo, is_active, seen_at, balance, ...rest } = ada!;
    expect(rest).toEqual({ id: 3, biography: AUTHOR.biography, rank: 0.1, large: AUTHOR.large });
    expect(typeof settings === "string" ? JSON.parse(settings) : settings).toEqual({ a: null, z: [1, "ä"] });
    expect(Buffer.from(photo as Uint8Array).equals(PHOTO)).toBe(true);
    expect(is_active).toBe(engine.name === "postgres" ? true : 1);
    expect(new Date(seen_at as string)).toEqual(SEEN_AT);
    expect(Number(balance)).toBe(19.9);
    expect((await rows("authors", "id"))[0]).toEqual({ id: 1, ...NONE, large: null, seen_at: null });
    expect(await rows("memberships", "name")).toEqual([
      { author_id: 1, name: "a" },
      { author_id: 3, name: "b" },
    ]);
    expect((await rows("notes", "n")).map(({ n }) => n)).toEqual([
      1,
      1,
      1,
      ...Array.from({ length: 1200 }, (_, n) => n + 2),
    ]);
    // A row that refers to one with a higher key.
    expect((await rows("posts", "id")).map(({ id, parent_id }) => [id, parent_id])).toEqual([
      [1, 2],
      [2, null],
      [7, 1],
    ]);
  });

  test("an insert trigger stops the copy before anything is written, because it would run a second time", async () => {
    for (const { database } of [from, to]) await summing(database, "insert", "posts");
    await summing(to.database, "insert", "notes");
    const begun: string[] = [];
    await expect(copyDatabase(both, { ...QUIETLY, root, begin: () => begun.push("begun") })).rejects.toMatchObject({
      code: "E_COMMAND",
      message:
        'Rows that are copied to "to" would fire the trigger sums_insert_notes of notes, the trigger sums_insert_posts of posts. ' +
        'Nothing was copied. In "to", drop the named objects, and create them again after the copy.',
    });
    expect(begun).toEqual([]);
    expect(await counts()).toEqual([0, 0, 0, 0, 2]);
    await to.database.kysely.insertInto("authors").values({ biography: "new" }).execute();
    expect((await rows("authors", "id")).map(({ id }) => id)).toEqual([1]);
  });

  test("triggers that no copied row fires are allowed: the source's, on updates, on a table that is left out", async () => {
    await summing(from.database, "insert", "posts");
    await summing(to.database, "update", "posts");
    await summing(to.database, "delete", "authors");
    await summing(to.database, "insert", "notes");
    expect(await copy({ skip: ["notes"] })).toMatchObject({ tables: 4 });
    const large = async ({ kysely }: Database) =>
      await kysely.selectFrom("authors").select("large").orderBy("id").execute();
    expect(await large(to.database)).toEqual(await large(from.database));
  });

  test.each(engine.name === "sqlite" ? TRIGGERS : [])(
    "a trigger that %s makes the copy fail, even if the dialect doesn't list triggers",
    async (_, trigger, table) => {
      await sql.raw(trigger).execute(to.database.kysely);
      const silent = new Database({ default: "from", from: from.configuration, to: withoutTriggers(to) }, root);
      onTestFinished(() => silent.close());
      await expect(copyDatabase(silent, { ...QUIETLY, root })).rejects.toMatchObject({
        code: "E_COMMAND",
        message: expect.stringMatching(
          new RegExp(`^The table "${table}" has \\d+ rows in "from", and \\d+ arrived in "to"\\.`),
        ),
      });
      expect(await counts()).toEqual([0, 0, 0, 0, 2]);
    },
  );

  test("new rows get keys that no row of the source ever had", async () => {
    await copy();
    const { kysely } = to.database;
    await kysely.insertInto("authors").values({ biography: "new" }).execute();
    await kysely.insertInto("posts").values({ title: "new" }).execute();
    // The author 5 was deleted; the posts end with 7.
    expect((await rows("authors", "id")).at(-1)).toMatchObject({ id: 6, biography: "new" });
    expect((await rows("posts", "id")).at(-1)).toMatchObject({ id: 8, title: "new" });
  });

  test("foreign keys are checked again afterwards", async () => {
    await copy();
    const orphan = to.database.kysely.insertInto("posts").values({ title: "x", parent_id: 99 });
    await expect(orphan.execute()).rejects.toMatchObject({ code: "E_FOREIGN_KEY_VIOLATION" });
  });

  test("rows that migrations insert may exist, and are replaced with the source's", async () => {
    await from.database.kysely.updateTable("countries").set({ name: "Suomi" }).where("code", "=", "FI").execute();
    await copy();
    expect((await rows("countries", "code")).map(({ name }) => name)).toEqual(["Suomi", "Norway"]);
  });

  test("rows that migrations insert are replaced even if they refer to each other", async () => {
    await writeFile(join(root, "database/migrations/2026_01_03_000000_cities.ts"), CITIES);
    for (const { database } of [from, to]) await new Migrations(database, join(root, "database/migrations")).up();
    await from.database.kysely.updateTable("cities").set({ name: "Turku" }).execute();
    await copy();
    expect(await rows("cities", "name")).toMatchObject([{ country: "FI", name: "Turku" }]);
  });

  test("a table with other rows stops the copy before it begins", async () => {
    await to.database.kysely.updateTable("countries").set({ name: "Suomi" }).where("code", "=", "FI").execute();
    await to.database.kysely.insertInto("notes").values({ note: "mine" }).execute();
    await expect(copy()).rejects.toMatchObject({
      code: "E_COMMAND",
      message:
        '"to" is not empty. These tables have rows that no migration inserts: countries, notes. Nothing was copied. Empty ' +
        "them, or copy to a new database that was only migrated.",
    });
    expect(await counts()).toEqual([0, 0, 0, 1, 2]);
  });

  test.each([
    [
      "a text that is too long",
      { id: 2, title: "x".repeat(21) },
      'the column "title" has text of 21 characters, and the column takes 20.',
    ],
    ["spaces that would be cut off", { id: 2, title: `x${" ".repeat(20)}` }, "has text of 21 characters"],
    [
      "an invalid time",
      { id: 2, title: "x", created_at: "soon" },
      'the column "created_at" has a value that is not a time.',
    ],
  ])("%s stops the copy: the table and the row are named, and nothing is left", async (_, post, reason) => {
    await from.database.kysely.deleteFrom("posts").where("id", "=", 7).execute();
    await from.database.kysely.updateTable("posts").set(post).where("id", "=", 2).execute();
    const isKept = engine.name === "sqlite";
    const outcome = copy().then(
      () => "copied",
      (error: Error) => error.message,
    );
    // SQLite's own columns take everything.
    if (isKept) expect(await outcome).toBe("copied");
    else {
      expect(await outcome).toContain(`The table "posts", the row with id 2: `);
      expect(await outcome).toContain(reason);
      expect(await outcome).toMatch(/\. Nothing was copied\. Correct the row, and copy again\.$/);
      expect(await counts()).toEqual([0, 0, 0, 0, 2]);
    }
  });

  test("a row that the database itself refuses is named too, without its key unless that is a number", async () => {
    await refusing(to.database, engine.name);
    await expect(copy()).rejects.toMatchObject({
      code: "E_COMMAND",
      message: expect.stringMatching(
        /^The table "memberships", row 2 in the order of its key: "to" refuses it\. .+ Nothing was copied\. /,
      ),
    });
    expect(await counts()).toEqual([0, 0, 0, 0, 2]);
  });

  test("text that isn't JSON stops the copy, and the column is named", async () => {
    await from.database.kysely
      .updateTable("authors")
      .set({ settings: '{"theme": dark}' })
      .where("id", "=", 3)
      .execute();
    // SQLite's own columns take everything.
    if (engine.name === "sqlite") return;
    // MariaDB's JSON is text with a check constraint, whose violation names the column.
    const ofServer =
      /row with id 3: "to" refuses it\. MariaDB: CONSTRAINT `authors\.settings` failed .*\. Nothing was copied\. /;
    const named = /row with id 3: the column "settings" has text that is not JSON\. Nothing was copied\. /;
    await expect(copy()).rejects.toThrow(engine.name === "mariadb" ? ofServer : named);
    expect(await counts()).toEqual([0, 0, 0, 0, 2]);
  });

  test("a row that refers to a missing one stops the copy", async () => {
    await sql`pragma foreign_keys = off`.execute(from.database.kysely);
    await from.database.kysely.updateTable("posts").set({ parent_id: 99 }).where("id", "=", 2).execute();
    await expect(copy()).rejects.toThrow(
      'A row of the table "posts" refers to a row of "posts" that does not exist (parent_id).',
    );
    expect(await counts()).toEqual([0, 0, 0, 0, 2]);
  });

  test("a write to the source in the meantime stops the copy", async () => {
    const other = new Database({ default: "a", a: from.configuration }, root);
    const written: Promise<unknown>[] = [];
    const progress = (): void => {
      written[0] ??= other.kysely.updateTable("authors").set({ rank: 1 }).execute();
    };
    const options = { ...QUIETLY, root, progress };
    await expect(copyDatabase(both, options)).rejects.toThrow('Something wrote to "from" while it was copied');
    await Promise.all(written);
    await other.close();
    expect(await counts()).toEqual([0, 0, 0, 0, 2]);
  });

  test("a migration or a table that one side lacks is named", async () => {
    await sql`create table of_mine (n integer)`.execute(from.database.kysely);
    await sql`create table of_theirs (n integer)`.execute(to.database.kysely);
    await sql`alter table notes add column more integer`.execute(from.database.kysely);
    const missing = 'has no table of_mine. "from" has no table of_theirs. "to" has no column notes.more.';
    await expect(copy()).rejects.toThrow(
      `"to" ${missing} Create what is missing in a migration, or leave the table out`,
    );
    const skip = ["of_mine", "of_theirs", "notes"];
    expect(await copy({ skip })).toMatchObject({ tables: 4 });

    await to.database.kysely.deleteFrom("migrations").where("name", "like", "%posts").execute();
    await expect(copy()).rejects.toThrow(
      'These migrations were not run on "to": 2026_01_02_000000_posts. Run them there: make it the default connection, and ' +
        "migrate, as in DATABASE_CONNECTION=to npx ashlar migrate",
    );
  });

  test("views are not copied, but listed", async () => {
    await sql`create view busy as select * from authors`.execute(from.database.kysely);
    expect(await copy()).toMatchObject({ others: [{ name: "busy", kind: "view" }] });
  });
});

const SEEDS = `
  import { json, sql, timestamp } from "${DATABASE_MODULE}";
  export async function up(database) {
    const isPostgres = json(database) === "jsonb";
    await database.schema.createTable("seeds").addColumn("n", "integer").addColumn("is_on", "boolean")
      .addColumn("data", json(database)).addColumn("photo", isPostgres ? "bytea" : "blob")
      .addColumn("price", "decimal(12, 2)").addColumn("note", "varchar(40)").addColumn("at", timestamp(database)).execute();
    const row = (values) => database.insertInto("seeds").values(values).execute();
    await row({ n: 1, is_on: isPostgres || 1, data: '{"b":[{"d":1,"c":2}],"a":null}', photo: Buffer.of(0, 255), price: "1.25", note: "a", at: new Date() });
    await row({ n: 2 });
  }`;

await onEachDatabase("db:copy over what migrations insert", (engine) => {
  test("sees every difference except in times", async () => {
    const root = await temporaryFolder();
    await mkdir(join(root, "database/migrations"), { recursive: true });
    await writeFile(join(root, "database/migrations/2026_01_01_000000_seeds.ts"), SEEDS);
    const [from, to] = [await sqlite.open(), await engine.open()];
    for (const { database } of [from, to]) await new Migrations(database, join(root, "database/migrations")).up();
    const both = new Database({ default: "from", from: from.configuration, to: to.configuration }, root);
    const copy = async (): Promise<string> => {
      const copied = copyDatabase(both, { ...QUIETLY, root });
      return await copied.then(
        () => "copied",
        ({ message }: Error) => message,
      );
    };
    const { kysely } = to.database;
    const off = engine.name === "postgres" ? false : 0;
    const changes = [
      { is_on: off },
      { is_on: null },
      { data: '{"b":[{"d":1,"c":3}],"a":null}' },
      { data: '{"b":[{"d":1}],"a":null}' },
      { photo: Buffer.of(0, 254) },
      { price: "1.26" },
      { note: "null" },
    ];
    for (const change of changes) {
      const before = await kysely.selectFrom("seeds").selectAll().where("n", "=", 1).executeTakeFirstOrThrow();
      await kysely.updateTable("seeds").set(change).where("n", "=", 1).execute();
      expect(await copy(), JSON.stringify(change)).toContain("rows that no migration inserts: seeds.");
      const [column] = Object.keys(change) as [string];
      const value = column === "data" ? '{"b":[{"d":1,"c":2}],"a":null}' : before[column];
      await kysely
        .updateTable("seeds")
        .set({ [column]: value })
        .where("n", "=", 1)
        .execute();
    }
    await kysely.insertInto("seeds").values({ n: 2 }).execute();
    expect(await copy()).toContain("rows that no migration inserts: seeds.");
    await kysely.deleteFrom("seeds").where("n", "=", 2).execute();
    expect(await copy()).toContain("rows that no migration inserts: seeds.");
    await kysely.insertInto("seeds").values({ n: 2 }).execute();
    await kysely
      .updateTable("seeds")
      .set({ at: new Date(0) })
      .where("n", "=", 1)
      .execute();
    expect(await copy()).toBe("copied");
    await both.close();
    await Promise.all([from.drop(), to.drop()]);
  });
});

await onEachDatabase("db:copy back to SQLite", (engine) => {
  test("everything is as it was", async () => {
    const root = await temporaryFolder();
    await mkdir(join(root, "database/migrations"), { recursive: true });
    await writeFile(join(root, "database/migrations/2026_01_01_000000_before.ts"), BEFORE);
    await writeFile(join(root, "database/migrations/2026_01_02_000000_posts.ts"), MIGRATION);
    const all = [await sqlite.open(), await engine.open(), await sqlite.open()];
    for (const { database } of all) await new Migrations(database, join(root, "database/migrations")).up();
    await fill(all[0]!.database);
    const [first, middle, last] = all.map(({ configuration }) => configuration);
    const database = new Database({ default: "first", first: first!, middle: middle!, last: last! }, root);
    const options = { ...QUIETLY, root };
    await copyDatabase(database, { ...options, from: "first", to: "middle" });
    await copyDatabase(database, { ...options, from: "middle", to: "last" });

    const contents = async (name: string) => {
      const found: Record<string, unknown> = {};
      for (const table of ["authors", "posts", "memberships", "notes", "countries", "sqlite_sequence"]) {
        const { rows } = await sql<Row>`select * from ${sql.id(table)}`.execute(database.connection(name).kysely);
        // Databases format JSON differently, and SQLite may return a boolean as an integer.
        const settled = rows.map((row) => ({ ...row, settings: JSON.parse(String(row.settings ?? null)) as unknown }));
        found[table] = settled
          .map((row) => JSON.stringify(row, (_, value) => (typeof value === "bigint" ? `${value}` : value)))
          .sort();
      }
      return found;
    };
    const sorted = (found: unknown) => {
      const text = JSON.stringify(found).replaceAll("2026-02-03 04:05:06", "2026-02-03T04:05:06.000Z");
      return text.replaceAll('{\\"z\\":[1,\\"ä\\"],\\"a\\":null}', '{\\"a\\":null,\\"z\\":[1,\\"ä\\"]}');
    };
    expect(sorted(await contents("last"))).toEqual(sorted(await contents("first")));
    await database.close();
    for (const { drop } of all) await drop();
  });
});

await onPostgres("db:copy from PostgreSQL", () => defineFromServer(postgres));
await onMariadb("db:copy from MariaDB", () => defineFromServer(mariadb));

function defineFromServer(engine: TestEngine): void {
  test.each([1, 50])(
    "a new row doesn't get the key %d of a row whose key was given, which is not counted",
    async (id) => {
      const root = await temporaryFolder();
      await mkdir(join(root, "database/migrations"), { recursive: true });
      await writeFile(join(root, "database/migrations/2026_01_01_000000_before.ts"), BEFORE);
      const [from, to] = [await engine.open(), await engine.open()];
      for (const { database } of [from, to]) await new Migrations(database, join(root, "database/migrations")).up();
      await from.database.kysely.insertInto("authors").values({ id, biography: "given" }).execute();
      const both = new Database({ default: "from", from: from.configuration, to: to.configuration }, root);
      await copyDatabase(both, { ...QUIETLY, root });
      await to.database.kysely.insertInto("authors").values({ biography: "new" }).execute();
      const rows = await to.database.kysely.selectFrom("authors").select("id").orderBy("id").execute();
      expect(rows.map((row) => Number(row.id))).toEqual([id, id + 1]);
      await both.close();
      for (const { drop } of [from, to]) await drop();
    },
  );

  test.each([
    ["that is there", []],
    ["that is deleted again", ["delete from authors where biography = 'new'"]],
  ])("a row with a new key %s is noticed, although no version shows it", async (_, further) => {
    const root = await temporaryFolder();
    await mkdir(join(root, "database/migrations"), { recursive: true });
    await writeFile(join(root, "database/migrations/2026_01_01_000000_before.ts"), BEFORE);
    const [from, to] = [await engine.open(), await engine.open()];
    for (const { database } of [from, to]) await new Migrations(database, join(root, "database/migrations")).up();
    await from.database.kysely.insertInto("authors").values({ biography: "old" }).execute();
    const both = new Database({ default: "from", from: from.configuration, to: to.configuration }, root);
    // Holds the copy when it deletes the migrations' rows, because it knows the last keys by then.
    const isHeld = Promise.withResolvers<void>();
    both.connection("to").onQuery(({ sql: text }) => void (text.startsWith("delete from") && isHeld.resolve()));
    let copying: Promise<unknown> | null = null;
    await to.database.transaction(async () => {
      await to.database.kysely.selectFrom("countries").selectAll().forUpdate().execute();
      copying = copyDatabase(both, { ...QUIETLY, root }).catch(({ message }: Error) => message);
      await Promise.race([isHeld.promise, copying]);
      await from.database.kysely.insertInto("authors").values({ biography: "new" }).execute();
      for (const statement of further) await sql.raw(statement).execute(from.database.kysely);
    });
    expect(await copying).toContain('Something wrote to "from" while it was copied, so nothing was copied.');
    expect(await to.database.kysely.selectFrom("authors").selectAll().execute()).toEqual([]);
    expect(await to.database.kysely.selectFrom("countries").selectAll().execute()).toHaveLength(2);
    await both.close();
    await Promise.all([from.drop(), to.drop()]);
  });
}

async function fill({ kysely }: Database): Promise<void> {
  await kysely
    .insertInto("authors")
    .values([{ id: 1 }, AUTHOR, { id: 5 }])
    .execute();
  await kysely.deleteFrom("authors").where("id", "=", 5).execute();
  const posts = [
    { id: 2, title: "Two", author_id: 3, created_at: SEEN_AT, updated_at: SEEN_AT },
    { id: 1, title: "One", author_id: 3, parent_id: 2, created_at: SEEN_AT, updated_at: SEEN_AT },
    // As SQLite's own CURRENT_TIMESTAMP writes it.
    { id: 7, title: "Seven", parent_id: 1, created_at: "2026-02-03 04:05:06", updated_at: SEEN_AT },
  ];
  for (const post of posts) await kysely.insertInto("posts").values(post).execute();
  await kysely
    .insertInto("memberships")
    .values([
      { author_id: 1, name: "a" },
      { author_id: 3, name: "b" },
    ])
    .execute();
  const notes = [1, 1, 1, ...Array.from({ length: 1200 }, (_, n) => n + 2)].map((n) => ({ note: "a note", n }));
  await kysely.insertInto("notes").values(notes).execute();
}

/** Makes a database itself refuse one row. */
async function refusing({ kysely }: Database, name: string): Promise<void> {
  if (name !== "sqlite") {
    await sql`alter table memberships add constraint no_b check (name <> 'b')`.execute(kysely);
    return;
  }
  // SQLite's tables can't get constraints later.
  await sql`drop table memberships`.execute(kysely);
  await sql`create table memberships (author_id integer not null references authors (id),
    name text not null check (name <> 'b'), primary key (author_id, name))`.execute(kysely);
}

/** Creates a trigger that changes authors' values, but no row counts. */
async function summing({ kysely, dialect }: Database, event: string, table: string): Promise<void> {
  const begun = `create trigger sums_${event}_${table} after ${event} on ${table} for each row`;
  const sum = "update authors set large = large + 1";
  const statements = {
    sqlite: [`${begun} begin ${sum}; end`],
    mariadb: [`${begun} ${sum}`],
    postgres: [
      `create or replace function summed() returns trigger language plpgsql as 'begin ${sum}; return null; end'`,
      `${begun} execute function summed()`,
    ],
  }[dialect.name]!;
  for (const statement of statements) await sql.raw(statement).execute(kysely);
}

/** A connection to a SQLite file whose dialect says nothing about triggers. */
function withoutTriggers({ configuration }: TestDatabase): DialectSource {
  return (setup) => {
    const dialect = sqliteFile({ path: String(configuration.path) })(setup);
    return Object.assign(dialect, { copying: { ...dialect.copying!, triggers: null } });
  };
}
