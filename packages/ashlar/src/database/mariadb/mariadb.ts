import type { DialectSource } from "../dialect/dialect.ts";
import { MariadbDialect } from "./mariadb-dialect.ts";
import { type MariadbSettings, readMariadbSettings } from "./mariadb-settings.ts";

/**
 * A connection to a MariaDB server, 10.11 or newer, or to a MySQL server, 8.4 or newer. It needs the package `mysql2`: `npm
 * install mysql2`.
 *
 * ```ts
 * // config/database.ts
 * export const DATABASES = { default: "main", main: mariadb({ url: env("DATABASE_URL"), poolSize: 20 }) };
 * ```
 *
 * Startup fails with `E_INVALID_CONFIGURATION` if a setting is unknown or invalid, or is set together with a url that
 * contains it.
 */
export function mariadb(options: MariadbSettings): DialectSource {
  return (setup) => new MariadbDialect(readMariadbSettings(options, setup), setup);
}
