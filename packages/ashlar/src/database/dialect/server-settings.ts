import { ConfigurationError, fromText, integer, type Optional, type Setting, text } from "../../support/index.ts";

/** The settings of a connection to a database server that are common to all kinds of servers. */
export interface DatabaseServerSettings {
  /** The server's host, if there is no `url`; default: 127.0.0.1. */
  readonly host?: Optional<string>;
  /** The server's port, if there is no `url`; default: 5432 for PostgreSQL, 3306 for MariaDB and MySQL. */
  readonly port?: Optional<number | string>;
  readonly user?: Optional<string>;
  readonly password?: Optional<string>;
  readonly database?: Optional<string>;
  /** The maximum number of connections, 1 to 10,000; default: 10. */
  readonly poolSize?: Optional<number | string>;
  /**
   * The time after which the server cancels a statement, in milliseconds, 0 (never) to 86,400,000; default: 15,000. A
   * second later, the application stops waiting for the server and closes the connection. Migrations have no limit.
   */
  readonly statementTimeoutMs?: Optional<number | string>;
  /** How long a query waits for a free or new connection, in milliseconds, 1 to 600,000; default: 10,000. */
  readonly acquireTimeoutMs?: Optional<number | string>;
  /** How many queries may wait for a connection, 1 to 1,000,000; the next fails at once. Default: 1000. */
  readonly maxWaiting?: Optional<number | string>;
  /**
   * Read replicas, each as a URL like `url`: reads of requests behind the middleware `ReadReplicas` go to them in turn,
   * except those that decide about security. The settings for encryption next to `url` apply to them, too. Default:
   * none.
   */
  readonly read?: readonly string[];
  /**
   * How long a visitor who has written reads from the primary, in seconds, 1 to 3600; default: 10. Choose it longer
   * than the replicas' usual delay.
   */
  readonly ownWritesSeconds?: Optional<number | string>;
}

/** {@link DatabaseServerSettings}, checked and complete. */
export interface CompleteServerSettings {
  readonly host: string;
  readonly port: number;
  readonly user: string | null;
  readonly password: string | null;
  readonly database: string | null;
  readonly poolSize: number;
  /** `null` for no limit. */
  readonly statementTimeoutMs: number | null;
  readonly acquireTimeoutMs: number;
  readonly maxWaiting: number;
  readonly read: readonly string[];
  readonly ownWritesSeconds: number;
}

/** The parts of an address that a `url` contains. */
export const ADDRESS_NAMES = ["host", "port", "user", "password", "database"] as const;

const MILLISECONDS = { from: 1, to: 600_000, unit: "milliseconds" };
/** The maximum time that a read waits for a connection to a replica, in milliseconds. */
const REPLICA_TIMEOUT_MS = 2000;

type Text = Setting<string | null, string>;
type Integer<Read = number> = Setting<Read, number | string>;

/**
 * The schema of {@link DatabaseServerSettings}, except the addresses of replicas, whose form depends on the kind of
 * server.
 */
export const SERVER_SETTINGS: {
  readonly host: Text;
  readonly port: Integer<number | null>;
  readonly user: Text;
  readonly password: Text;
  readonly database: Text;
  readonly poolSize: Integer;
  readonly statementTimeoutMs: Integer;
  readonly acquireTimeoutMs: Integer;
  readonly maxWaiting: Integer;
  readonly ownWritesSeconds: Integer;
} = {
  host: text(null),
  port: fromText(integer({ from: 1, to: 65_535 }, null)),
  user: text(null),
  password: text(null),
  database: text(null),
  poolSize: fromText(integer({ from: 1, to: 10_000 }, 10)),
  statementTimeoutMs: fromText(integer({ ...MILLISECONDS, from: 0, to: 86_400_000 }, 15_000)),
  acquireTimeoutMs: fromText(integer(MILLISECONDS, 10_000)),
  maxWaiting: fromText(integer({ from: 1, to: 1_000_000 }, 1000)),
  ownWritesSeconds: fromText(integer({ from: 1, to: 3600, unit: "seconds" }, 10)),
};

/** The effective settings: 0 means that statements have no limit. */
export function withServerDefaults<
  Read extends { readonly host: string | null; readonly port: number | null; readonly statementTimeoutMs: number },
>(
  read: Read,
  defaultPort: number,
): Omit<Read, "host" | "port" | "statementTimeoutMs"> &
  Pick<CompleteServerSettings, "host" | "port" | "statementTimeoutMs"> {
  const { host, port, statementTimeoutMs } = read;
  return {
    ...read,
    host: host ?? "127.0.0.1",
    port: port ?? defaultPort,
    statementTimeoutMs: statementTimeoutMs === 0 ? null : statementTimeoutMs,
  };
}

/**
 * How long a read waits for a connection to a replica. It is short, because the primary can take over.
 */
export function replicaTimeoutMs({ acquireTimeoutMs }: CompleteServerSettings): number {
  return Math.min(acquireTimeoutMs, REPLICA_TIMEOUT_MS);
}

/**
 * A connection has the address of another kind of server. Only its use fails: an application with a connection for each
 * kind reads the address of the one it uses from a single variable.
 */
export class OtherServerError extends ConfigurationError {}

const SERVERS: ReadonlySet<string> = new Set(["postgres:", "postgresql:", "mariadb:", "mysql:"]);

/**
 * Refuses the address of another kind of server.
 *
 * @param protocols the protocols of this kind, with their colons
 * @param where the connection, for the message, which never quotes the address
 * @param example how an address of this kind is written: `postgres://user:password@host:5432/database`
 * @param variable a possible name for a separate variable: `POSTGRES_URL`
 * @throws {@link OtherServerError}
 */
export function refuseOtherServer(
  url: unknown,
  protocols: readonly string[],
  { where, what, example, variable }: Readonly<Record<"where" | "what" | "example" | "variable", string>>,
): void {
  const protocol = typeof url === "string" ? URL.parse(url)?.protocol : undefined;
  if (protocol === undefined || !SERVERS.has(protocol) || protocols.includes(protocol)) return;
  const problem = `is not the address of a ${what} database.`;
  const remedy =
    `Write the address of a ${what} database: ${example}. If another connection reads its address from the same variable, ` +
    `as when copying from one server to another, give this one its own variable: url: env("${variable}", "${example}").`;
  throw new OtherServerError(`${where}.url`, problem, remedy);
}
