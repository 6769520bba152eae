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

test("TypeScript and JavaScript files are listed oldest first, and others are ignored", async () => {
  for (const file of ["2026_02_01_000000_b.js", "2026_01_01_000000_z.ts", "2026_02_01_000000_b.d.ts", "README.md"]) {
    await write(file);
  }
  expect(await migrationFiles(folder)).toEqual([
    { name: "2026_01_01_000000_z", path: join(folder, "2026_01_01_000000_z.ts") },
    { name: "2026_02_01_000000_b", path: join(folder, "2026_02_01_000000_b.js") },
  ]);
});

test("a missing folder means no migrations", async () => {
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

test("a file is imported unchanged", async () => {
  await write(
    "2026_01_01_000000_x.ts",
    "export async function up(database: { n: number }): Promise<void> { database.n++; }",
  );
  const [file] = await migrationFiles(folder);
  const database = { n: 1 };
  await (await loadMigration(file!)).up(database as never);
  expect(database.n).toBe(2);
});

test("the oldest first, whatever the order in the folder", async () => {
  const days = ["07", "03", "09", "01", "05", "02", "08", "04", "06"];
  for (const day of days) await write(`2026_01_${day}_000000_x.ts`);
  expect((await migrationFiles(folder)).map(({ name }) => name)).toEqual(
    days.toSorted().map((day) => `2026_01_${day}_000000_x`),
  );
});

test.each(["2026_01_01_000000_x.ts.bak", "2026_01_01_000000_x.tsx", "notes.txt"])(
  "%s is another file",
  async (file) => {
    await write(file);
    expect(await migrationFiles(folder)).toEqual([]);
  },
);

test.each(["x2026_01_01_000000_x.ts", "2026_01_01_000000_x-y.ts", "2026_01_01_000000_.ts"])(
  "%s is named almost like a migration, and refused",
  async (file) => {
    await write(file);
    await expect(migrationFiles(folder)).rejects.toMatchObject({ code: "E_MIGRATION" });
  },
);

test("something other than a folder is a separate error", async () => {
  await write("file");
  await expect(migrationFiles(join(folder, "file"))).rejects.toMatchObject({ code: "ENOTDIR" });
});

test.each([
  ["no_up", "export const down = () => {};", 'does not export a function "up"', undefined],
  ["broken", "export const up = (;", "could not be loaded: ", expect.any(Error)],
  ["throws", 'throw new Error("while it loads");', "could not be loaded: while it loads", expect.any(Error)],
  ["odd", 'export const transaction = "no"; export const up = () => {};', '"transaction" must be', undefined],
])("a file that is %s is refused", async (name, text, message, cause) => {
  await write(`2026_01_01_000000_${name}.ts`, text);
  const [file] = await migrationFiles(folder);
  const error = await loadMigration(file!).catch((caught: unknown) => caught as Error);
  expect(error).toMatchObject({ code: "E_MIGRATION", message: expect.stringContaining(`${file!.path}: `) });
  expect([(error as Error).message, (error as Error).cause]).toEqual([expect.stringContaining(message), cause]);
});

test.each([true, false])("a migration may say that it runs in a transaction: %s", async (transaction) => {
  await write(
    `2026_01_01_000000_${transaction}.ts`,
    `export const transaction = ${transaction}; export const up = () => {};`,
  );
  const [file] = await migrationFiles(folder);
  expect((await loadMigration(file!)).transaction).toBe(transaction);
});
