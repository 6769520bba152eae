import type { InstalledFeature } from "../../boot/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import { isColumnName } from "../dialect/column-names.ts";
import { TABLE_NAME } from "../table-names.ts";

/** @throws `E_INVALID_CONFIGURATION` if a feature declares a table with an invalid name or invalid columns */
export function requireTables(features: readonly InstalledFeature[]): void {
  for (const { feature, provider } of features) {
    for (const [name, table] of Object.entries(feature.tables ?? {})) {
      const place = `${provider}.feature.tables`;
      if (!TABLE_NAME.test(name)) {
        const remedy = 'Write it as in a statement: tables: { stock: { … } }, or "shop.stock" with its schema.';
        throw new ConfigurationError(place, `"${name}" is not the name of a table.`, remedy);
      }
      if (areColumns((Object(table) as { readonly columns?: unknown }).columns)) continue;
      const remedy = 'Write their names as in migrations: columns: ["sku", "count"].';
      throw new ConfigurationError(`${place}.${name}`, "does not list the table's columns.", remedy);
    }
  }
}

function areColumns(columns: unknown): boolean {
  return Array.isArray(columns) && columns.length > 0 && columns.every(isColumnName);
}
