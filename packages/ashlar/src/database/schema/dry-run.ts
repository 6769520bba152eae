import { basename } from "node:path";
import { AshlarError } from "../../support/index.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { Executor } from "../dialect/executor.ts";
import "../errors.ts";
import { boundTransaction, kyselyDialect, scopedKysely } from "../executors/scoped-kysely.ts";
import { loadMigration, type MigrationFile } from "./migration-files.ts";

/** A statement that a migration would run. */
export interface RecordedStatement {
  readonly sql: string;
  /** The line of the migration's file; `null` if unknown. */
  readonly line: number | null;
}

/** A migration's effects. */
export interface DryRun {
  readonly file: MigrationFile;
  /** Whether it runs in a transaction. */
  readonly inTransaction: boolean;
  readonly statements: readonly RecordedStatement[];
  /**
   * Why there may be more statements: the error that it threw because its queries found nothing; `null` if it ended.
   */
  readonly error: unknown;
}

/** A migration that waits for rows would query forever. */
const MAX_STATEMENTS = 1000;
const STACK_FRAMES = 100;

/** A counter, because the author may change the file between a dry run and another one, or the real one. */
let runs = 0;

/**
 * Runs a migration without a database: its statements are recorded, its queries find no rows, and its writes change none.
 *
 * @param dialect the dialect whose SQL it writes; nothing connects to it
 * @throws `E_MIGRATION` if the file can't be loaded
 */
export async function dryRun(dialect: Dialect, file: MigrationFile): Promise<DryRun> {
  const { up, transaction = true } = await loadMigration(file, `?dry-run=${++runs}`);
  const statements: RecordedStatement[] = [];
  const record = (sql: string): void => {
    if (statements.length === MAX_STATEMENTS) {
      throw new AshlarError(
        "E_MIGRATION",
        `It didn't end after ${MAX_STATEMENTS} statements whose queries found nothing.`,
      );
    }
    statements.push({ sql, line: lineIn(file) });
  };
  const executor: Executor = {
    execute: ({ sql }) => {
      record(sql);
      return { rows: [], numAffectedRows: 0n };
    },
    first: (sql) => void record(sql),
  };
  const form = kyselyDialect(dialect);
  const kysely = scopedKysely(form, {
    executor,
    transaction: async (task) => task(boundTransaction(form, executor)),
    reserved: async (task) => task(),
  });
  const run = { file, inTransaction: transaction && dialect.maintenance.schemaIsTransactional, statements };
  try {
    await up(kysely);
    return { ...run, error: null };
  } catch (error) {
    return { ...run, error };
  }
}

/** The line of a migration's file that is being run. */
function lineIn({ path }: MigrationFile): number | null {
  const { stackTraceLimit } = Error;
  // Kysely's own frames come first. Not assigned, because that would throw under `--frozen-intrinsics`.
  Reflect.set(Error, "stackTraceLimit", STACK_FRAMES);
  const stack = String(new Error().stack);
  Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  const file = basename(path);
  const [, line] = new RegExp(`[/\\\\]${file.replaceAll(".", "\\.")}(?:\\?[^:]*)?:(\\d+):\\d+`).exec(stack) ?? [];
  return line === undefined ? null : Number(line);
}
