import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigurationError, fromText, integer, type Optional, setting, settings } from "../../support/index.ts";
import type { DialectSetup, DialectSource } from "../dialect/dialect.ts";
import { SqliteDialect } from "./sqlite-dialect.ts";
import { IN_MEMORY, isInFolder } from "./sqlite-file.ts";

/** The settings of {@link sqlite}. */
export interface SqliteSettings {
  /**
   * The file, relative to the application's root, or `:memory:`. It must not be in `public/`, whose files are served to
   * everyone. Only the owner can read a new file.
   *
   * Security: an existing file keeps its mode. If others can read it, `chmod 600` the file, its `-wal` and its `-shm`.
   */
  readonly path: Optional<string>;
  /**
   * How long a statement waits for another process to unlock the file, in milliseconds, 0 to 600,000; default: 10,000.
   * This includes the time that it waits for this process's other transactions. After that, it fails with
   * `E_DATABASE_BUSY` (503). Requests that don't need the lock are not delayed.
   */
  readonly busyTimeoutMs?: Optional<number | string>;
  /**
   * How long a write or a transaction waits for other transactions of this process, in milliseconds, 1 to 600,000;
   * default: 10,000.
   */
  readonly acquireTimeoutMs?: Optional<number | string>;
  /**
   * How many writes and transactions may wait, 1 to 1,000,000; default: 1000. The next one fails at once with
   * `E_OVERLOADED`.
   */
  readonly maxWaiting?: Optional<number | string>;
}

/** {@link SqliteSettings}, checked and complete. */
export interface CompleteSqliteSettings {
  /** The file's absolute path, or `:memory:`. */
  readonly path: string;
  readonly busyTimeoutMs: number;
  readonly acquireTimeoutMs: number;
  readonly maxWaiting: number;
  /** Whether nothing may be created or changed; default: `false`. */
  readonly isReadOnly?: boolean;
}

const SCHEMA = settings<SqliteSettings>()({
  path: setting<string>({
    what: 'the path of a file: "database/app.sqlite"',
    accept: (value) => (typeof value === "string" ? value : undefined),
  }),
  busyTimeoutMs: fromText(integer({ from: 0, to: 600_000, unit: "milliseconds" }, 10_000)),
  acquireTimeoutMs: fromText(integer({ from: 1, to: 600_000, unit: "milliseconds" }, 10_000)),
  maxWaiting: fromText(integer({ from: 1, to: 1_000_000 }, 1000)),
});

/**
 * A connection to a SQLite file, through Node's own SQLite.
 *
 * ```ts
 * // config/database.ts
 * export const DATABASES = { default: "main", main: sqlite({ path: env("DATABASE_PATH", "database/app.sqlite") }) };
 * ```
 *
 * Startup fails with `E_INVALID_CONFIGURATION` if a setting is unknown or invalid, or the path is missing or in
 * `public/`.
 */
export function sqlite(options: SqliteSettings): DialectSource {
  return (setup) => {
    const read = readSqliteSettings(options, setup);
    return new SqliteDialect(setup.isInspected ? inspected(read) : read, setup.observer);
  };
}

/** How long an inspection waits if another process has locked the file, in milliseconds. */
const INSPECTION_TIMEOUT_MS = 500;

/**
 * The settings for an inspection. If the file is missing, uses an empty database in memory, because opening the file
 * would create it.
 */
function inspected(settings: CompleteSqliteSettings): CompleteSqliteSettings {
  if (!existsSync(settings.path)) return { ...settings, path: IN_MEMORY };
  const busyTimeoutMs = Math.min(settings.busyTimeoutMs, INSPECTION_TIMEOUT_MS);
  return { ...settings, busyTimeoutMs, isReadOnly: true };
}

/**
 * Checks the settings, and fills in defaults. Numbers may be text, as in environment variables.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readSqliteSettings(
  options: SqliteSettings,
  { where, root }: Pick<DialectSetup, "where" | "root">,
): CompleteSqliteSettings {
  const { path, ...waits } = SCHEMA.read(options, where);
  return { path: path === IN_MEMORY ? path : privatePath(path, where, root), ...waits };
}

/** @throws `E_INVALID_CONFIGURATION` if the application serves the file */
function privatePath(path: string, where: string, root: string): string {
  const file = resolve(root, path);
  if (!isInFolder(file, join(root, "public"))) return file;
  const problem = `is ${JSON.stringify(path)}, which is in public/: anyone could download the database.`;
  const remedy = 'Move the file, with its -wal and its -shm, to another folder, as in "database/app.sqlite".';
  throw new ConfigurationError(`${where}.path`, problem, remedy);
}
