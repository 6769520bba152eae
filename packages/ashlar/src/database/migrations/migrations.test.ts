import { rm } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { MigrationFolder } from "../../../test/support/migration-folder.ts";
import { setClock } from "../../support/index.ts";
import { Database } from "../connections/database.ts";
import type { Migrations } from "./migrations.ts";

const A = "2026_01_01_000000_a";
const B = "2026_01_02_000000_b";
const C = "2026_01_03_000000_c";
const D = "2026_01_04_000000_d";
const NOON = Date.parse("2026-03-01T12:00:00.000Z");

let database: Database;
let folder: MigrationFolder;
let migrations: Migrations;

beforeEach(() => {
  database = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, "/");
  folder = new MigrationFolder(database);
  ({ migrations } = folder);
});
afterEach(async () => {
  await database.close();
  folder.remove();
});

/** A migration that creates the table named by its last letter. */
const making = (name: string): string => `
  export const up = (database) => database.schema.createTable("${name.at(-1)}").addColumn("n", "integer").execute();
  export const down = (database) => database.schema.dropTable("${name.at(-1)}").execute();`;
const write = async (...names: readonly string[]): Promise<void> => {
  for (const name of names) await folder.write(name, making(name));
};
const remove = (name: string): Promise<void> => rm(join(folder.path, `${name}.ts`));
const tables = async (): Promise<string[]> => (await folder.tables()).filter((name) => name.length === 1);
const failure = (task: Promise<unknown>): Promise<unknown> =>
  task.then(
    () => "it did not fail",
    (error: unknown) => error,
  );

describe("up", () => {
  test("runs new ones, oldest first, and each run is a batch", async () => {
    await write(B, A);
    expect([await migrations.up(), await tables()]).toEqual([
      [A, B],
      ["a", "b"],
    ]);
    await write(C);
    expect([await migrations.up(), await migrations.up()]).toEqual([[C], []]);
    expect((await migrations.status()).map(({ name, batch }) => [name, batch])).toEqual([
      [A, 1],
      [B, 1],
      [C, 2],
    ]);
  });

  test("does not run a migration that an earlier one in the same run has recorded as run", async () => {
    const record = `{ name: "${B}", batch: 7, run_at: new Date(0).toISOString() }`;
    await folder.write(
      A,
      `export const up = (database) => database.insertInto("migrations").values(${record}).execute();`,
    );
    await write(B, C);
    expect([await migrations.up(), await tables()]).toEqual([[A, C], ["c"]]);
    expect((await migrations.status()).map(({ name, batch }) => [name, batch])).toEqual([
      [A, 1],
      [B, 7],
      [C, 1],
    ]);
  });

  test.each(["true", "false"])(
    "with transaction = %s, a failing migration is an error with its cause",
    async (transaction) => {
      await write(A);
      await folder.write(
        B,
        `export const transaction = ${transaction};
       export async function up(database) {
         await database.schema.createTable("b").addColumn("n", "integer").execute();
         throw new TypeError("no luck");
       }`,
      );
      await write(C);
      const outcome =
        transaction === "true"
          ? "and nothing of it remains."
          : "and what it did before that remains, because it runs without a transaction. It is not recorded as run: " +
            'undo what remains, then migrate again. It ran: create table "b" ("n" integer).';
      expect(await failure(migrations.up())).toMatchObject({
        code: "E_MIGRATION",
        message: `${join(folder.path, B)}.ts: up() failed, ${outcome} no luck`,
        cause: expect.any(TypeError),
      });
      expect(await tables()).toEqual(transaction === "true" ? ["a"] : ["a", "b"]);
      expect((await migrations.status()).map(({ state }) => state)).toEqual(["run", "pending", "pending"]);
    },
  );

  test("a missing table is reported without the advice to migrate", async () => {
    const change = "(database) => database.schema.alterTable('nowhere').addColumn('n', 'integer').execute()";
    await folder.write(A, `export const up = ${change};`);
    expect(await failure(migrations.up())).toMatchObject({
      code: "E_MIGRATION",
      message: expect.stringMatching(/no such table: nowhere\. An earlier migration has to create the table\.$/),
    });
    await remove(A);
    await folder.write(B, `export const up = async () => {}; export const down = ${change};`);
    await migrations.up();
    expect(await failure(migrations.rollback())).toMatchObject({
      code: "E_MIGRATION",
      message: expect.stringMatching(/no such table: nowhere\.$/),
    });
  });

  test("a thrown value that is not an error is reported as well", async () => {
    await folder.write(A, 'export async function up() { throw "just text"; }');
    expect(await failure(migrations.up())).toMatchObject({
      message: expect.stringMatching(/nothing of it remains\. just text$/),
      cause: "just text",
    });
  });

  test("refuses to continue without a file that was run, unless told to", async () => {
    await write(A, B);
    await migrations.up();
    for (const name of [A, B]) await remove(name);
    await write(C);
    for (const options of [undefined, {}, { allowMissing: false }]) {
      expect(await failure(migrations.up(options))).toMatchObject({
        code: "E_MIGRATION",
        message: expect.stringMatching(
          new RegExp(`missing in ${folder.path}: ${A}, ${B}\\. .* npx ashlar migrate --allow-missing$`),
        ),
      });
    }
    expect(await tables()).toEqual(["a", "b"]);
    expect([await migrations.up({ allowMissing: true }), await tables()]).toEqual([[C], ["a", "b", "c"]]);
  });
});

