import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { type Database, type Migration, Migrations } from "../../src/database/index.ts";
import type { TestDatabase } from "./services.ts";
import { makeFolder } from "./temporary-folder.ts";

/** The imports of a test's migration. */
export const DATABASE_MODULE: string = fileURLToPath(new URL("../../src/database/index.ts", import.meta.url));

/** A folder of migrations for a test's database. It stays until it is removed. */
export class MigrationFolder {
  readonly path: string;
  readonly migrations: Migrations;
  readonly remove: () => void;
  readonly #database: Database;

  /** @param files the text of each migration, by name */
  constructor(database: Database, files: Readonly<Record<string, string>> = {}) {
    const named = Object.entries(files).map(([name, text]) => [`${name}.ts`, text]);
    ({ folder: this.path, remove: this.remove } = makeFolder(Object.fromEntries(named)));
    this.migrations = new Migrations(database, this.path);
    this.#database = database;
  }

  write(name: string, text: string): Promise<void> {
    return writeFile(join(this.path, `${name}.ts`), text);
  }

  /** The names of all tables of the database. */
  async tables(): Promise<string[]> {
    const found = await this.#database.kysely.introspection.getTables();
    return found.map(({ name }) => name).sort();
  }
}

/**
 * Runs new migrations in one folder after the other, in a separate process.
 *
 * @returns for each folder, the names of the migrations that were run, or the error's code and message
 */
export async function upElsewhere(own: TestDatabase, ...folders: readonly MigrationFolder[]): Promise<string[][]> {
  const { folder, remove } = makeFolder({
    "run.ts": `
      import { readFile, writeFile } from "node:fs/promises";
      import { Database, Migrations } from "${DATABASE_MODULE}";
      const database = new Database({ default: "main", main: ${JSON.stringify(own.configuration)} }, "/");
      const done = [];
      for (const folder of ${JSON.stringify(folders.map(({ path }) => path))}) {
        await writeFile(folder + "/" + process.pid + ".ready", "");
        done.push(await new Migrations(database, folder).up().catch((error) => [error.code, error.message]));
      }
      await database.close();
      console.log(JSON.stringify(done));`,
  });
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "run.ts")]).finally(remove);
  return JSON.parse(stdout) as string[][];
}

/** The migration that an application gets from a stub. */
export async function migrationOfStub(stub: string): Promise<Required<Migration>> {
  const packageFolder = join(import.meta.dirname, "../..");
  const source = await readFile(join(packageFolder, "stubs", stub), "utf8");
  const text = source.replace('"ashlar/database"', `"${packageFolder}/src/database/index.ts"`);
  const { folder, remove } = makeFolder({ "migration.ts": text });
  try {
    return (await import(pathToFileURL(join(folder, "migration.ts")).href)) as Required<Migration>;
  } finally {
    remove();
  }
}
