import type { Connection, Dialect } from "../../database/index.ts";
import { AshlarError } from "../../support/index.ts";

/** A dialect's functions for copying. */
export type Copying = NonNullable<Dialect["copying"]>;

/** A table's column, as described by its database. */
export interface DescribedColumn {
  readonly name: string;
  /** The kind of the column's values; see `Dialect.copying`. */
  readonly type: string;
  /** How many characters its text may have; `null` for any number. */
  readonly length: number | null;
  /** The column's position in the primary key, from 1; 0 if it isn't part of the key. */
  readonly place: number;
  /** Whether it is auto-increment. */
  readonly isCounted: boolean;
}

/** A table and its settable columns, in their order. */
export interface DescribedTable {
  readonly name: string;
  readonly columns: readonly DescribedColumn[];
}

/** A foreign key. */
export interface DescribedReference {
  readonly name: string;
  readonly table: string;
  readonly columns: readonly string[];
  readonly parent: string;
  readonly parentColumns: readonly string[];
  /** Whether it can be checked at the end of a transaction without altering it. */
  readonly isDeferrable: boolean;
}

/** The contents of a database. */
export interface DescribedDatabase {
  readonly tables: ReadonlyMap<string, DescribedTable>;
  readonly references: readonly DescribedReference[];
  /** Objects with rows that aren't copied, such as views, by name and kind. */
  readonly others: readonly { readonly name: string; readonly kind: string }[];
}

/**
 * Returns the functions for copying in a connection's dialect.
 *
 * @throws `E_COMMAND` if it doesn't support copying
 */
export function copyingOf({ name, dialect }: Connection): Copying {
  if (dialect.copying !== undefined) return dialect.copying;
  const problem = `The dialect "${dialect.name}" of the connection "${name}" can't be copied from or to.`;
  throw new AshlarError("E_COMMAND", `${problem} It lacks the property copying of Dialect.`);
}

/** Reads the structure of a database, except for the record of migrations. */
export async function describeDatabase(
  connection: Connection,
  skipped: ReadonlySet<string>,
): Promise<DescribedDatabase> {
  const copying = copyingOf(connection);
  const tables = new Map<string, { name: string; columns: DescribedColumn[] }>();
  for (const row of await connection.rows(copying.columns, [])) {
    const name = String(row.table);
    if (name === "migrations" || skipped.has(name)) continue;
    const table = tables.get(name) ?? { name, columns: [] };
    tables.set(name, table);
    if (Number(row.computed) === 0) table.columns.push(columnOf(row));
  }
  const references = new Map<string, DescribedReference>();
  for (const row of await connection.rows(copying.references, [])) {
    const [table, name, parent] = [String(row.table), String(row.name), String(row.parent)];
    if (!tables.has(table)) continue;
    const key = JSON.stringify([table, name]);
    const known = references.get(key);
    references.set(key, {
      ...{ table, name, parent, isDeferrable: Number(row.deferrable) === 1 },
      columns: [...(known?.columns ?? []), String(row.column)],
      parentColumns: [...(known?.parentColumns ?? []), String(row.parent_column)],
    });
  }
  const others = (await connection.rows(copying.others, [])).map(({ name, kind }) => ({
    name: String(name),
    kind: String(kind),
  }));
  return { tables, references: [...references.values()], others };
}

function columnOf(row: Readonly<Record<string, unknown>>): DescribedColumn {
  return {
    name: String(row.name),
    type: String(row.type),
    length: row.length === null ? null : Number(row.length),
    place: Number(row.place),
    isCounted: Number(row.counted) === 1,
  };
}