describe("up, in the previous version", () => {
  test("S152 refuses migrations that are newer than its own unless they are allowed, and says how to continue", async () => {
    await write(A, B, C);
    await migrations.up();
    await remove(C);
    expect(await failure(migrations.up())).toMatchObject({
      code: "E_MIGRATION",
      message: expect.stringMatching(new RegExp(`missing in .*: ${C}\\. They are newer .*migrate --allow-newer$`)),
    });
    expect([await migrations.up({ allowMissing: "newer" }), await tables()]).toEqual([[], ["a", "b", "c"]]);
  });

  test("that allows newer ones still refuses one that is missing among its own", async () => {
    await write(A, B, C, D);
    await migrations.up();
    for (const name of [B, D]) await remove(name);
    expect(await failure(migrations.up({ allowMissing: "newer" }))).toMatchObject({
      code: "E_MIGRATION",
      message: expect.stringMatching(new RegExp(`: ${B}\\..*--allow-missing$`)),
    });
    // If both problems are present, the more useful advice is given.
    expect(await failure(migrations.up())).toMatchObject({
      message: expect.stringMatching(new RegExp(`: ${B}, ${D}\\..*--allow-missing$`)),
    });
    await write(B);
    await remove(A);
    expect(await failure(migrations.up({ allowMissing: "newer" }))).toMatchObject({ code: "E_MIGRATION" });
  });

  test("runs its own pending migrations", async () => {
    await write(A, C);
    await migrations.up();
    await remove(C);
    await write(B);
    expect([await migrations.up({ allowMissing: "newer" }), await tables()]).toEqual([[B], ["a", "b", "c"]]);
  });
});

