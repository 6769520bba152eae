import { flag, fromText, type Optional, setting, settings } from "../../support/index.ts";
import type { DialectSetup } from "../dialect/dialect.ts";
import {
  ADDRESS_NAMES,
  type CompleteServerSettings,
  type DatabaseServerSettings,
  refuseOtherServer,
  replicaTimeoutMs,
  SERVER_SETTINGS,
  withServerDefaults,
} from "../dialect/server-settings.ts";
import {
  checkTls,
  type DatabaseTlsSettings,
  type ReadTls,
  TLS_SETTINGS,
  type TlsChoice,
  tlsOf,
  tlsOfVariable,
} from "../dialect/tls-settings.ts";

/** The settings of `postgres`. */
export interface PostgresSettings extends DatabaseServerSettings, DatabaseTlsSettings {
  /**
   * The server and the database as one URL: `postgres://user:password@host:5432/database`, with libpq's parameters
   * `sslmode`, `sslrootcert`, `sslcert`, `sslkey` and `sslnegotiation` if you like. Every mode but `disable` verifies
   * the certificate, and every mode but `verify-ca` also the host name in it.
   */
  readonly url?: Optional<string>;
  /**
   * Without a `url`: whether to encrypt, and to verify the server's certificate and the host name in it. In a URL,
   * write `?sslmode=verify-full`. Default: according to the environment variable `PGSSLMODE`, or else `false`.
   */
  readonly ssl?: Optional<boolean | "true" | "false">;
  /**
   * Whether the address is that of PgBouncer, or another pooler that gives each transaction a different server session;
   * default: `false`. If `true`, the framework keeps nothing in a session, and `statementTimeoutMs` applies only to
   * transactions.
   */
  readonly transactionPooling?: Optional<boolean | "true" | "false">;
}

/** {@link PostgresSettings}, checked and complete. */
export interface CompletePostgresSettings extends CompleteServerSettings, ReadTls {
  /** The server and the database as one URL. If it is set, the separate address settings aren't. */
  readonly url: string | null;
  readonly tls: TlsChoice;
  readonly transactionPooling: boolean;
}

/** The settings that a URL contains: the address, and whether to encrypt. */
const NAMES_IN_URL = [...ADDRESS_NAMES, "ssl"] as const;

const SCHEMA = settings<PostgresSettings>()(
  {
    // Messages never quote it, because it contains a password.
    url: setting<string | null, string>({
      what: "the address of a PostgreSQL database: postgres://user:password@host:5432/database",
      describe: (value) => (typeof value === "string" ? "not the address of a PostgreSQL database" : "not text"),
      accept: (value) => (isPostgresUrl(value) ? value : undefined),
      fallback: null,
    }),
    ...SERVER_SETTINGS,
    ...TLS_SETTINGS,
    transactionPooling: fromText(flag(false)),
    read: setting<readonly string[]>({
      what: "a list of addresses of PostgreSQL databases: [postgres://user:password@host:5432/database]",
      describe: () => "not a list of addresses of PostgreSQL databases",
      accept: (value) => (Array.isArray(value) && value.every(isPostgresUrl) ? value : undefined),
      fallback: [],
    }),
  },
  {
    check(read, refuse) {
      const surplus = read.url === null ? undefined : NAMES_IN_URL.find((name) => read[name] !== null);
      if (surplus !== undefined) throw refuse(surplus, "is set together with url.", "Leave out one of the two.");
      checkTls(read, read.url, "url", refuse);
      for (const url of read.read) checkTls(read, url, "read", refuse);
    },
  },
);

/**
 * Checks the settings, and fills in defaults. Numbers and booleans may be text, as in environment variables.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
export function readPostgresSettings(
  options: PostgresSettings,
  { where }: Pick<DialectSetup, "where">,
): CompletePostgresSettings {
  const example = "postgres://user:password@host:5432/database";
  const server = { what: "PostgreSQL", example, variable: "POSTGRES_URL" };
  refuseOtherServer(Object(options).url, ["postgres:", "postgresql:"], { where, ...server });
  const read = SCHEMA.read(options, where);
  return { ...withServerDefaults(read, 5432), tls: tlsOf(read, read.url) ?? tlsOfVariable(process.env.PGSSLMODE) };
}

/** The settings of a read replica. */
export function replicaSettings(settings: CompletePostgresSettings, n: number): CompletePostgresSettings {
  const url = settings.read[n]!;
  return {
    ...settings,
    url,
    tls: tlsOf(settings, url, "read") ?? tlsOfVariable(process.env.PGSSLMODE),
    acquireTimeoutMs: replicaTimeoutMs(settings),
    read: [],
  };
}

function isPostgresUrl(value: unknown): value is string {
  const protocol = typeof value === "string" ? URL.parse(value)?.protocol : undefined;
  return protocol === "postgres:" || protocol === "postgresql:";
}
