import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Kysely } from "kysely";
import { AshlarError } from "../support/index.ts";

/** What a migration's file exports. */
export interface Migration {
  /** Makes the change. */
  // biome-ignore lint/suspicious/noExplicitAny: a migration knows no tables' types: they are other ones at each point in time.
  up(database: Kysely<any>): Promise<void>;
  /** Takes it back. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  down?(database: Kysely<any>): Promise<void>;
}

/** A migration's file, named for when it was written and what it does. */
export interface MigrationFile {
  /** `2026_01_31_120000_create_orders` */
  readonly name: string;
  readonly path: string;
}

const NAME = /^\d{4}_\d\d_\d\d_\d{6}_[a-z0-9_]+$/;
const EXTENSION = /\.[cm]?[jt]s$/;

/**
 * The migrations of a folder, the oldest first; none where there is no such folder.
 *
 * @throws `E_MIGRATION` where a file is named otherwise, or two are the same migration
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
    if (migrations.has(name)) throw new AshlarError("E_MIGRATION", `${path}: there is another file of this migration.`);
    migrations.set(name, { name, path });
  }
  return [...migrations.values()];
}

/**
 * Imports a migration.
 *
 * @throws `E_MIGRATION` where the file cannot be loaded, or exports no `up`
 */
export async function loadMigration({ path }: MigrationFile): Promise<Migration> {
  let loaded: Partial<Migration>;
  try {
    loaded = await import(/* @vite-ignore */ pathToFileURL(path).href);
  } catch (error) {
    throw new AshlarError("E_MIGRATION", `${path}: it could not be loaded: ${(error as Error).message}`, {
      cause: error,
    });
  }
  if (typeof loaded.up === "function") return loaded as Migration;
  throw new AshlarError("E_MIGRATION", `${path}: it does not export a function "up".`);
}
