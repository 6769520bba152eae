import { existsSync } from "node:fs";
import { type Connection, columnsOf, type Database, sql } from "../../database/index.ts";
import { AshlarError } from "../../support/index.ts";
import { type CopyOrder, copyOrder } from "./copy-order.ts";
import { copyingOf, type DescribedDatabase, type DescribedTable, describeDatabase } from "./described-database.ts";
import { insertRows } from "./insert-rows.ts";
import { rowBatches } from "./row-batches.ts";
import { seededTables } from "./seeded-rows.ts";

/** Options for copying a database. */
export interface CopyOptions {
  /** The application's folder. */
  readonly root: string;
  /** The connections' names in `config/database.ts`. */
  readonly from: string;
  readonly to: string;
  /** The tables to leave out. */
  readonly skip: readonly string[];
  /** Called before anything is copied, once both databases have been checked. */
  readonly begin: () => void;
  /** Called after each batch of rows, with the table, the number of rows copied so far, and the total. */
  readonly progress: (table: string, copied: number, total: number) => void;
}

/** The result of a copy. */
export interface CopiedDatabase {
  readonly tables: number;
  readonly rows: number;
  /** Other objects with rows in the source, such as views, which weren't copied. */
  readonly others: DescribedDatabase["others"];
}

/** The descriptions of both databases before the copy. */
interface Copy {
  readonly source: Connection;
  readonly target: Connection;
  readonly from: DescribedDatabase;
  readonly to: DescribedDatabase;
  readonly order: CopyOrder;
  readonly options: CopyOptions;
}

/**
 * Copies all rows of a database into the empty tables of another one, which has the same migrations, in one transaction.
 *
 * @throws `E_COMMAND`, with advice, if copying fails; the target is then unchanged, except for its next keys
 */
export async function copyDatabase(database: Database, options: CopyOptions): Promise<CopiedDatabase> {
  const [source, target] = [database.connection(options.from), database.connection(options.to)];
  if (source === target)
    throw refusal(`"${source.name}" can't be copied to itself.`, "Name another connection with --to.");
  for (const one of [source, target]) copyingOf(one);
  const file = source.dialect.file ?? null;
  if (file !== null && !existsSync(file)) {
    throw refusal(
      `The SQLite file ${file} of "${source.name}" does not exist.`,
      "Correct its path in config/database.ts.",
    );
  }
  // While the locks are held, migrations can't start, and statements have no time limit.
  return await target.maintenance.withMigrationLock(() =>
    source.maintenance.withMigrationLock(() => copied(source, target, options)),
  );
}

async function copied(source: Connection, target: Connection, options: CopyOptions): Promise<CopiedDatabase> {
  await requireSameMigrations(source, target);
  const skipped = new Set(options.skip);
  const [from, to] = [await describeDatabase(source, skipped), await describeDatabase(target, skipped)];
  requireSameTables(source, from, target, to);
  await requireNoTriggers(target, to);
  const copy: Copy = { source, target, from, to, order: copyOrder(to.tables.keys(), to.references), options };
  const seeded = await requireEmpty(copy);
  options.begin();
  const version = await versionOf(source);
  const last = await lastKeys(copy);
  // MariaDB commits the transaction at such a statement.
  for (const statement of keyStatements(copy, last)) await target.rows(statement, []);
  const altered = copy.order.unordered.filter(({ isDeferrable }) => !isDeferrable);
  const isSuspended = copy.order.unordered.length > 0;
  const rows = await target.transaction(async () => {
    if (isSuspended) await runAll(target, copyingOf(target).suspendReferences(altered));
    const snapshot = { readOnly: true, isolation: "repeatable read" } as const;
    const count = await source.transaction(() => copyRows(copy, seeded), snapshot);
    if (isSuspended) await requireParents(copy);
    if (isSuspended) await runAll(target, copyingOf(target).resumeReferences(altered));
    const isSame =
      version === (await versionOf(source)) && (await lastKeys(copy)).every(({ key }, n) => key === last[n]!.key);
    if (isSame) return count;
    const problem = `Something wrote to "${source.name}" while it was copied, so nothing was copied.`;
    throw refusal(
      problem,
      "Stop every process of the application, and anything else that writes to it, and copy again.",
    );
  });
  return { tables: to.tables.size, rows, others: from.others };
}

