import { type Connection, type Expression, type SqlBool, sql } from "../../database/index.ts";
import { now, systemTime } from "../../support/index.ts";

/** The database's time, moved like the framework's in tests that travel in time. */
export function databaseTime({ dialect }: Connection): Expression<number> {
  const { serverTime } = dialect.values;
  if (serverTime === null) return sql<number>`${now()}`;
  return sql<number>`(${serverTime} + ${sql.lit(now() - systemTime())})`;
}

/** Whether an attempt at a row is due. */
export function isDue(connection: Connection): Expression<SqlBool> {
  return sql<SqlBool>`available_at <= ${databaseTime(connection)}`;
}
