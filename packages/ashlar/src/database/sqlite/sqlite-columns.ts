import { type DropIndexNode, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql } from "kysely";
import type { DialectValues } from "../dialect/dialect-values.ts";

class SqliteCompiler extends SqliteQueryCompiler {
  /** Leaves out the table, which only other databases need. */
  protected override visitDropIndex({ table: _, ...node }: DropIndexNode): void {
    super.visitDropIndex(node);
  }
}

/** How SQL is written for SQLite, and what its values look like. */
export const SQLITE_VALUES: DialectValues = {
  parsesJson: false,
  serverTime: null,
  ordersByNulls: false,
  columnTypes: {
    primaryKey: { type: "integer", define: (column) => column.primaryKey().autoIncrement() },
    reference: "integer",
    timestamp: "text",
    json: "text",
    longText: "text",
    // Exactly the format of Date.prototype.toISOString, so that times compare correctly as text.
    now: sql`(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`,
  },
  adapter: new SqliteAdapter(),
  compiler: new SqliteCompiler(),
  introspector: (kysely) => new SqliteIntrospector(kysely),
};
