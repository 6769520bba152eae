import type { DialectAdapter } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { DialectMaintenance } from "./dialect-maintenance.ts";
import type { ColumnTypes } from "./dialect-values.ts";

/** Kysely's adapter, with the parts of the dialect that migrations need. They reach it through their `Kysely`. */
export type PortableAdapter = DialectAdapter & {
  readonly columnTypes: ColumnTypes;
  readonly onlineIndex: DialectMaintenance["onlineIndex"];
};

/** A dialect's adapter, with its column types and its way to create an index. */
export function portableAdapter({ values, maintenance }: Dialect): PortableAdapter {
  const { adapter, columnTypes } = values;
  return Object.assign(Object.create(adapter) as DialectAdapter, { columnTypes, onlineIndex: maintenance.onlineIndex });
}
