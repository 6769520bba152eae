import {
  type Connection,
  type Expression,
  type PreparedStatement,
  parameter,
  type SqlBool,
  sql,
} from "../../database/index.ts";
import { RATE_LIMITS_TABLE } from "./rate-limits-table.ts";

/**
 * The tolerance by which a window's remaining time may exceed its length. A window with more time left began before the
 * clock was set back, and has ended.
 */
const SLACK_MS = 60_000;
/** How many counts a prune statement deletes. They are few, so that other statements don't wait long. */
export const PRUNED_AT_ONCE = 500;
/** How many counts a clear statement deletes. Each statement scans the table. */
export const CLEARED_AT_ONCE = 5000;
/**
 * The length of the prefix shared by all of a bucket's ids. The chance that two of 100 buckets share one is 1 in 10^11.
 */
export const START_LENGTH = 8;

/**
 * The statements of `DatabaseStore`. Their parameters are `id`, a count's primary key; `start`, the prefix of a
 * bucket's ids; `clock`, the framework's time, or its difference from the system's if the server's clock is used;
 * `window`, the window's length in milliseconds; and `cost`, the number of attempts.
 */
export interface CountStatements
  extends Readonly<Record<"add" | "takeBack" | "get" | "delete" | "clear" | "prune", PreparedStatement>> {
  /** Prepares a statement for a number of rows, whose parameters are numbered: `id_0`, `cost_0`, `window_0`. */
  readonly addTogether: (rows: number) => PreparedStatement;
  readonly takeBackTogether: (rows: number) => PreparedStatement;
}

/** Prepares the statements on a connection, and makes all statements on the table use the primary. */
export function countStatements(connection: Connection): CountStatements {
  connection.keepOnPrimary([RATE_LIMITS_TABLE]);
  const { serverTime } = connection.dialect.values;
  const [id, clock, cost] = [parameter("id"), parameter("clock"), parameter("cost")];
  const table = sql.raw(RATE_LIMITS_TABLE);
  // The server's time: the same for the whole statement, and for all processes.
  const at = serverTime === null ? clock : sql`(${serverTime} + ${clock})`;
  const end = sql`${at} + ${parameter("window")}`;
  const isUnderWay = sql<SqlBool>`${table}.resets_at > ${at} and ${table}.resets_at <= ${end} + ${sql.lit(SLACK_MS)}`;
  const returning = ["attempts", sql`${table}.resets_at - ${at}`.as("left_ms")] as const;
  const all = connection.kysely.selectFrom(RATE_LIMITS_TABLE).where("id", "=", id);
  return {
    addTogether: (rows) => addition(connection, rows, at),
    takeBackTogether: (rows) => subtraction(connection, rows, at),
    add: connection.writes.upsert({
      table: RATE_LIMITS_TABLE,
      values: { id, attempts: cost, resets_at: end },
      key: ["id"],
      changes: {
        attempts: sql`case when ${isUnderWay} then ${table}.attempts else 0 end + ${cost}`,
        resets_at: sql`case when ${isUnderWay} then ${table}.resets_at else ${end} end`,
      },
      returning,
    }),
    takeBack: connection.prepare(
      connection.kysely
        .updateTable(RATE_LIMITS_TABLE)
        .set({ attempts: sql`case when attempts > ${cost} then attempts - ${cost} else 0 end` })
        .where("id", "=", id)
        .where(isUnderWay),
    ),
    get: connection.prepare(all.select(returning).where(isUnderWay)),
    delete: connection.prepare(connection.kysely.deleteFrom(RATE_LIMITS_TABLE).where("id", "=", id)),
    clear: connection.writes.delete({
      table: RATE_LIMITS_TABLE,
      where: sql`substr(id, 1, ${sql.lit(START_LENGTH)}) = ${parameter("start")}`,
      limit: CLEARED_AT_ONCE,
      key: "id",
      returning: ["id"],
    }),
    prune: connection.writes.delete({
      table: RATE_LIMITS_TABLE,
      where: sql`resets_at <= ${at}`,
      limit: PRUNED_AT_ONCE,
      key: "id",
      returning: ["id"],
    }),
  };
}

function rowsOf(count: number, endOf: (position: number) => Expression<unknown>) {
  return Array.from({ length: count }, (_, position) => ({
    id: parameter(`id_${position}`),
    attempts: parameter(`cost_${position}`),
    resets_at: endOf(position),
  }));
}

/** Adds to several counts. A new row gets the cost, and the end of a new window. */
function addition(connection: Connection, count: number, at: Expression<unknown>): PreparedStatement {
  const table = sql.raw(RATE_LIMITS_TABLE);
  return connection.writes.upsertRows({
    table: RATE_LIMITS_TABLE,
    rows: rowsOf(count, (position) => sql`${at} + ${parameter(`window_${position}`)}`),
    key: ["id"],
    changes: (incoming) => {
      const end = incoming("resets_at");
      const isUnderWay = sql`${table}.resets_at > ${at} and ${table}.resets_at <= ${end} + ${sql.lit(SLACK_MS)}`;
      return {
        attempts: sql`case when ${isUnderWay} then ${table}.attempts else 0 end + ${incoming("attempts")}`,
        resets_at: sql`case when ${isUnderWay} then ${table}.resets_at else ${end} end`,
      };
    },
    returning: ["id", "attempts", sql`${table}.resets_at - ${at}`.as("left_ms")],
  });
}

/**
 * Subtracts from several counts. It is an upsert, because only an upsert writes rows in a given order. A missing row is
 * inserted with a window that has already ended.
 */
function subtraction(connection: Connection, count: number, at: Expression<unknown>): PreparedStatement {
  const table = sql.raw(RATE_LIMITS_TABLE);
  return connection.writes.upsertRows({
    table: RATE_LIMITS_TABLE,
    rows: rowsOf(count, () => sql`0`),
    key: ["id"],
    changes: (incoming) => {
      const taken = incoming("attempts");
      const isUnderWay = sql`${table}.resets_at > ${at} and ${table}.attempts > ${taken}`;
      return { attempts: sql`case when ${isUnderWay} then ${table}.attempts - ${taken} else 0 end` };
    },
    returning: [],
  });
}
