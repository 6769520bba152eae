import type { ConnectionOptions } from "node:tls";
import type * as Pg from "pg";
import type { ClientBase, ClientConfig, Pool, PoolConfig } from "pg";
import { withoutTls } from "../dialect/tls-parameters.ts";
import { optionalPackage } from "../optional-package.ts";
import type { CompletePostgresSettings } from "./postgres-settings.ts";

// The object identifiers of types, from the catalog `pg_type`.
const INT8 = 20;
const DATE = 1082;
const TIMESTAMP = 1114;

/**
 * Opens a pool, without connecting yet.
 *
 * @param ssl the connections' encryption; `false` if there isn't any
 * @param load imports the driver
 * @throws `E_MISSING_PACKAGE` if `pg` is not installed
 */
export async function openPool(
  settings: CompletePostgresSettings,
  ssl: ConnectionOptions | false,
  load: () => Promise<typeof Pg> = () => import("pg"),
): Promise<Pool> {
  const { default: pg } = await optionalPackage("pg", "A connection to PostgreSQL", load);
  // Applies only to these connections, because the driver's own table of parsers is shared by the whole process.
  const types = {
    // No statement requests the binary format.
    getTypeParser: (oid: number) => PARSERS.get(oid) ?? pg.types.getTypeParser(oid),
  } as NonNullable<ClientConfig["types"]>;
  const pool = new pg.Pool({
    ...address(settings),
    // Security: both options are always passed, because the driver would otherwise read environment variables, and with
    // PGSSLMODE=no-verify it verifies nothing.
    ssl,
    sslnegotiation: settings.tls !== false && settings.tls?.isDirect ? ("direct" as const) : ("postgres" as const),
    Client: withStandardStrings(pg),
    types,
    max: settings.poolSize,
    connectionTimeoutMillis: settings.acquireTimeoutMs,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
    keepAlive: true,
    ...(settings.statementTimeoutMs !== null &&
      !settings.transactionPooling && { statement_timeout: settings.statementTimeoutMs }),
  });
  // If a statement is running, it reports the failed connection, which then leaves the pool. Without these listeners, a
  // server restart would end the process.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** A connecting client, with an undocumented member. */
interface StartingClient extends ClientBase {
  getStartupConf(): Readonly<Record<string, string>>;
}

/**
 * Security: makes a backslash in a literal an ordinary character, whatever the server's default is, because Kysely
 * writes literals that way. The parameter is sent when the session begins, which costs no extra time, and poolers keep
 * it for each client.
 */
function withStandardStrings({ Client }: Pick<typeof Pg, "Client">): new () => ClientBase {
  const Starting = Client as unknown as new () => StartingClient;
  return class extends Starting {
    override getStartupConf(): Readonly<Record<string, string>> {
      return { ...super.getStartupConf(), standard_conforming_strings: "on" };
    }
  };
}

function address({ url, host, port, user, password, database }: CompletePostgresSettings): PoolConfig {
  if (url !== null) return { connectionString: withoutTls(url) };
  return {
    host,
    port,
    ...(user !== null && { user }),
    ...(password !== null && { password }),
    ...(database !== null && { database }),
  };
}

const PARSERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [INT8, parseInteger],
  // A day is not a point in time: as a Date, it would be the day before in time zones to the west.
  [DATE, (text) => text],
  [TIMESTAMP, parseTimestamp],
]);

function parseInteger(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

/** Reads a time without a time zone as UTC, like all times that the framework writes. */
function parseTimestamp(text: string): Date | number | string {
  if (text === "infinity") return Number.POSITIVE_INFINITY;
  if (text === "-infinity") return Number.NEGATIVE_INFINITY;
  const date = new Date(`${text.replace(" ", "T")}Z`);
  return Number.isNaN(date.getTime()) ? text : date;
}
