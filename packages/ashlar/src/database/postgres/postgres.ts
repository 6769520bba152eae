import type { DialectSource } from "../dialect/dialect.ts";
import { PostgresDialect } from "./postgres-dialect.ts";
import { type PostgresSettings, readPostgresSettings } from "./postgres-settings.ts";

/**
 * A connection to a PostgreSQL server. It needs the package `pg`: `npm install pg`.
 *
 * ```ts
 * // config/database.ts
 * export const DATABASES = { default: "main", main: postgres({ url: env("DATABASE_URL"), poolSize: 20 }) };
 * ```
 *
 * Startup fails with `E_INVALID_CONFIGURATION` if a setting is unknown or invalid, or is set together with a url that
 * contains it.
 */
export function postgres(options: PostgresSettings): DialectSource {
  return (setup) => new PostgresDialect(readPostgresSettings(options, setup), setup);
}