describe("rollback", () => {
  beforeEach(async () => {
    await write(A);
    await migrations.up();
    await write(B, C);
    await migrations.up();
  });

  test("rolls back the last batch, the last one first", async () => {
    expect([await migrations.rollback(), await tables()]).toEqual([[C, B], ["a"]]);
    expect([await migrations.rollback(), await tables()]).toEqual([[A], []]);
    expect(await migrations.rollback()).toEqual([]);
  });

  test("rolls back a number of steps, or a batch", async () => {
    expect(await migrations.rollback({ steps: 1 })).toEqual([C]);
    expect(await migrations.rollback({ batch: 1 })).toEqual([A]);
    expect(await migrations.rollback({ batch: 1 })).toEqual([]);
    expect(await migrations.rollback({ steps: 9 })).toEqual([B]);
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("refuses %d steps", async (steps) => {
    expect(await failure(migrations.rollback({ steps }))).toMatchObject({ code: "E_MIGRATION" });
    expect(await tables()).toEqual(["a", "b", "c"]);
  });

  test("rolls nothing back if a file of the batch is missing, unless told to skip it", async () => {
    await remove(B);
    for (const options of [undefined, { allowMissing: false }]) {
      expect(await failure(migrations.rollback(options))).toMatchObject({
        code: "E_MIGRATION",
        message: expect.stringMatching(
          new RegExp(`missing in .*: ${B}\\. .* npx ashlar migrate:rollback --allow-missing$`),
        ),
      });
    }
    expect(await tables()).toEqual(["a", "b", "c"]);
    expect([await migrations.rollback({ allowMissing: true }), await tables()]).toEqual([[C], ["a", "b"]]);
  });

  test("lists missing ones in the order in which they were run", async () => {
    for (const name of [B, C]) await remove(name);
    expect(await failure(migrations.rollback())).toMatchObject({
      message: expect.stringContaining(`: ${B}, ${C}. `),
    });
  });

  test("does not roll back a migration that another one's rollback has recorded as not run", async () => {
    await folder.write(
      D,
      `export const up = async () => {};
       export const down = (database) => database.deleteFrom("migrations").where("name", "=", "${B}").execute();`,
    );
    await migrations.up();
    expect([await migrations.rollback({ steps: 3 }), await tables()]).toEqual([
      [D, C],
      ["a", "b"],
    ]);
    expect((await migrations.status()).map(({ state }) => state)).toEqual(["run", "pending", "pending", "pending"]);
  });

  test("refuses a migration without down, and leaves it in place", async () => {
    await folder.write(D, "export const up = async () => {};");
    await migrations.up();
    expect(await failure(migrations.rollback())).toMatchObject({
      code: "E_MIGRATION",
      message: `${join(folder.path, D)}.ts: it cannot be rolled back, because it exports no function "down".`,
    });
    expect((await migrations.status()).map(({ state }) => state)).toEqual(["run", "run", "run", "run"]);
  });
});

test("status reports each migration, oldest first, with its status and when it was run", async () => {
  setClock(() => NOON);
  onTestFinished(() => setClock(null));
  await write(B);
  await migrations.up();
  await remove(B);
  await write(C, A);
  expect(await migrations.status()).toEqual([
    { name: A, state: "pending", batch: null, runAt: null },
    { name: B, state: "missing", batch: 1, runAt: new Date(NOON) },
    { name: C, state: "pending", batch: null, runAt: null },
  ]);
});

test("pending ones are those that were not run, oldest first; reading them creates no table", async () => {
  await write(B, A);
  expect([await migrations.pending(), await folder.tables()]).toEqual([[A, B], []]);
  await migrations.up();
  expect(await migrations.pending()).toEqual([]);
  await write(D, C);
  await remove(A);
  expect(await migrations.pending()).toEqual([C, D]);
});

test("without migrations, none is pending, and the database is not queried", async () => {
  await database.close();
  expect(await migrations.pending()).toEqual([]);
  await write(A);
  expect(await failure(migrations.pending())).toMatchObject({ code: "E_DATABASE" });
});

test("fresh drops everything, and runs all migrations", async () => {
  await write(A);
  await migrations.up();
  await database.kysely.schema.createTable("x").addColumn("n", "integer").execute();
  await write(B);
  expect([await migrations.fresh(), await tables()]).toEqual([
    [A, B],
    ["a", "b"],
  ]);
  expect((await migrations.status()).map(({ batch }) => batch)).toEqual([1, 1]);
});

test("fresh fails if a table cannot be dropped, and runs nothing", async () => {
  await write(A);
  await migrations.up();
  await write(B);
  await sql`pragma query_only = on`.execute(database.kysely);
  expect(await failure(migrations.fresh())).toMatchObject({
    code: "E_DATABASE_READ_ONLY",
    message: expect.stringContaining("readonly"),
  });
  expect(await tables()).toEqual(["a"]);
});

test("a migration is recorded once, with everything that is known about it", async () => {
  await write(A);
  await migrations.up();
  const { kysely } = database;
  const record = { name: A, batch: 2, run_at: new Date(NOON) };
  await expect(kysely.insertInto("migrations").values(record).execute()).rejects.toMatchObject({
    code: "E_UNIQUE_VIOLATION",
  });
  for (const missing of ["batch", "run_at"]) {
    const values = { ...record, name: B, [missing]: null };
    await expect(kysely.insertInto("migrations").values(values).execute()).rejects.toMatchObject({
      code: "E_NOT_NULL_VIOLATION",
      column: missing,
    });
  }
});

test("a failed rollback is an error, and leaves the migration recorded as run", async () => {
  await folder.write(
    A,
    `export const up = async () => {};
     export async function down() { throw new TypeError("no luck"); }`,
  );
  await migrations.up();
  expect(await failure(migrations.rollback())).toMatchObject({
    code: "E_MIGRATION",
    message: `${join(folder.path, A)}.ts: down() failed, and nothing of it remains. no luck`,
  });
  expect((await migrations.status()).map(({ state }) => state)).toEqual(["run"]);
});

test.each(["insert", "delete"])("if %s cannot change the record, nothing is done", async (verb) => {
  await write(A);
  if (verb === "delete") await migrations.up();
  else await migrations.status();
  const refusal = `begin select raise(abort, 'The notes are kept.'); end`;
  await sql.raw(`create trigger keep before ${verb} on migrations ${refusal}`).execute(database.kysely);
  const attempt = verb === "delete" ? migrations.rollback() : migrations.up();
  expect(await failure(attempt)).toMatchObject({ code: "E_MIGRATION", message: expect.stringContaining("are kept") });
  expect(await tables()).toEqual(verb === "delete" ? ["a"] : []);
});

test("a migration that was run is not even loaded: its dependencies may be gone", async () => {
  await folder.write(A, "export const up = (;");
  await migrations.status();
  const record = { name: A, batch: 1, run_at: new Date(NOON) };
  await database.kysely.insertInto("migrations").values(record).execute();
  await write(B);
  expect(await migrations.up()).toEqual([B]);
});

test("if the table of migrations can be neither found nor created, the reason is reported", async () => {
  await sql`pragma query_only = on`.execute(database.kysely);
  expect(await failure(migrations.status())).toMatchObject({
    code: "E_DATABASE_READ_ONLY",
    message: expect.stringContaining("readonly"),
  });
});

test("a time that cannot be read is reported under its name", async () => {
  await migrations.status();
  await database.kysely.insertInto("migrations").values({ name: A, batch: 1, run_at: "noon" }).execute();
  expect(await failure(migrations.status())).toMatchObject({
    code: "E_DATABASE",
    message: expect.stringContaining('The column "run_at" holds'),
  });
});

test.each(["true", "false"])(
  "with transaction = %s, a row that refers to nothing fails the migration",
  async (transaction) => {
    await database.kysely.schema
      .createTable("p")
      .addColumn("id", "integer", (column) => column.primaryKey())
      .execute();
    const child = database.kysely.schema.createTable("q");
    await child.addColumn("p_id", "integer", (column) => column.references("p.id")).execute();
    await folder.write(
      A,
      `export const transaction = ${transaction};
     export const up = (database) => database.insertInto("q").values({ p_id: 7 }).execute();`,
    );
    expect(await failure(migrations.up())).toMatchObject({
      code: "E_MIGRATION",
      cause: { code: "E_FOREIGN_KEY_VIOLATION" },
    });
    expect((await migrations.status()).map(({ state }) => state)).toEqual(["pending"]);
  },
);

test("without a transaction, one whose first statement fails may have been killed before, and the error says so", async () => {
  await database.kysely.schema.createTable("killed").addColumn("n", "integer").execute();
  await folder.write(
    A,
    `export const transaction = false;
     export const up = (database) => database.schema.createTable("killed").addColumn("n", "integer").execute();`,
  );
  expect(await failure(migrations.up())).toMatchObject({
    message: expect.stringMatching(
      /up\(\) failed, before it had changed anything\. If an earlier run of it was killed or lost its connection, what that one did remains, .* This failed: create table "killed"/,
    ),
  });
});

test("a failed rollback without a transaction reports what remains", async () => {
  await folder.write(
    A,
    `export const transaction = false;
     export const up = async () => {};
     export async function down() { throw new TypeError("no luck"); }`,
  );
  await migrations.up();
  expect(await failure(migrations.rollback())).toMatchObject({
    message:
      `${join(folder.path, A)}.ts: down() failed, and what it did before that remains, because it runs without a ` +
      "transaction. It is still recorded as run: finish by hand, then roll back again. no luck",
  });
});

test("a single missing file is refused as well", async () => {
  await write(A, B);
  await migrations.up();
  await remove(A);
  expect(await failure(migrations.up())).toMatchObject({ code: "E_MIGRATION" });
});

test("the last migration is from the last batch, and has the last name in it, in whatever order they were recorded", async () => {
  await write(A, B, C);
  await migrations.status();
  for (const [name, batch] of [
    [A, 2],
    [C, 1],
    [B, 1],
  ]) {
    const record = { name, batch, run_at: new Date(NOON) };
    await database.kysely.insertInto("migrations").values(record).execute();
    await database.kysely.schema.createTable(String(name).at(-1)!).addColumn("n", "integer").execute();
  }
  expect(await migrations.rollback({ steps: 2 })).toEqual([A, C]);
  expect(await tables()).toEqual(["b"]);
});
