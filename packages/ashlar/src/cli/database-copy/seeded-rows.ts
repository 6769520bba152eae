import { join } from "node:path";
import { type Connection, Database, Migrations, type Row, sql } from "../../database/index.ts";
import { type DescribedTable, describeDatabase } from "./described-database.ts";
import { rowValues } from "./insert-rows.ts";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Finds out which tables contain exactly the rows that migrations insert, by running all migrations in an empty
 * database of the source's kind and comparing the rows. Times are ignored, because they differ with each run of the
 * migrations.
 *
 * @param root the application's folder
 * @param tables the target's tables that aren't empty
 * @returns the names of the tables that contain no other rows
 */
export async function seededTables(
  root: string,
  source: Connection,
  target: Connection,
  tables: readonly DescribedTable[],
): Promise<ReadonlySet<string>> {
  const test = await source.dialect.maintenance.createTestDatabase();
  try {
    const scratch = new Database({ default: "main", main: test.dialect }, root);
    try {
      await new Migrations(scratch, join(root, "database", "migrations")).up();
      return await sameTables(scratch.connection(), target, tables);
    } finally {
      await scratch.close();
    }
  } finally {
    await test.remove();
  }
}

async function sameTables(
  scratch: Connection,
  target: Connection,
  tables: readonly DescribedTable[],
): Promise<ReadonlySet<string>> {
  const described = await describeDatabase(scratch, new Set());
  const same = new Set<string>();
  for (const table of tables) {
    const from = described.tables.get(table.name);
    if (from === undefined) continue;
    const [made, found] = [await rowsIn(scratch, from, table), await rowsIn(target, table, table)];
    if (made.length === found.length && made.every((text, n) => text === found[n])) same.add(table.name);
  }
  return same;
}

async function rowsIn(connection: Connection, from: DescribedTable, to: DescribedTable): Promise<string[]> {
  const { rows } = await sql<Row>`select * from ${sql.id(from.name)}`.execute(connection.kysely);
  const insertion = { target: connection, from, to, parsesJson: connection.dialect.values.parsesJson, before: 0 };
  return rows
    .map((row, n) => {
      const values = rowValues(row, n, insertion);
      return JSON.stringify(
        to.columns.flatMap(({ type }, place) => (type === "time" ? [] : [plain(values[place], type)])),
      );
    })
    .sort();
}

/** Formats a value as text that doesn't depend on the driver. */
function plain(value: unknown, type: string): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (type === "json" && typeof value === "string") return sorted(JSON.parse(value));
  // SQLite's columns don't declare that they contain times.
  if (value instanceof Date || (type === "other" && TIME.test(String(value)))) return "a time";
  if (typeof value === "boolean") return value ? "1" : "0";
  return value === null ? null : String(value);
}

/** PostgreSQL doesn't keep the order of an object's members. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)]);
}
