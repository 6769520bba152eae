import { MysqlAdapter, MysqlIntrospector, sql } from "kysely";
import type { DialectValues } from "../dialect/dialect-values.ts";
import { MariadbCompiler } from "./mariadb-compiler.ts";

/** Lets Kysely compile `returning` for inserts and deletions. MariaDB supports it; MySQL refuses it. */
class ReturningAdapter extends MysqlAdapter {
  override get supportsReturning(): boolean {
    return true;
  }
}

/** How SQL is written for MariaDB and MySQL, and what their values look like. */
export const MARIADB_VALUES: DialectValues = {
  parsesJson: false,
  serverTime: sql<number>`cast(unix_timestamp(now(3)) * 1000 as signed)`,
  ordersByNulls: false,
  columnTypes: {
    primaryKey: { type: "bigint", define: (column) => column.autoIncrement().primaryKey() },
    reference: "bigint",
    timestamp: sql`datetime(3)`,
    json: "json",
    longText: sql`longtext`,
    now: sql`current_timestamp(3)`,
  },
  adapter: new ReturningAdapter(),
  compiler: new MariadbCompiler(),
  introspector: (kysely) => new MysqlIntrospector(kysely),
};
