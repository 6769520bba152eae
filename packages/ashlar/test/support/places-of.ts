import type { Database } from "../../src/database/index.ts";

/**
 * Where a database contains values, as `table.column`: in any column of any table, so that new tables are covered as
 * well. Text is found within other text, a number only as the complete value.
 */
export async function placesOf({ kysely }: Database, values: readonly (string | number)[]): Promise<string[]> {
  const places = new Set<string>();
  for (const { name: table } of await kysely.introspection.getTables()) {
    for (const row of await kysely.selectFrom(table).selectAll().execute()) {
      for (const [column, content] of Object.entries(row)) {
        const text = content instanceof Date ? content.toISOString() : String(content);
        const holds = (value: string | number) =>
          typeof value === "string" ? text.includes(value) : text === `${value}`;
        if (values.some(holds)) places.add(`${table}.${column}`);
      }
    }
  }
  return [...places].toSorted();
}
