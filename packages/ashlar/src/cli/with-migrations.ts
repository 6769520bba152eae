import { join } from "node:path";
import { loadConfiguration, readEnvironment } from "../boot/index.ts";
import { Database, Migrations } from "../database/index.ts";
import { ConfigurationError } from "../support/index.ts";

/**
 * Works on the migrations of an application's database, and closes it afterwards. The application is not booted: a
 * table that its boot needs may be what is to be migrated.
 *
 * @param root the application's folder
 * @throws `E_INVALID_CONFIGURATION`, `E_MIGRATION`
 */
export async function withMigrations<T>(root: string, work: (migrations: Migrations) => Promise<T>): Promise<T> {
  const configuration = await loadConfiguration(root, readEnvironment(root));
  if (!configuration.has("database")) {
    throw new ConfigurationError(
      "config/database.ts",
      "does not exist, and it names the database to migrate.",
      "With accounts or an API, npx ashlar auth or npx ashlar api:install writes it. By itself it is: " +
        'export const DATABASES = { default: "sqlite", sqlite: { driver: "sqlite", path: "database/app.sqlite" } };',
    );
  }
  const database = new Database(configuration.section("database", ["DATABASES"]).DATABASES, root);
  try {
    return await work(migrationsOf(root, database));
  } finally {
    await database.close();
  }
}

/** The migrations of an application, for one of its databases. */
export function migrationsOf(root: string, database: Database): Migrations {
  return new Migrations(database, join(root, "database", "migrations"));
}
