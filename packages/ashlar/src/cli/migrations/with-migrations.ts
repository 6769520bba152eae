import { join } from "node:path";
import { loadConfiguration, readEnvironment } from "../../boot/index.ts";
import { Database, Migrations } from "../../database/index.ts";
import { ConfigurationError } from "../../support/index.ts";

/**
 * Runs a function with the migrations of an application's database, and closes the database afterwards. The application
 * is not booted, because startup may need a table that hasn't been migrated yet.
 *
 * @param root the application's folder
 * @throws `E_INVALID_CONFIGURATION`, `E_MIGRATION`
 */
export async function withMigrations<T>(root: string, work: (migrations: Migrations) => Promise<T>): Promise<T> {
  return await withConfiguredDatabase(root, (database) => work(migrationsOf(root, database)));
}

/**
 * Runs a function with an application's database, without booting the application, and closes it afterwards.
 *
 * @param root the application's folder
 * @throws `E_INVALID_CONFIGURATION`
 */
export async function withConfiguredDatabase<T>(root: string, work: (database: Database) => Promise<T>): Promise<T> {
  const configuration = await loadConfiguration(root, readEnvironment(root));
  if (!configuration.has("database")) {
    throw new ConfigurationError(
      "config/database.ts",
      "does not exist, so there is no database to migrate.",
      "For accounts or an API, run npx ashlar auth or npx ashlar api:install. Otherwise create it with: " +
        'import { sqlite } from "ashlar/database"; export const DATABASES = { default: "main", main: sqlite({ path: "database/app.sqlite" }) };',
    );
  }
  const database = new Database(configuration.section("database", ["DATABASES"]).DATABASES, root);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** An application's migrations for one of its databases. */
export function migrationsOf(root: string, database: Database): Migrations {
  return new Migrations(database, join(root, "database", "migrations"));
}
