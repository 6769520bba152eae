import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Kysely } from "kysely";
import { AshlarError } from "../../support/index.ts";
import "../errors.ts";

/**
 * The exports of a migration's file.
 *
 * It runs in a transaction, and every statement must be awaited. On SQLite, which changes columns only by rebuilding
 * their table, foreign keys are off during the migration and checked at its end, so that rows of other tables stay:
 *
 * ```ts
 * import { type Kysely, primaryKey, sql } from "ashlar/database";
 *
 * export async function up(database: Kysely<any>): Promise<void> {
 *   await database.schema
 *     .createTable("new_authors")
 *     .$call(primaryKey(database))
 *     .addColumn("name", "text", (column) => column.notNull())
 *     .execute();
 *   await sql`insert into new_authors (id, name) select id, coalesce(name, '') from authors`.execute(database);
 *   await database.schema.dropTable("authors").execute();
 *   await database.schema.alterTable("new_authors").renameTo("authors").execute();
 * }
 * ```
 *
 * Indexes, triggers and views of the table are dropped with it: create them again. Keys that refer to it keep its name.
 */
export interface Migration {
  /**
   * `false` for a migration that must not run in a transaction, such as `create index concurrently` on PostgreSQL. If
   * it fails, its earlier changes stay. On SQLite, foreign keys are off and checked at the end in this case, too,
   * before the migration is recorded as run.
   */
  readonly transaction?: boolean;
  /** Makes the change. */
  // biome-ignore lint/suspicious/noExplicitAny: a migration has no types for tables, which change over time.
  up(database: Kysely<any>): Promise<void>;
  /** Undoes it. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  down?(database: Kysely<any>): Promise<void>;
}

/** A migration's file, named for its time and its purpose. */
export interface MigrationFile {
  /** `2026_01_31_120000_create_orders` */
  readonly name: string;
  readonly path: string;
}

const NAME = /^\d{4}_\d\d_\d\d_\d{6}_[a-z0-9_]+$/;
const EXTENSION = /\.[cm]?[jt]s$/;

/**
 * The migrations in a folder, oldest first; empty if the folder does not exist.
 *
 * @throws `E_MIGRATION` if a file is named differently, or two are the same migration
 */
export async function migrationFiles(folder: string): Promise<MigrationFile[]> {
  const files = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const migrations = new Map<string, MigrationFile>();
  for (const file of files.sort()) {
    if (!EXTENSION.test(file) || file.endsWith(".d.ts")) continue;
    const name = file.replace(EXTENSION, "");
    const path = join(folder, file);
    if (!NAME.test(name)) {
      throw new AshlarError("E_MIGRATION", `${path}: it is not named like 2026_01_31_120000_create_orders.ts.`);
    }
    if (migrations.has(name))
      throw new AshlarError("E_MIGRATION", `${path}: there is another file for this migration.`);
    migrations.set(name, { name, path });
  }
  return [...migrations.values()];
}

/**
 * Imports a migration.
 *
 * @param load distinguishes this from other loads of the file, which may have changed since
 * @throws `E_MIGRATION` if the file cannot be loaded, or does not export a {@link Migration}
 */
export async function loadMigration({ path }: MigrationFile, load = ""): Promise<Migration> {
  let loaded: Partial<Migration>;
  try {
    loaded = await import(/* @vite-ignore */ pathToFileURL(path).href + load);
  } catch (error) {
    throw new AshlarError("E_MIGRATION", `${path}: it could not be loaded: ${(error as Error).message}`, {
      cause: error,
    });
  }
  if (typeof loaded.up !== "function") {
    throw new AshlarError("E_MIGRATION", `${path}: it does not export a function "up".`);
  }
  if (loaded.transaction !== undefined && typeof loaded.transaction !== "boolean") {
    throw new AshlarError("E_MIGRATION", `${path}: "transaction" must be true or false.`);
  }
  return loaded as Migration;
}
