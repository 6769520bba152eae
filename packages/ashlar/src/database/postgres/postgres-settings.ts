import { flag, fromText, type Optional, setting, settings } from "../../support/index.ts";
import type { DialectSetup } from "../dialect.ts";
import {
  ADDRESS_NAMES,
  type CompleteServerSettings,
  type DatabaseServerSettings,
  refuseOtherServer,
  replicaTimeoutMs,
  SERVER_SETTINGS,
  withServerDefaults,
} from "../server-settings.ts";

/** The settings of `postgres`. */
export interface PostgresSettings extends DatabaseServerSettings {
  /** The server and the database as one URL: `postgres://user:password@host:5432/database`. */
  readonly url?: Optional<string>;
  /**
   * Whether to encrypt, if there is no `url`; the server's certificate is then verified. A URL says it with
   * `?sslmode=verify-full`.
   */
  readonly ssl?: Optional<boolean | "true" | "false">;
  /**
   * Whether the address is that of PgBouncer, or another pooler, that gives each transaction another session of the server;
   * default: `false`. Nothing is left in a session then. `statementTimeoutMs` applies to transactions only.
   */
  readonly transactionPooling?: Optional<boolean | "true" | "false">;
}

/** {@link PostgresSettings}, checked and complete. */
export interface CompletePostgresSettings extends CompleteServerSettings {
  /** The server and the database as one URL; if it is set, the settings of the address are not. */
  readonly url: string | null;
  readonly ssl: boolean;
  readonly transactionPooling: boolean;
}

/** What a URL contains: the address, and whether to encrypt. */
const NAMES_IN_URL = [...ADDRESS_NAMES, "ssl"] as const;

/** What the driver reads as full verification, or as none of TLS, in every version. */
const STRICT: ReadonlySet<string> = new Set([
  ...["sslmode=verify-full", "sslmode=disable", "ssl=true", "ssl=1", "ssl=false", "ssl=0", "uselibpqcompat=false"],
]);

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
    ssl: fromText(flag(null)),
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
      const mode = read.url === null ? null : laxMode(read.url);
      if (mode === null) return;
      const problem = `has ${mode}, which may not verify the server's certificate.`;
      throw refuse("url", problem, "Write sslmode=verify-full, or sslmode=disable on a network that you trust.");
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
  return { ...withServerDefaults(read, 5432), ssl: read.ssl ?? false };
}

/** The settings of a read replica. */
export function replicaSettings(settings: CompletePostgresSettings, n: number): CompletePostgresSettings {
  return { ...settings, url: settings.read[n]!, acquireTimeoutMs: replicaTimeoutMs(settings), read: [] };
}

/** The parameter of a URL with which the driver might encrypt without knowing to whom; `null` if there is none. */
function laxMode(url: string): string | null {
  const parameters = new URL(url).searchParams;
  for (const name of ["sslmode", "ssl", "uselibpqcompat"]) {
    const value = parameters.get(name);
    if (value !== null && !STRICT.has(`${name}=${value}`)) return `${name}=${value}`;
  }
  return null;
}

function isPostgresUrl(value: unknown): value is string {
  const protocol = typeof value === "string" ? URL.parse(value)?.protocol : undefined;
  return protocol === "postgres:" || protocol === "postgresql:";
}
