import { alternatives, isPlainObject, nearest, oneOf, quoted, setting, unknownSetting } from "../../support/index.ts";
import type { DialectSource } from "../dialect/dialect.ts";
import { mariadb } from "../mariadb/mariadb.ts";
import type { MariadbSettings } from "../mariadb/mariadb-settings.ts";
import { postgres } from "../postgres/postgres.ts";
import type { PostgresSettings } from "../postgres/postgres-settings.ts";
import { type SqliteSettings, sqlite } from "../sqlite/sqlite.ts";

/** A connection whose dialect is given by name, with the settings of `sqlite()`, `postgres()` or `mariadb()`. */
export type NamedDialect =
  | ({ readonly driver: "sqlite" } & SqliteSettings)
  | ({ readonly driver: "postgres" } & PostgresSettings)
  | ({ readonly driver: "mariadb" } & MariadbSettings);

/**
 * The shape of `DATABASES` in `config/database.ts`: the connections by name, and the name of the default one.
 *
 * ```ts
 * // config/database.ts
 * export const DATABASES = {
 *   default: env("DATABASE_CONNECTION", "main"),
 *   main: postgres({ url: env("DATABASE_URL"), poolSize: 20 }),
 *   archive: sqlite({ path: "database/archive.sqlite" }),
 * } satisfies DatabaseSettings;
 * ```
 */
export interface DatabaseSettings {
  readonly default: string;
  readonly [connection: string]: DialectSource | NamedDialect | string;
}

/** {@link DatabaseSettings}, checked and complete. */
export interface CompleteDatabaseSettings {
  /** The name of the default connection. */
  readonly default: string;
  readonly connections: Readonly<Record<string, DialectSource>>;
}

/** Where the connections are configured, for messages. */
export const DATABASES = "config/database.ts: DATABASES";

const SETTINGS = ["default"];
const DIALECTS: Readonly<Record<string, (options: never) => DialectSource>> = { sqlite, postgres, mariadb };
const EXAMPLE = 'sqlite({ path: "database/app.sqlite" })';
const DRIVER = oneOf(Object.keys(DIALECTS));

const OBJECT = setting<Readonly<Record<string, unknown>>>({
  what: `an object: { default: "main", main: ${EXAMPLE} }`,
  accept: (value) => (isPlainObject(value) ? value : undefined),
});

const CONNECTION = setting<DialectSource>({
  what: `a connection: ${EXAMPLE}`,
  accept(value, where) {
    if (typeof value === "function") return value as DialectSource;
    if (!isPlainObject(value)) return undefined;
    const { driver, ...options } = value;
    return DIALECTS[DRIVER.read(driver, `${where}.driver`)]!(options as never);
  },
});

/**
 * Reads `DATABASES`. Mistakes in a connection's settings are found when its dialect is created.
 *
 * @param databases the `DATABASES` of `config/database.ts`
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readDatabaseSettings(databases: unknown): CompleteDatabaseSettings {
  const { default: chosen, ...entries } = OBJECT.read(databases, DATABASES);
  const names = Object.keys(entries);
  const connections = Object.fromEntries(names.map((name) => [name, connectionSource(name, entries[name])]));
  const what = names.length === 0 ? `"main", and a connection with this name: main: ${EXAMPLE}` : alternatives(names);
  const accept = (value: unknown) => names.find((name) => name === value);
  const byDefault = setting<string>({ what, words: names, describe: quoted, accept });
  return Object.freeze({
    default: byDefault.read(chosen, `${DATABASES}.default`),
    connections: Object.freeze(connections),
  });
}

/**
 * The function that creates a connection's dialect.
 *
 * @param name the connection's name, for messages
 * @param value the entry of `DATABASES`
 * @throws `E_INVALID_CONFIGURATION`
 */
export function connectionSource(name: string, value: unknown): DialectSource {
  const where = `${DATABASES}.${name}`;
  // An entry that isn't a connection was probably meant to be the `default` setting.
  const isConnection = typeof value === "function" || isPlainObject(value);
  if (!isConnection && nearest(name, SETTINGS).length > 0) throw unknownSetting(where, name, SETTINGS);
  return CONNECTION.read(value, where);
}
