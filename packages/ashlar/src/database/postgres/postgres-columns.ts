import { type DropIndexNode, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from "kysely";
import type { DialectValues } from "../dialect/dialect-values.ts";

class PostgresCompiler extends PostgresQueryCompiler {
  /** Leaves out the table, which only other databases need. */
  protected override visitDropIndex({ table: _, ...node }: DropIndexNode): void {
    super.visitDropIndex(node);
  }
}

/** How SQL is written for PostgreSQL, and what its values look like. */
export const POSTGRES_VALUES: DialectValues = {
  parsesJson: true,
  serverTime: sql<number>`floor(extract(epoch from statement_timestamp()) * 1000)::bigint`,
  ordersByNulls: true,
  columnTypes: {
    primaryKey: { type: "bigint", define: (column) => column.generatedByDefaultAsIdentity().primaryKey() },
    reference: "bigint",
    timestamp: "timestamptz",
    json: "jsonb",
    longText: "text",
    now: sql`now()`,
  },
  adapter: new PostgresAdapter(),
  compiler: new PostgresCompiler(),
  introspector: (kysely) => new PostgresIntrospector(kysely),
};
