import type { Dialect } from "../dialect/dialect.ts";
import type { SchemaChange, SchemaRisk } from "../dialect/dialect-inspection.ts";
import { breakingRisk } from "./breaking-changes.ts";
import type { DryRun } from "./dry-run.ts";
import { type ReadChange, readChanges } from "./read-changes.ts";

/** The locks and breaking changes of a migration's statement. */
export interface MigrationRisk extends SchemaRisk {
  /** The migration's file. */
  readonly path: string;
  /** The statement's line in it; `null` if unknown. */
  readonly line: number | null;
  readonly statement: string;
  readonly change: SchemaChange;
}

/**
 * The risks of migrations that are about to run, in their order. Changes to tables that they create themselves aren't
 * risks, because nothing uses these yet.
 *
 * @param dialect the database's
 */
export function migrationRisks(dialect: Dialect, runs: readonly DryRun[]): MigrationRisk[] {
  const known = new NewTables();
  return runs.flatMap((run) => risksOf(dialect, run, known));
}

interface Located {
  readonly read: ReadChange;
  readonly sql: string;
  readonly line: number | null;
}

function risksOf(dialect: Dialect, { file, inTransaction, statements }: DryRun, known: NewTables): MigrationRisk[] {
  const located = statements.flatMap(({ sql, line }) => readChanges(sql).map((read): Located => ({ read, sql, line })));
  // A table that is dropped, and whose name another table takes, is rebuilt, which is what SQLite requires.
  const made = new Set(
    located.flatMap(({ read }) =>
      read.kind === "createTable" ? [read.table] : read.kind === "renameTable" ? [read.newName] : [],
    ),
  );
  const [unvalidated, validated] = [new Set<string>(), new Set<string>()];
  const risks: MigrationRisk[] = [];
  for (const { read, sql, line } of located) {
    const isRisk = known.follow(read);
    if (read.kind === "createTable" || !isRisk) continue;
    const kind = read.kind === "dropTable" && made.has(read.table) ? "rebuildTable" : read.kind;
    const followsUnvalidated = inTransaction && unvalidated.has(read.table);
    const change = { ...read, kind, inTransaction, followsUnvalidated, followsValidation: validated.has(read.table) };
    if (read.kind === "validate") validated.add(read.table);
    if (/\bnot valid\b/.test(read.definition)) unvalidated.add(read.table);
    const risk = dialect.inspection?.schemaRisk(change) ?? breakingRisk(change);
    if (risk !== null) risks.push({ ...risk, path: file.path, line, statement: shown(sql), change });
  }
  return risks;
}

/** The tables and columns that the migrations create themselves. */
class NewTables {
  readonly #tables = new Set<string>();
  readonly #columns = new Set<string>();
  readonly #dropped = new Set<string>();

  /** Tracks a change, and reports whether it concerns tables or columns that existed before. */
  follow({ kind, table, name, newName }: ReadChange): boolean {
    if (kind === "createTable") {
      this.#add(table);
      return false;
    }
    if (this.#tables.has(table)) {
      if (kind === "renameTable" && newName !== null) this.#add(newName);
      if (kind === "renameTable" || kind === "dropTable") this.#tables.delete(table);
      return false;
    }
    const column = `${table}.${name}`;
    if (kind === "dropTable") this.#dropped.add(table);
    if (kind === "addColumn") this.#columns.add(column);
    return !((kind === "dropColumn" || kind === "renameColumn") && this.#columns.has(column));
  }

  /** A table that replaces a dropped one has its rows and its users. */
  #add(table: string): void {
    if (!this.#dropped.has(table)) this.#tables.add(table);
  }
}

const SHOWN_CHARACTERS = 200;

function shown(sql: string): string {
  const line = sql.replaceAll(/\s+/g, " ").trim();
  return line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line;
}
