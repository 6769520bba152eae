import { CompiledQuery } from "kysely";
import type { WriteScope } from "../dialect/writes.ts";

/** A table's unique keys. */
export interface TableKeys {
  /** The columns of the primary key; empty if there isn't one. */
  readonly primary: readonly string[];
  /** The auto-increment column; `null` if there isn't one. */
  readonly counted: string | null;
  /** The columns of each unique index, the primary key's included. */
  readonly unique: readonly (readonly string[])[];
}

const UNIQUE_KEYS = `select index_name as name, column_name as part from information_schema.statistics
  where table_schema = database() and table_name = ? and non_unique = 0 order by index_name, seq_in_index`;

/**
 * A separate query, because for a join of the two, MariaDB opens every table of the server, which has crashed 10.11.19.
 */
const COUNTED = `select column_name as name from information_schema.columns
  where table_schema = database() and table_name = ? and extra like '%auto_increment%'`;

/** Returns a function that looks up a table's keys, and remembers them. */
export function tableKeys(): (scope: WriteScope, table: string) => Promise<TableKeys> {
  const known = new Map<string, Promise<TableKeys>>();
  return (scope, table) => {
    const found = known.get(table) ?? keysIn(scope, table);
    known.set(table, found);
    found.catch(() => known.delete(table));
    return found;
  };
}

async function keysIn(scope: WriteScope, table: string): Promise<TableKeys> {
  const keys = await scope.execute(CompiledQuery.raw(UNIQUE_KEYS, [table]));
  const counted = await scope.execute(CompiledQuery.raw(COUNTED, [table]));
  const indexes = new Map<string, string[]>();
  for (const { name, part } of keys.rows) {
    indexes.set(String(name), [...(indexes.get(String(name)) ?? []), String(part)]);
  }
  const [counting] = counted.rows;
  return {
    primary: indexes.get("PRIMARY") ?? [],
    counted: counting === undefined ? null : String(counting.name),
    unique: [...indexes.values()],
  };
}
