import { type DropIndexNode, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql } from "kysely";
import type { DialectValues } from "../dialect/dialect-values.ts";

class SqliteCompiler extends SqliteQueryCompiler {
  /** The table, which other databases need, is not part of the statement. */
  protected override visitDropIndex({ table: _, ...node }: DropIndexNode): void {
    super.visitDropIndex(node);
  }
}

/** How SQLite writes SQL, and what its values look like. */
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
    // Exactly the format of Date.prototype.toISOString, so that texts compare like times.
    now: sql`(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`,
  },
  adapter: new SqliteAdapter(),
  compiler: new SqliteCompiler(),
  introspector: (kysely) => new SqliteIntrospector(kysely),
};
