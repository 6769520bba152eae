import { type Connection, DatabaseError, type Row, sql } from "../../database/index.ts";
import { AshlarError } from "../../support/index.ts";
import { copiedValue, UnfitValueError } from "./copied-value.ts";
import { copyingOf, type DescribedTable } from "./described-database.ts";

/** The source's rows, and their target. */
export interface Insertion {
  readonly target: Connection;
  /** The table as described by the source. */
  readonly from: DescribedTable;
  /** The table as described by the target. */
  readonly to: DescribedTable;
  /** Whether the source's driver returns parsed JSON. */
  readonly parsesJson: boolean;
  /** The number of the table's rows before these. */
  readonly before: number;
}

const NOTHING_COPIED = "Nothing was copied. Correct the row, and copy again.";

/**
 * Inserts the source's rows into the target's table, inside a transaction.
 *
 * @throws `E_COMMAND` with the table and the row, if the target refuses one
 */
export async function insertRows(rows: readonly Row[], insertion: Insertion): Promise<void> {
  const { target } = insertion;
  const values = rows.map((row, n) => rowValues(row, n, insertion));
  try {
    await target.transaction(() => insert(insertion, values));
  } catch (error) {
    if (isOfTheServer(error)) throw error;
    // Inserts the rows one by one to find the row that fails.
    for (const [n, row] of values.entries()) {
      try {
        await target.transaction(() => insert(insertion, [row]));
      } catch (refusal) {
        if (isOfTheServer(refusal)) throw refusal;
        const problem = `${placeOf(rows[n]!, n, insertion)}: "${target.name}" refuses it. ${(refusal as Error).message}`;
        throw new AshlarError("E_COMMAND", `${problem} ${NOTHING_COPIED}`, { cause: refusal });
      }
    }
  }
}

/** The values of a row, in the order of the target's columns. */
export function rowValues(row: Row, n: number, insertion: Insertion): unknown[] {
  const { from, to, parsesJson } = insertion;
  const types = new Map(from.columns.map(({ name, type }) => [name, type]));
  return to.columns.map((column) => {
    try {
      return copiedValue(row[column.name], parsesJson && types.get(column.name) === "json", column);
    } catch (error) {
      if (!(error instanceof UnfitValueError)) throw error;
      const place = placeOf(row, n, insertion);
      throw new AshlarError("E_COMMAND", `${place}: the column "${column.name}" ${error.message}. ${NOTHING_COPIED}`);
    }
  });
}

async function insert({ target, to }: Insertion, rows: readonly (readonly unknown[])[]): Promise<void> {
  const columns = sql.join(to.columns.map(({ name }) => sql.id(name)));
  const values = sql.join(rows.map((row) => sql`(${sql.join([...row])})`));
  const overriding = sql.raw(copyingOf(target).overriding);
  await sql`insert into ${sql.id(to.name)} (${columns}) ${overriding} values ${values}`.execute(target.kysely);
}

/** Whether an error is about the connection or the whole server, rather than about the rows. */
function isOfTheServer(error: unknown): boolean {
  return error instanceof DatabaseError && error.code !== "E_DATABASE";
}

/** Security: a key that isn't a number may be an address or a digest, so it isn't shown. */
function placeOf(row: Row, n: number, { from, before }: Insertion): string {
  const keys = from.columns.filter(({ place }) => place > 0);
  const id = keys.length === 1 ? row[keys[0]!.name] : null;
  const isNumber = typeof id === "number" || typeof id === "bigint";
  const which = isNumber ? `the row with ${keys[0]!.name} ${id}` : `row ${before + n + 1} in the order of its key`;
  return `The table "${from.name}", ${which}`;
}
