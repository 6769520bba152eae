import type { ConnectionOptions } from "node:tls";
import type * as Pg from "pg";
import type { ClientBase, ClientConfig, Pool, PoolConfig } from "pg";
import { withoutTls } from "../dialect/tls-parameters.ts";
import { optionalPackage } from "../optional-package.ts";
import type { CompletePostgresSettings } from "./postgres-settings.ts";

// Object identifiers of types, from the catalog pg_type.
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
  // Only for these connections: the driver's own table of parsers is shared by the whole process.
  const types = {
    // No statement requests the binary format.
    getTypeParser: (oid: number) => PARSERS.get(oid) ?? pg.types.getTypeParser(oid),
  } as NonNullable<ClientConfig["types"]>;
  const pool = new pg.Pool({
    ...address(settings),
    // Security: both are always passed, because the driver would otherwise read environment variables, and
    // PGSSLMODE=no-verify makes it verify nothing.
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
  // A connection that fails is reported by the statement on it, if there is one, and leaves the pool. Without these
  // listeners, a restart of the server would end the process.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** A connecting client, with an undocumented member. */
interface StartingClient extends ClientBase {
  getStartupConf(): Readonly<Record<string, string>>;
}

/**
 * Security: a backslash in a literal is a character like any other, whatever the server's default is, because Kysely
 * writes literals that way. It is sent as the session begins, which costs no extra time; poolers keep this parameter
 * for each client.
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
  // A day is not a point in time: as a Date, it would become another day to the west.
  [DATE, (text) => text],
  [TIMESTAMP, parseTimestamp],
]);

function parseInteger(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

/** A time without a time zone is in UTC, like all times that the framework writes. */
function parseTimestamp(text: string): Date | number | string {
  if (text === "infinity") return Number.POSITIVE_INFINITY;
  if (text === "-infinity") return Number.NEGATIVE_INFINITY;
  const date = new Date(`${text.replace(" ", "T")}Z`);
  return Number.isNaN(date.getTime()) ? text : date;
}
