import { readdir } from "node:fs/promises";
import { join, parse, relative } from "node:path";
import {
  type Database,
  type Dialect,
  type DryRun,
  dryRun,
  type MigrationRisk,
  migrationRisks,
  tableName,
} from "../../database/index.ts";
import { codeOf } from "../../scaffold/index.ts";
import { migrationsOf, withConfiguredDatabase } from "./with-migrations.ts";

/** A migration's risk, as shown by commands. */
export interface ShownRisk {
  /** The migration's file, relative to the application's folder. */
  readonly file: string;
  readonly line: number | null;
  /**
   * The statement, the locks and breaking changes that it causes, and the affected places in the application's own
   * models.
   */
  readonly problem: string;
  readonly remedy: string;
  readonly lines: readonly string[];
}

/** A migration that is about to run. */
export interface ExaminedMigration {
  readonly file: string;
  readonly statements: readonly string[];
  readonly risks: readonly ShownRisk[];
  /** Why there may be more statements; `null` if the list is complete. */
  readonly obstacle: string | null;
}

/**
 * Examines an application's pending migrations. From the database, it reads only the names of the migrations that have
 * run.
 *
 * @throws `E_MIGRATION` if a migration can't be loaded
 */
export async function examinePending(root: string, database: Database): Promise<ExaminedMigration[]> {
  return await examined(root, database.dialect, await migrationsOf(root, database).dryRuns());
}

/**
 * The risks of a new migration for the application's kind of database, without connecting to it. Empty if the
 * application's configuration or packages aren't complete yet.
 *
 * @param file relative to the application's folder
 */
export async function risksOfFile(root: string, file: string): Promise<readonly ShownRisk[]> {
  try {
    return await withConfiguredDatabase(root, async ({ dialect }) => {
      const run = await dryRun(dialect, { name: parse(file).name, path: join(root, file) });
      const [own] = await examined(root, dialect, [run]);
      return own!.risks;
    });
  } catch {
    return [];
  }
}

/** Examines migrations in the order in which they would run. */
export async function examined(root: string, dialect: Dialect, runs: readonly DryRun[]): Promise<ExaminedMigration[]> {
  const risks = migrationRisks(dialect, runs);
  const shown: ExaminedMigration[] = [];
  for (const { file, statements, error } of runs) {
    const own = risks.filter(({ path }) => path === file.path);
    shown.push({
      file: pathIn(root, file.path),
      statements: statements.map(({ sql }) => sql.replaceAll(/\s+/g, " ").trim()),
      risks: await Promise.all(own.map((risk) => shownRisk(root, risk))),
      obstacle: error === null ? null : obstacleOf(statements.length, error),
    });
  }
  return shown;
}

function obstacleOf(count: number, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return `What it does after ${count === 1 ? "its first statement" : `${count} statements`} can't be determined without its rows: ${reason}`;
}

async function shownRisk(root: string, { path, line, statement, change, ...risk }: MigrationRisk): Promise<ShownRisk> {
  const users = REMOVING.has(change.kind) ? await modelsUsing(root, change.table, change.name) : [];
  const own = users.length === 0 ? "" : ` The code that is here still uses it, too: ${users.join(", ")}.`;
  return {
    file: pathIn(root, path),
    line,
    problem: `${statement}: ${risk.problem}${own}`,
    remedy: risk.remedy,
    lines: risk.lines,
  };
}

/** The changes that remove a name used in models. */
const REMOVING: ReadonlySet<string> = new Set(["dropColumn", "renameColumn", "dropTable", "renameTable"]);

const MODELS = "app/models";

/** The places where an application's models name a table or one of its columns, such as `app/models/user.ts:7`. */
async function modelsUsing(root: string, table: string, column: string | null): Promise<string[]> {
  const files = await readdir(join(root, MODELS)).catch(() => []);
  const places: string[] = [];
  for (const name of files.toSorted()) {
    if (!/\.[jt]s$/.test(name)) continue;
    const code = await codeOf(root, `${MODELS}/${name}`);
    const [found] = /\bclass\s+(\w+)/.exec(code)?.slice(1) ?? [];
    if (found === undefined) continue;
    const [, named = tableName(found)] = /\btable\b[^=\n]*=\s*["'`]([^"'`]+)["'`]/.exec(code) ?? [];
    if (named !== table) continue;
    const pattern = column === null ? /\bclass\s/ : new RegExp(`\\b${column.replaceAll(/\W/g, "\\$&")}\\b`);
    const line = code.split("\n").findIndex((text) => pattern.test(text));
    if (line !== -1) places.push(`${MODELS}/${name}:${line + 1}`);
  }
  return places;
}

function pathIn(root: string, path: string): string {
  return relative(root, path).replaceAll("\\", "/");
}