async function copyRows(copy: Copy, seeded: readonly string[]): Promise<number> {
  const { source, target, from, to, order, options } = copy;
  for (const name of seeded.toReversed()) await sql`delete from ${sql.id(name)}`.execute(target.kysely);
  const read = new Map<string, { readonly total: number; readonly copied: number }>();
  let rows = 0;
  for (const name of order.tables) {
    const total = await countOf(source, name);
    let before = 0;
    const tables = { from: from.tables.get(name)!, to: to.tables.get(name)! };
    for await (const batch of rowBatches(source, tables.from)) {
      await insertRows(batch, { target, ...tables, parsesJson: source.dialect.values.parsesJson, before });
      before += batch.length;
      options.progress(name, before, total);
    }
    if (total === 0) options.progress(name, 0, 0);
    read.set(name, { total, copied: before });
    rows += total;
  }
  // Checked at the end, because a trigger that the dialect doesn't report may write to a table that was copied earlier.
  for (const [name, { total, copied }] of read) {
    const arrived = await countOf(target, name);
    if (copied === total && arrived === total) continue;
    const problem = `The table "${name}" has ${total} rows in "${source.name}", and ${arrived} arrived in "${target.name}".`;
    throw refusal(problem, `Nothing was copied. Does something write to "${target.name}", or a trigger?`);
  }
  return rows;
}

async function requireSameMigrations(source: Connection, target: Connection): Promise<void> {
  const [from, to] = [await migrationsRun(source), await migrationsRun(target)];
  const missing = from.filter((name) => !to.includes(name));
  const surplus = to.filter((name) => !from.includes(name));
  if (from.length === 0) throw refusal(`No migrations were run on "${source.name}".`, "There is nothing to copy.");
  const migrate = (name: string) =>
    `Run them there: make it the default connection, and migrate, as in DATABASE_CONNECTION=${name} npx ashlar migrate`;
  if (missing.length > 0) {
    throw refusal(`These migrations were not run on "${target.name}": ${missing.join(", ")}.`, migrate(target.name));
  }
  if (surplus.length === 0) return;
  throw refusal(`These migrations were not run on "${source.name}": ${surplus.join(", ")}.`, migrate(source.name));
}

async function migrationsRun(connection: Connection): Promise<string[]> {
  if ((await columnsOf(connection, "migrations")).size === 0) return [];
  return (await connection.rows("select name from migrations order by name", [])).map(({ name }) => String(name));
}

function requireSameTables(
  source: Connection,
  from: DescribedDatabase,
  target: Connection,
  to: DescribedDatabase,
): void {
  const problems = [
    ...differences("table", source.name, [...from.tables.keys()], target.name, [...to.tables.keys()]),
    ...[...from.tables.values()].flatMap(({ name, columns }) => {
      const other = to.tables.get(name);
      if (other === undefined) return [];
      const names = (table: readonly { readonly name: string }[]) => table.map((column) => `${name}.${column.name}`);
      return differences("column", source.name, names(columns), target.name, names(other.columns));
    }),
  ];
  if (problems.length === 0) return;
  throw refusal(problems.join(" "), "Create what is missing in a migration, or leave the table out: --skip TABLE.");
}

function differences(what: string, a: string, inA: readonly string[], b: string, inB: readonly string[]): string[] {
  const only = (mine: readonly string[], others: readonly string[]) =>
    mine.filter((name) => !others.includes(name)).sort();
  const sentence = (names: readonly string[], lacking: string) =>
    names.length === 0 ? [] : [`"${lacking}" has no ${what} ${names.join(", ")}.`];
  return [...sentence(only(inA, inB), b), ...sentence(only(inB, inA), a)];
}

/** A trigger would repeat the work of the source's trigger, because copied rows aren't new. */
async function requireNoTriggers(target: Connection, { tables }: DescribedDatabase): Promise<void> {
  const { triggers } = copyingOf(target);
  if (triggers === null) return;
  const found = (await target.rows(triggers, [])).filter(({ table }) => tables.has(String(table)));
  if (found.length === 0) return;
  const names = found.map(({ table, name, kind }) => `the ${String(kind)} ${String(name)} of ${String(table)}`);
  const problem = `Rows that are copied to "${target.name}" would fire ${names.join(", ")}.`;
  const remedy = `Nothing was copied. In "${target.name}", drop the named objects, and create them again after the copy.`;
  throw refusal(problem, remedy);
}

