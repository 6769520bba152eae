import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Database } from "../../src/database/index.ts";
import { ashlar } from "../support/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const MIGRATION = `export const up = (database) => database.schema.createTable("kept").addColumn("n", "integer").execute();
export const down = (database) => database.schema.dropTable("kept").execute();`;

/** An application with a migrated database, in production because of a variable or its configuration. */
async function application(by: "environment" | "configuration"): Promise<string> {
  const root = await temporaryFolder();
  await mkdir(join(root, "config"), { recursive: true });
  await mkdir(join(root, "database", "migrations"), { recursive: true });
  const DATABASES = { default: "main", main: { driver: "sqlite", path: "app.sqlite" } };
  await writeFile(join(root, "config/database.ts"), `export const DATABASES = ${JSON.stringify(DATABASES)};`);
  const APP = by === "configuration" ? { environment: "production" } : {};
  await writeFile(join(root, "config/app.ts"), `export const APP = ${JSON.stringify(APP)};`);
  await writeFile(join(root, ".env"), by === "environment" ? "APP_ENV=production\n" : "");
  await writeFile(join(root, "database/migrations/2026_01_01_000000_make_kept.ts"), MIGRATION);
  expect((await ashlar(root, "migrate")).errors).toBe("");
  return root;
}

async function tables(root: string): Promise<string[]> {
  const database = new Database({ default: "main", main: { driver: "sqlite", path: "app.sqlite" } }, root);
  try {
    return (await database.kysely.introspection.getTables()).map(({ name }) => name);
  } finally {
    await database.close();
  }
}

test.each([
  ["migrate:rollback", "environment", ["migrations"]],
  ["migrate:rollback", "configuration", ["migrations"]],
  ["migrate:fresh", "environment", ["kept", "migrations"]],
  ["migrate:fresh", "configuration", ["kept", "migrations"]],
] as const)("%s drops nothing in production (set by the %s) without --force", async (command, by, after) => {
  const root = await application(by);
  const refused = await ashlar(root, command);
  expect(refused.code).toBe(1);
  expect(refused.errors).toMatch(
    /^This drops .* production database\. Nothing was done\. Add --force to do it anyway\.$/m,
  );
  expect(await tables(root)).toEqual(["kept", "migrations"]);
  expect((await ashlar(root, command, "--force")).code).toBe(0);
  expect(await tables(root)).toEqual(after);
});

test.each(["0", "-1", "1.5", "all"])(
  "migrate:rollback --steps %s is refused without rolling anything back",
  async (steps) => {
    const root = await application("environment");
    const { code, errors } = await ashlar(root, "migrate:rollback", "--force", `--steps=${steps}`);
    expect(code).toBe(1);
    expect(errors).toContain(`argument '${steps}' is invalid. It must be a whole number, at least 1.`);
    expect(await tables(root)).toEqual(["kept", "migrations"]);
  },
);

test("migrate and migrate:rollback accept --allow-missing", async () => {
  const root = await application("configuration");
  await writeFile(join(root, "config/app.ts"), 'export const APP = { environment: "development" };');
  expect((await ashlar(root, "migrate", "--allow-missing")).output).toBe("Nothing to migrate.");
  expect((await ashlar(root, "migrate:rollback", "--allow-missing")).output).toContain("2026_01_01_000000_make_kept");
});

test.each([["migrate"], ["migrate:status"], ["migrate:rollback", "--force"], ["migrate:fresh", "--force"]])(
  "%s closes the database, so that none of its temporary files remain",
  async (...command) => {
    const root = await application("configuration");
    expect((await ashlar(root, ...command)).errors).toBe("");
    expect((await readdir(root)).filter((name) => /-(?:wal|shm)$/.test(name))).toEqual([]);
  },
);
