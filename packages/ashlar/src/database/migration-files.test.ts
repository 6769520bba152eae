import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadMigration, migrationFiles } from "./migration-files.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ashlar-files-"));
});
afterEach(() => rm(folder, { recursive: true }));

const write = (file: string, text = ""): Promise<void> => writeFile(join(folder, file), text);

test("the oldest first, in TypeScript and in JavaScript; other files do not matter", async () => {
  for (const file of ["2026_02_01_000000_b.js", "2026_01_01_000000_z.ts", "2026_02_01_000000_b.d.ts", "README.md"]) {
    await write(file);
  }
  expect(await migrationFiles(folder)).toEqual([
    { name: "2026_01_01_000000_z", path: join(folder, "2026_01_01_000000_z.ts") },
    { name: "2026_02_01_000000_b", path: join(folder, "2026_02_01_000000_b.js") },
  ]);
});

test("no folder is no migration", async () => {
  expect(await migrationFiles(join(folder, "none"))).toEqual([]);
});

test.each(["users.ts", "2026_01_01_create.ts", "2026_01_01_000000_Create.ts", "2026-01-01_000000_x.ts"])(
  "%s is not named like a migration",
  async (file) => {
    await write(file);
    await expect(migrationFiles(folder)).rejects.toMatchObject({
      code: "E_MIGRATION",
      message: expect.stringContaining(file),
    });
  },
);

test("one migration in two files is refused", async () => {
  await write("2026_01_01_000000_x.ts");
  await write("2026_01_01_000000_x.js");
  await expect(migrationFiles(folder)).rejects.toMatchObject({ code: "E_MIGRATION" });
});

test("a file is imported as it is", async () => {
  await write(
    "2026_01_01_000000_x.ts",
    "export async function up(database: { n: number }): Promise<void> { database.n++; }",
  );
  const [file] = await migrationFiles(folder);
  const database = { n: 1 };
  await (await loadMigration(file!)).up(database as never);
  expect(database.n).toBe(2);
});