/** @returns the tables that contain only rows inserted by migrations, in the order of the copy */
async function requireEmpty({ source, target, to, order, options }: Copy): Promise<string[]> {
  const full: DescribedTable[] = [];
  for (const name of order.tables) if ((await countOf(target, name)) > 0) full.push(to.tables.get(name)!);
  if (full.length === 0) return [];
  const seeded = await seededTables(options.root, source, target, full);
  const others = full.filter(({ name }) => !seeded.has(name)).map(({ name }) => name);
  if (others.length === 0) return full.map(({ name }) => name);
  const problem = `"${target.name}" is not empty. These tables have rows that no migration inserts: ${others.join(", ")}.`;
  throw refusal(problem, "Nothing was copied. Empty them, or copy to a new database that was only migrated.");
}

interface LastKey {
  readonly table: string;
  readonly column: string;
  /** The highest key that the source has ever assigned, or contains. */
  readonly key: bigint;
}

/** The last keys of the target's auto-increment columns. A deleted row's key must not be reused. */
async function lastKeys({ source, from, to }: Copy): Promise<LastKey[]> {
  const columns = (described: DescribedDatabase) =>
    [...described.tables.values()].flatMap(({ name: table, columns: all }) =>
      all.filter(({ isCounted }) => isCounted).map(({ name: column }) => ({ table, column })),
    );
  const given = new Map<string, bigint>();
  if (columns(from).length > 0) {
    for (const { table, last } of await source.rows(copyingOf(source).lastKeys, [])) {
      given.set(String(table), BigInt(String(last)));
    }
  }
  const keys: LastKey[] = [];
  for (const { table, column } of columns(to)) {
    const highest = sql<{ key: unknown }>`select max(${sql.id(column)}) as ${sql.id("key")} from ${sql.id(table)}`;
    const { rows } = await highest.execute(source.kysely);
    const inTable = BigInt(String(rows[0]!.key ?? 0));
    const last = given.get(table) ?? 0n;
    keys.push({ table, column, key: inTable > last ? inTable : last });
  }
  return keys;
}

function keyStatements({ target }: Copy, keys: readonly LastKey[]): string[] {
  const { keysAfter } = copyingOf(target);
  return keys.filter(({ key }) => key > 0n).flatMap(({ table, column, key }) => keysAfter(table, column, key));
}

/** Checks every foreign key, because some databases don't check existing rows when checks are turned back on. */
async function requireParents({ target, to }: Copy): Promise<void> {
  for (const { table, columns, parent, parentColumns } of to.references) {
    const isSet = sql.join(
      columns.map((name) => sql`child.${sql.id(name)} is not null`),
      sql` and `,
    );
    const isParent = sql.join(
      columns.map((name, n) => sql`parent.${sql.id(parentColumns[n]!)} = child.${sql.id(name)}`),
      sql` and `,
    );
    const orphans = sql`select 1 as found from ${sql.id(table)} as child where ${isSet}
      and not exists (select 1 from ${sql.id(parent)} as parent where ${isParent}) limit 1`;
    if ((await orphans.execute(target.kysely)).rows.length === 0) continue;
    const problem = `A row of the table "${table}" refers to a row of "${parent}" that does not exist (${columns.join(", ")}).`;
    throw refusal(problem, "Nothing was copied. Correct or delete such rows first.");
  }
}

/** A version number that changes with every write; `null` if the database doesn't have one. */
async function versionOf(connection: Connection): Promise<unknown> {
  const { version } = copyingOf(connection);
  if (version === null) return null;
  const [row] = await connection.rows(version, []);
  return Object.values(row!)[0];
}

async function countOf(connection: Connection, table: string): Promise<number> {
  const counted = sql<{ count: unknown }>`select count(*) as count from ${sql.id(table)}`;
  return Number((await counted.execute(connection.kysely)).rows[0]!.count);
}

async function runAll(connection: Connection, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await connection.rows(statement, []);
}

function refusal(problem: string, remedy: string): AshlarError {
  return new AshlarError("E_COMMAND", `${problem} ${remedy}`);
}
