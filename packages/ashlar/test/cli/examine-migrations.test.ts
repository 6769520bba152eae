import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Database, sql } from "../../src/database/index.ts";
import { ashlar } from "../support/command-line.ts";
import { doctor, setVariables } from "../support/doctor.ts";
import { generateApplication } from "../support/generated-application.ts";
import { onPostgres, postgres, type TestDatabase } from "../support/services.ts";

await onPostgres("an application whose tables are in use", () => {
  let own: TestDatabase;
  let root: string;
  let remove: () => Promise<void>;

  beforeAll(async () => {
    own = await postgres.open();
    ({ root, remove } = await generateApplication({ database: "postgres" }));
    const { user, password = "", host, port, database } = own.configuration as unknown as Record<string, string>;
    const url = `postgres://${user}:${password}@${host}:${port}/${database}`;
    await setVariables(root, "APP_ENV=development", `DATABASE_URL=${url}`);
    expect(await ashlar(root, "migrate")).toMatchObject({ code: 0 });
  });
  afterAll(async () => {
    await remove();
    await own.drop();
  });

  /** Makes a migration. The returned function removes it. */
  async function make(name: string) {
    const { output, code } = await ashlar(root, "make:migration", name);
    expect(code).toBe(0);
    const [created, ...warnings] = output.split("\n");
    const file = created!.replace("Created ", "");
    return { file, warnings, text: await readFile(join(root, file), "utf8"), drop: () => rm(join(root, file)) };
  }

  test("make:migration writes the safe form that its name implies", async () => {
    const added = await make("add_phone_to_users");
    expect(added.warnings).toEqual([]);
    expect(added.text).toContain('alterTable("users").addColumn("phone", "varchar(255)").execute();');
    await added.drop();

    for (const name of ["index_name_on_users", "add_name_index_to_users"]) {
      const index = await make(name);
      expect(index.warnings).toEqual([]);
      expect(index.text).toContain("export const transaction = false;\n");
      expect(index.text).toContain('await createIndexConcurrently(database, "users", ["name"]);');
      expect(await ashlar(root, "migrate")).toMatchObject({ code: 0 });
      expect(await ashlar(root, "migrate:rollback")).toMatchObject({ code: 0 });
      await index.drop();
    }

    const renamed = await make("rename_name_to_full_name_in_users");
    expect(renamed.warnings).toEqual([]);
    expect(renamed.text).toContain('alterTable("users").addColumn("full_name", "varchar(255)").execute();');
    expect(renamed.text).toContain("drop name with a later version");
    await renamed.drop();
  });

  test("make:migration says what the migration would break and where", async () => {
    const { file, warnings, drop } = await make("remove_verified_at_from_users");
    expect(warnings).toEqual([
      `  warning ${file}:5: alter table "users" drop column "verified_at": The running version writes users.verified_at and looks for it until it is replaced, and fails without it.`,
      "    First deploy a version whose code doesn't name the column, and drop it with the next one.",
    ]);
    await drop();
  });

  test("migrate --dry-run prints statements and warnings, and doctor finds the same, until their advice is followed", async () => {
    const file = "database/migrations/2090_01_01_000000_change_users.ts";
    const write = (before: string, up: string) => {
      const imports = 'import { createIndexConcurrently, type Kysely, sql } from "ashlar/database";';
      return writeFile(
        join(root, file),
        `${imports}\n${before}\nexport async function up(database: Kysely<any>): Promise<void> {\n${up}\n}\n`,
      );
    };
    await write(
      "",
      `await database.schema.createIndex("users_name").on("users").column("name").execute();
      await database.schema.alterTable("users").dropColumn("name").execute();
      await database.selectFrom("users").select("id").executeTakeFirstOrThrow();`,
    );
    const { output } = await ashlar(root, "migrate", "--dry-run");
    const lines = [
      "export const transaction = false;",
      'await createIndexConcurrently(database, "users", ["name"], { name: "users_name" });',
    ];
    expect(output.split("\n")).toEqual([
      file,
      '  create index "users_name" on "users" ("name")',
      '  alter table "users" drop column "name"',
      '  select "id" from "users"',
      "  What it does after 3 statements can't be determined without its rows: no result",
      `  warning ${file}:4: create index "users_name" on "users" ("name"): Writes to users wait until the index is built.`,
      "    Build it without locking the table, in a separate migration:",
      ...lines.map((line) => `      ${line}`),
      expect.stringMatching(
        new RegExp(
          `^ {2}warning ${file}:5: alter table "users" drop column "name": .* The code that is here still uses it, too: app/models/user\\.ts:\\d+\\.$`,
        ),
      ),
      "    First deploy a version whose code doesn't name the column, and drop it with the next one.",
      "Nothing was changed. 2 warnings.",
    ]);
    expect((await ashlar(root, "migrate:status")).output).toMatch(/change_users +pending/);

    const { findings, errors } = await doctor(root);
    expect([errors, findings.map(({ id, line }) => [id, line])]).toEqual([
      0,
      [
        ["migrations.pending", null],
        ["migrations.risk", 4],
        ["migrations.risk", 5],
        ["migrations.risk", null],
      ],
    ]);
    expect(findings[1]!.remedy).toMatchObject({ file: "database/migrations", lines });

    const [before, up] = findings[1]!.remedy.lines;
    await write(before!, up!);
    expect((await doctor(root)).findings.map(({ id }) => id)).toEqual(["migrations.pending"]);
    expect(await ashlar(root, "migrate")).toMatchObject({ code: 0 });
    expect((await doctor(root)).findings).toEqual([]);
    expect((await ashlar(root, "migrate", "--dry-run")).output).toBe("Nothing to migrate.");
  });

  test("doctor finds an index that was left behind, and its lines drop it", async () => {
    const database = new Database({ default: "main", main: own.configuration }, root);
    const insert = "insert into maintenance (task, due_at) values ('a', now()), ('b', now())";
    await sql.raw(insert).execute(database.kysely);
    const build = sql`create unique index concurrently "One" on maintenance ((1))`.execute(database.kysely);
    await expect(build).rejects.toMatchObject({ code: "E_UNIQUE_VIOLATION" });
    await database.close();
    const { findings } = await doctor(root);
    expect(findings).toMatchObject([{ id: "database.index", severity: "warning" }]);
    expect(findings[0]!.problem).toContain("The index One of the table maintenance is invalid");
    const [before, up] = findings[0]!.remedy.lines;
    await writeFile(
      join(root, "database/migrations/2091_01_01_000000_drop_one.ts"),
      `import { type Kysely, sql } from "ashlar/database";\n${before}\nexport async function up(database: Kysely<unknown>) { ${up} }`,
    );
    expect(await ashlar(root, "migrate")).toMatchObject({ code: 0 });
    expect((await doctor(root)).findings).toEqual([]);
  });
});

test("without a configured database, make:migration writes its file without warnings", async () => {
  const { root, remove } = await generateApplication({ pages: false, api: false });
  await rm(join(root, "config/database.ts"), { force: true });
  const { output } = await ashlar(root, "make:migration", "remove_name_from_users");
  expect(output).toMatch(/^Created database\/migrations\/\S+$/);
  expect((await readdir(join(root, "database/migrations"))).filter((name) => name.includes("remove_"))).toHaveLength(1);
  await remove();
});
