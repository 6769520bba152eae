import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Database, Migrations, sql } from "../../src/database/index.ts";
import { MigrationFolder, DATABASE_MODULE as MODULE, upElsewhere } from "../support/migration-folder.ts";
import { type Contents, onEachDatabase, schemaOf, type TestDatabase, testWhere } from "../support/services.ts";

const FIRST = "2026_01_01_000000_create_authors";
const SECOND = "2026_01_02_000000_change_authors";
const THIRD = "2026_01_03_000000_change_again";

/** Authors, with books that are deleted with them, and reviews that prevent that. */
const AUTHORS = `
import { primaryKey, reference } from "${MODULE}";
export async function up(database: any): Promise<void> {
  await database.schema.createTable("authors").$call(primaryKey(database)).addColumn("name", "text").execute();
  for (const [table, action] of [["books", "cascade"], ["reviews", "no action"]]) {
    await database.schema.createTable(table).$call(primaryKey(database))
      .addColumn("author_id", reference(database), (column: any) =>
        column.notNull().references("authors.id").onDelete(action))
      .execute();
  }
}
export async function down(database: any): Promise<void> {
  for (const table of ["reviews", "books", "authors"]) await database.schema.dropTable(table).execute();
}
`;

const CONTENTS: Contents = {
  name: "authors",
  async fill(database) {
    const folder = new MigrationFolder(database, { [FIRST]: AUTHORS });
    await folder.migrations.up();
    folder.remove();
    const { kysely } = database;
    await kysely
      .insertInto("authors")
      .values([{ name: "Ada" }, { name: null }, { name: "Cleo" }])
      .execute();
    await kysely
      .insertInto("books")
      .values([{ author_id: 1 }, { author_id: 1 }, { author_id: 2 }])
      .execute();
    await kysely
      .insertInto("reviews")
      .values([{ author_id: 2 }])
      .execute();
  },
};

