import { flag, fromText, integer, type Optional, setting, settings, text } from "../../support/index.ts";
import type { DialectSetup, DialectSource } from "../dialect.ts";
import { PostgresDialect } from "./postgres-dialect.ts";

/** The settings of {@link postgres}. */
export interface PostgresSettings {
  /** The server and the database as one URL: `postgres://user:password@host:5432/database`. */
  readonly url?: Optional<string>;
  /** The server's host, if there is no `url`; default: 127.0.0.1. */
  readonly host?: Optional<string>;
  /** The server's port, if there is no `url`; default: 5432. */
  readonly port?: Optional<number | string>;
  readonly user?: Optional<string>;
  readonly password?: Optional<string>;
  readonly database?: Optional<string>;
  /**
   * Whether to encrypt, if there is no `url`; the server's certificate is then verified. A URL says it with
   * `?sslmode=verify-full`.
   */
  readonly ssl?: Optional<boolean | "true" | "false">;
  /** The maximum number of connections, 1 to 10,000; default: 10. */
  readonly poolSize?: Optional<number | string>;
  /** After how long the server cancels a statement, in milliseconds, 1 to 86,400,000; default: never. */
  readonly statementTimeoutMs?: Optional<number | string>;
  /** How long a query waits for a free connection, in milliseconds, 1 to 600,000; default: 10,000. */
  readonly acquireTimeoutMs?: Optional<number | string>;
}

/** {@link PostgresSettings}, checked and complete. */
export interface CompletePostgresSettings {
  /** The server and the database as one URL; if it is set, the settings of the address are not. */
  readonly url: string | null;
  readonly host: string;
  readonly port: number;
  readonly user: string | null;
  readonly password: string | null;
  readonly database: string | null;
  readonly ssl: boolean;
  readonly poolSize: number;
  readonly statementTimeoutMs: number | null;
  readonly acquireTimeoutMs: number;
}

const ADDRESS_NAMES = ["host", "port", "user", "password", "database", "ssl"] as const;
const MILLISECONDS = { from: 1, to: 600_000, unit: "milliseconds" };

const SCHEMA = settings<PostgresSettings>()(
  {
    // Messages never quote it, because it contains a password.
    url: setting<string | null, string>({
      what: "the address of a PostgreSQL database: postgres://user:password@host:5432/database",
      describe: (value) => (typeof value === "string" ? "not the address of a PostgreSQL database" : "not text"),
      accept: (value) => (isPostgresUrl(value) ? value : undefined),
      fallback: null,
    }),
    host: text(null),
    port: fromText(integer({ from: 1, to: 65_535 }, null)),
    user: text(null),
    password: text(null),
    database: text(null),
    ssl: fromText(flag(null)),
    poolSize: fromText(integer({ from: 1, to: 10_000 }, 10)),
    statementTimeoutMs: fromText(integer({ ...MILLISECONDS, to: 86_400_000 }, null)),
    acquireTimeoutMs: fromText(integer(MILLISECONDS, 10_000)),
  },
  {
    check(read, refuse) {
      const surplus = read.url === null ? undefined : ADDRESS_NAMES.find((name) => read[name] !== null);
      if (surplus !== undefined) throw refuse(surplus, "is set together with url.", "Leave out one of the two.");
    },
  },
);

/**
 * A connection to a PostgreSQL server. It needs the package `pg`: `npm install pg`.
 *
 * ```ts
 * // config/database.ts
 * export const DATABASES = { default: "main", main: postgres({ url: env("DATABASE_URL"), poolSize: 20 }) };
 * ```
 *
 * The boot fails with `E_INVALID_CONFIGURATION` if a setting is unknown or invalid, or is set together with a url that
 * contains it.
 */
export function postgres(options: PostgresSettings): DialectSource {
  return (setup) => new PostgresDialect(readPostgresSettings(options, setup), setup);
}

/**
 * Checks the settings, and fills in defaults. Numbers and booleans may be text, as in environment variables.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readPostgresSettings(
  options: PostgresSettings,
  { where }: Pick<DialectSetup, "where">,
): CompletePostgresSettings {
  const read = SCHEMA.read(options, where);
  return { ...read, host: read.host ?? "127.0.0.1", port: read.port ?? 5432, ssl: read.ssl ?? false };
}

function isPostgresUrl(value: unknown): value is string {
  const protocol = typeof value === "string" ? URL.parse(value)?.protocol : undefined;
  return protocol === "postgres:" || protocol === "postgresql:";
}