await onEachDatabase("migrations lose nothing", (engine) => {
  let own: TestDatabase;
  let folder: MigrationFolder;
  let migrations: Migrations;

  beforeEach(async () => {
    own = await engine.open({}, CONTENTS);
    folder = new MigrationFolder(own.database, { [FIRST]: AUTHORS });
    ({ migrations } = folder);
  });
  afterEach(async () => {
    await own.drop();
    folder.remove();
  });

  const write = (name: string, text: string): Promise<void> => folder.write(name, text);
  const tables = (): Promise<string[]> => folder.tables();
  const failure = (task: Promise<unknown>): Promise<unknown> =>
    task.then(
      () => "it did not fail",
      (error) => error,
    );
  const rows = async (table: string): Promise<unknown[]> =>
    await own.database.kysely.selectFrom(table).selectAll().orderBy("id").execute();
  const children = async () => [await rows("books"), await rows("reviews")];
  const states = async () => (await migrations.status()).map(({ name, state }) => [name, state]);
  const CHILDREN = [
    [
      { id: 1, author_id: 1 },
      { id: 2, author_id: 1 },
      { id: 3, author_id: 2 },
    ],
    [{ id: 1, author_id: 2 }],
  ];
  /** Whether the database refuses a row with a broken reference, as it did before. */
  const keysHold = async (): Promise<void> => {
    const dangling = own.database.kysely.insertInto("books").values({ author_id: 99 }).execute();
    await expect(dangling).rejects.toMatchObject({ code: "E_FOREIGN_KEY_VIOLATION" });
  };

  const onSqlite = engine.name === "sqlite";
  // Only SQLite rebuilds a table to change it, and migrations can only block each other on PostgreSQL.
  const describeOnSqlite = onSqlite ? describe : () => {};
  const testOnPostgres = engine.name === "postgres" ? test : () => {};
  /** A regular expression for the error about a failed migration. */
  const outcome = engine.undoesTables ? "nothing of it remains\\." : "what it did before that remains,";

  describeOnSqlite("where a table is rebuilt", () => {
    /** The example in the documentation of `Migration`, unchanged. */
    const recipe = async (): Promise<string> => {
      const source = await readFile(new URL("../../src/database/schema/migration-files.ts", import.meta.url), "utf8");
      const [, example = ""] = /```ts\n([\s\S]+?)```/.exec(source) ?? [];
      return example.replaceAll(/^ \* ?/gm, "").replace('"ashlar/database"', JSON.stringify(MODULE));
    };
    const rebuild = (before = "", after = ""): string => `
      import { primaryKey, sql } from "${MODULE}";
      async function change(database: any): Promise<void> {
        ${before}
        await database.schema.createTable("new_authors").$call(primaryKey(database)).addColumn("name", "text").execute();
        await sql\`insert into new_authors select id, name from authors\`.execute(database);
        await database.schema.dropTable("authors").execute();
        await database.schema.alterTable("new_authors").renameTo("authors").execute();
        ${after}
      }
      export { change as up, change as down };`;

    test("S67 the documented recipe changes a column, and every row that refers to the table stays", async () => {
      await write(SECOND, await recipe());
      expect(await migrations.up()).toEqual([SECOND]);
      expect(await rows("authors")).toEqual([
        { id: 1, name: "Ada" },
        { id: 2, name: "" },
        { id: 3, name: "Cleo" },
      ]);
      expect(await children()).toEqual(CHILDREN);
      const nameless = own.database.kysely.insertInto("authors").values({ name: null }).execute();
      await expect(nameless).rejects.toMatchObject({ code: "E_NOT_NULL_VIOLATION" });
      await keysHold();
      // The children still refer to the table with that name, and are deleted with its rows.
      await own.database.kysely.deleteFrom("reviews").execute();
      await own.database.kysely.deleteFrom("authors").where("id", "=", 2).execute();
      expect((await rows("books")).length).toBe(2);
    });

    test("S67 a rollback loses nothing, either", async () => {
      await write(SECOND, rebuild());
      await migrations.up();
      expect(await migrations.rollback()).toEqual([SECOND]);
      expect([await children(), (await rows("authors")).length]).toEqual([CHILDREN, 3]);
      await keysHold();
    });

    test("S67 a broken reference at the end fails the migration, with table and row", async () => {
      await write(SECOND, rebuild('await database.deleteFrom("authors").where("id", "=", 2).execute();'));
      expect(await failure(migrations.up())).toMatchObject({
        code: "E_MIGRATION",
        cause: { code: "E_FOREIGN_KEY_VIOLATION", table: expect.stringMatching(/^(books|reviews)$/) },
        message: expect.stringMatching(
          /change_authors\.ts: up\(\) failed, and nothing of it remains\. (?=.*row 3 of "books" refers to a row of "authors" that does not exist)(?=.*row 1 of "reviews" )/,
        ),
      });
      expect([await children(), (await rows("authors")).length]).toEqual([CHILDREN, 3]);
      expect(await states()).toEqual([
        [FIRST, "run"],
        [SECOND, "pending"],
      ]);
      await keysHold();
    });

    test("S67 a migration that fails midway leaves tables, rows and foreign keys unchanged", async () => {
      await write(SECOND, rebuild("", 'throw new Error("in the middle");'));
      await expect(migrations.up()).rejects.toMatchObject({ message: expect.stringContaining("in the middle") });
      expect([await children(), (await rows("authors")).length]).toEqual([CHILDREN, 3]);
      expect(await tables()).toEqual(["authors", "books", "migrations", "reviews"]);
      await keysHold();
    });

    test("S67 without a transaction nothing is lost either, including cascading rows", async () => {
      await write(SECOND, `${rebuild()}\nexport const transaction = false;`);
      expect(await migrations.up()).toEqual([SECOND]);
      expect([await children(), (await rows("authors")).length]).toEqual([CHILDREN, 3]);
      await keysHold();
      expect(await migrations.rollback()).toEqual([SECOND]);
      expect([await children(), (await rows("authors")).length]).toEqual([CHILDREN, 3]);
      await keysHold();
    });

    test("S67 without a transaction, a broken reference at the end keeps it from being recorded", async () => {
      const lossy = rebuild('await database.deleteFrom("authors").where("id", "=", 2).execute();');
      await write(SECOND, `${lossy}\nexport const transaction = false;`);
      expect(await failure(migrations.up())).toMatchObject({
        code: "E_MIGRATION",
        cause: { code: "E_FOREIGN_KEY_VIOLATION" },
        message: expect.stringMatching(/not recorded as run: .*row 3 of "books" refers to a row of "authors"/),
      });
      expect((await states())[1]).toEqual([SECOND, "pending"]);
      await keysHold();
    });
  });

  test("S67 fresh and a complete rollback leave foreign keys on", async () => {
    expect(await migrations.rollback()).toEqual([FIRST]);
    expect(await migrations.up()).toEqual([FIRST]);
    await keysHold();
    expect(await migrations.fresh()).toEqual([FIRST]);
    await keysHold();
  });

  test("S67 migrations are refused inside a transaction, where foreign keys could not be switched off", async () => {
    await write(SECOND, "export async function up(): Promise<void> {}");
    for (const task of [() => migrations.up(), () => migrations.rollback(), () => migrations.fresh()]) {
      await expect(own.database.transaction(task)).rejects.toMatchObject({
        code: "E_MIGRATION",
        message: "Migrations cannot run inside a transaction.",
      });
    }
    expect(await children()).toEqual(CHILDREN);
  });

  const fate = engine.undoesTables ? ", and nothing of it remains" : "";
  describe(`S67 a statement that is not awaited fails the migration${fate}:`, () => {
    const table = (name: string): string =>
      `database.schema.createTable("${name}").addColumn("n", "integer").execute()`;
    const NOTHING = ["authors", "books", "migrations", "reviews"];
    const named = (sqlText: string) => ({
      code: "E_MIGRATION",
      message: expect.stringMatching(
        new RegExp(`change_authors\\.ts: up\\(\\) failed, and ${outcome} .*not awaited: ${sqlText}`),
      ),
    });

    test.each([
      ["the only statement", `${table("left")};`, 'create table "left"'],
      ["in a function without async", `RETURN ${table("left")};`, 'create table "left"'],
      ["one before others", `${table("left")}; await ${table("kept")};`, 'create table "left"'],
      ["the last of several", `await ${table("kept")}; ${table("left")};`, 'create table "left"'],
      ["an insert", 'database.insertInto("authors").values({ name: "x" }).execute();', 'insert into "authors"'],
      ["first()-like", 'database.selectFrom("authors").selectAll().executeTakeFirst();', 'select \\* from "authors"'],
      ["raw SQL", "sql`create table left_behind (n integer)`.execute(database);", "create table left_behind"],
      ["with only its errors handled", `${table("left")}.catch(() => undefined);`, 'create table "left"'],
      [
        "in a helper that is not awaited",
        `(async () => { await ${table("left")}; await ${table("later")}; })();`,
        'create table "left"',
      ],
      [
        "in a transaction of Kysely's",
        `await database.transaction().execute(async (database) => { ${table("left")}; });`,
        'create table "left"',
      ],
      [
        "on a connection of Kysely's",
        `await database.connection().execute(async (one) => { one.insertInto("authors").values({ name: "x" }).execute(); });`,
        'insert into "authors"',
      ],
      [
        "with only its errors handled, before the function continues with something else",
        `${table("left")}.catch(() => undefined); for (let n = 0; n < 50; n++) await null;`,
        'create table "left"',
      ],
      ["in forEach", `["left", "b"].forEach(async (name) => { await ${table("x")}; });`, 'create table "x"'],
    ])("%s", async (title, body, statement) => {
      const keyword = title === "in a function without async" ? "" : "async ";
      const text = `import { sql } from "${MODULE}"; export ${keyword}function up(database: any): any { ${body.replace("RETURN ", "")} }`;
      await write(SECOND, text);
      expect(await failure(migrations.up())).toMatchObject(named(statement));
      if (engine.undoesTables) expect([await tables(), (await rows("authors")).length]).toEqual([NOTHING, 3]);
      expect(await states()).toEqual([
        [FIRST, "run"],
        [SECOND, "pending"],
      ]);
    });

    test("in a rollback as well", async () => {
      await write(
        SECOND,
        `export async function up(): Promise<void> {}
         export async function down(database: any): Promise<void> { database.schema.dropTable("reviews").execute(); }`,
      );
      await migrations.up();
      await expect(migrations.rollback()).rejects.toMatchObject({
        message: expect.stringContaining('not awaited: drop table "reviews"'),
      });
      if (engine.undoesTables) expect([await tables(), await children()]).toEqual([NOTHING, CHILDREN]);
      expect((await states())[1]).toEqual([SECOND, "run"]);
    });

    test("statements that are awaited in any way are fine", async () => {
      await write(
        SECOND,
        `import { sql, timestamps } from "${MODULE}";
        export async function up(database: any): Promise<void> {
          await ${table("a")};
          await Promise.all([${table("b")}, ${table("c")}, sql\`create table d (n integer)\`.execute(database)]);
          await ${table("e")}.then(() => ${table("f")});
          const later = ${table("g")};
          await later;
          await Promise.allSettled([database.transaction().execute(async (trx) => {
            await trx.insertInto("authors").values({ name: "x" }).execute();
            await trx.insertInto("nowhere").values({ n: 1 }).execute();
          })]);
          await database.connection().execute(async (one) => await one.insertInto("a").values({ n: 1 }).execute());
          await database.withSchema(${JSON.stringify(schemaOf({ ...engine, ...own }))}).insertInto("a").values({ n: 2 }).execute();
          await database.schema.alterTable("b").addColumn("m", "integer").execute();
          const { ref } = database.dynamic;
          const found = await database.selectFrom("a").select((eb) => [ref("n"), eb.fn.countAll().as("all")]).groupBy("n").execute();
          if (found.length !== 2) throw new Error("Not what was stored.");
          const names = (await database.introspection.getTables()).map(({ name }) => name);
          if (!names.includes("g")) throw new Error("Not what was made.");
          return ${table("h")};
        }`,
      );
      expect(await migrations.up()).toEqual([SECOND]);
      expect(await tables()).toEqual(
        ["a", ...NOTHING.slice(0, 2), "b", "c", "d", "e", "f", "g", "h", ...NOTHING.slice(2)].sort(),
      );
      expect(await rows("authors")).toHaveLength(3);
    });

    test("an error of an awaited statement is reported unchanged, while others of Promise.all are still running", async () => {
      await write(
        SECOND,
        `export async function up(database: any): Promise<void> {
          await Promise.all([${table("a")}, database.insertInto("nowhere").values({ n: 1 }).execute(), ${table("b")}]);
        }`,
      );
      const error = await failure(migrations.up());
      expect(error).toMatchObject({ message: expect.stringMatching(new RegExp(`${outcome} .*nowhere`)) });
      expect((error as Error).message).not.toContain("A statement was not awaited");
      if (engine.undoesTables) expect(await tables()).toEqual(NOTHING);
    });

    test("a statement that fails ends the migration, but not the process", async () => {
      const nowhere = 'await database.insertInto("nowhere").values({ n: 1 }).execute();';
      const others = `await ${table("b")}; await ${table("c")};`;
      const bodies: Readonly<Record<string, string>> = {
        "a builder": 'database.insertInto("nowhere").values({ n: 1 }).execute();',
        "raw SQL": "sql`insert into nowhere values (1)`.execute(database);",
        "a helper": `(async () => { ${nowhere} })();`,
        "a helper, and others after it": `(async () => { ${nowhere} })(); ${others}`,
        "raw SQL, and others after it": `sql\`insert into nowhere values (1)\`.execute(database); ${others}`,
      };
      const folders = Object.values(bodies).map((body) => {
        const text = `import { sql } from "${MODULE}"; export async function up(database: any) { ${body} }`;
        return new MigrationFolder(own.database, { [FIRST]: AUTHORS, [SECOND]: text });
      });
      const outcomes = await upElsewhere(own, ...folders);
      const refused = ["E_MIGRATION", expect.stringMatching(/change_authors\.ts: .*not awaited/)];
      const names = Object.keys(bodies);
      expect(names.map((name, index) => [name, outcomes[index]])).toEqual(names.map((name) => [name, refused]));
      if (engine.undoesTables) expect(await tables()).toEqual(NOTHING);
      expect((await folders[0]!.migrations.status()).map(({ state }) => state)).toEqual(["run", "pending"]);
      for (const one of folders) one.remove();
    });
  });

  describe("without a transaction", () => {
    const off = (body: string, down = ""): string => `
      import { sql } from "${MODULE}";
      export const transaction = false;
      export async function up(database: any): Promise<void> { ${body} }
      export async function down(database: any): Promise<void> { ${down} }`;

    // On MariaDB, transactions refuse no statements; such statements end the transaction.
    testWhere(engine.undoesTables, "S67 a statement that a transaction would refuse is run, and recorded", async () => {
      const index = engine.name === "postgres" ? "create index concurrently" : "create index";
      // SQLite refuses this one inside a transaction.
      const statement = engine.name === "postgres" ? `${index} by_name on authors (name)` : "vacuum";
      await write(SECOND, off(`await sql\`${statement}\`.execute(database);`));
      expect(await migrations.up()).toEqual([SECOND]);
      expect((await states())[1]).toEqual([SECOND, "run"]);
      const inside = off(`await sql\`${statement.replace("by_name", "by_name_too")}\`.execute(database);`);
      await write(THIRD, inside.replace("export const transaction = false;", ""));
      await expect(migrations.up()).rejects.toMatchObject({ message: expect.stringMatching(/transaction/i) });
      expect((await states())[2]).toEqual([THIRD, "pending"]);
    });

    test("S67 a migration that fails reports what remains, and is not recorded", async () => {
      await write(
        SECOND,
        off('await database.schema.createTable("half").addColumn("n", "integer").execute(); throw new Error("no");'),
      );
      expect(await failure(migrations.up())).toMatchObject({
        code: "E_MIGRATION",
        message: expect.stringMatching(
          /change_authors\.ts: up\(\) failed, and what it did before that remains, because it runs without a transaction\. It is not recorded as run: .* no$/,
        ),
      });
      expect([(await tables()).includes("half"), (await states())[1]]).toEqual([true, [SECOND, "pending"]]);
    });

    test("S67 a failed rollback leaves the migration recorded, and fails on a statement that was not awaited too", async () => {
      await write(SECOND, off("", "database.deleteFrom('reviews').execute();"));
      await migrations.up();
      expect(await failure(migrations.rollback())).toMatchObject({
        message: expect.stringMatching(/down\(\) failed, and what it did .* still recorded as run: .*not awaited/),
      });
      expect((await states())[1]).toEqual([SECOND, "run"]);
    });

    test("the export must be true or false", async () => {
      await write(SECOND, off("").replace("= false", '= "no"'));
      await expect(migrations.up()).rejects.toMatchObject({
        code: "E_MIGRATION",
        message: expect.stringContaining('"transaction" must be true or false'),
      });
    });

    test("S67 only one of four processes that migrate concurrently runs it", async () => {
      // It continues when all four have come as far as they can, or when a second one has begun.
      const body = `
        const marks = (kind: string) => readdirSync("${folder.path}").filter((name) => name.endsWith(kind)).length;
        writeFileSync("${folder.path}/" + process.pid + ".begun", "");
        while (marks(".ready") < 4) await setTimeout(5);
        for (let turn = 0; turn < 60 && marks(".begun") < 2; turn++) await setTimeout(5);
        await database.schema.createTable("seed").ifNotExists().addColumn("n", "integer").execute();
        await database.insertInto("seed").values({ n: 1 }).execute();`;
      const imports = `
        import { readdirSync, writeFileSync } from "node:fs";
        import { setTimeout } from "node:timers/promises";`;
      await write(SECOND, `${imports}${off(body)}`);
      const outcomes = (await Promise.all(Array.from({ length: 4 }, () => upElsewhere(own, folder)))).flat();
      expect(outcomes.sort((a, b) => b.length - a.length)).toEqual([[SECOND], [], [], []]);
      const { rows: seeds } = await sql`select n from seed`.execute(own.database.kysely);
      expect([seeds.length, (await states())[1]]).toEqual([1, [SECOND, "run"]]);
    });

    testOnPostgres("three that migrate concurrently do not block each other", async () => {
      await write(SECOND, off("await sql`create index concurrently by_name on authors (name)`.execute(database);"));
      const others = Array.from({ length: 3 }, () => new Database({ default: "main", main: own.configuration }, "/"));
      const names = await Promise.all(others.map((database) => new Migrations(database, folder.path).up()));
      await Promise.all(others.map((database) => database.close()));
      expect(names.flat()).toEqual([SECOND]);
      const found = await sql`select 1 from pg_indexes where indexname = 'by_name'`.execute(own.database.kysely);
      expect(found.rows).toHaveLength(1);
    });
  });
});
