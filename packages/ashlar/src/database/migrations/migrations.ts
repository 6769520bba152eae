import type { Kysely } from "kysely";
import { AshlarError, currentDate } from "../../support/index.ts";
import type { Connection } from "../connections/connection.ts";
import type { Database } from "../connections/database.ts";
import { timestamp } from "../dialect/columns.ts";
import type { Executor } from "../dialect/executor.ts";
import { MIGRATE } from "../errors.ts";
import { fromDatabase } from "../models/model-attributes.ts";
import { type DryRun, dryRun } from "../schema/dry-run.ts";
import { loadMigration, type Migration, type MigrationFile, migrationFiles } from "../schema/migration-files.ts";
import { runAwaited } from "../schema/migration-statements.ts";
import { LOCK_TIMEOUT_MS, LockWaits } from "./lock-waits.ts";
import { MigrationProgress } from "./migration-progress.ts";
import { hasTable } from "./table-columns.ts";

/** Options for running migrations. */
export interface MigrateOptions {
  /**
   * Whether to ignore migrations that were run but have no file here, for example after switching branches. Their
   * tables stay unchanged. With `"newer"`, only migrations newer than all files are ignored: this is an earlier version
   * of the application, and a later one has run them.
   */
  readonly allowMissing?: boolean | "newer";
  /**
   * How long a statement waits for a table's lock, in milliseconds (on MariaDB, rounded to whole seconds), before the
   * migration lets other statements run and tries again. Default: 2000.
   */
  readonly lockTimeoutMs?: number;
  /**
   * Called before each pause of a migration that waits for a lock, with the number of attempts, the length of the
   * pause, and the migration's name.
   */
  readonly waiting?: (attempts: number, pauseMs: number, migration: string) => void;
}

/** How far to roll back; default: the last batch. */
export interface RollbackOptions extends MigrateOptions {
  /** Whether to skip migrations that have no file here. */
  readonly allowMissing?: boolean;
  /** Rolls back this many migrations, the last one first. */
  readonly steps?: number;
  /** Rolls back the migrations of this batch. */
  readonly batch?: number;
}

interface RunMigration {
  readonly name: string;
  readonly batch: number;
  readonly run_at: unknown;
}

interface MigrationTables {
  migrations: RunMigration;
}

/** Describes what a failed migration without a transaction leaves behind. */
const REMAINS = {
  up: "and what it did before that remains, because it runs without a transaction. It is not recorded as run: undo what remains, then migrate again",
  down: "and what it did before that remains, because it runs without a transaction. It is still recorded as run: finish by hand, then roll back again",
} as const;

/**
 * Like {@link REMAINS}, for a migration that failed before it had done anything. An earlier run may have done
 * something, because a killed process leaves no record.
 */
const FROM_BEFORE = {
  up: "before it had changed anything. If an earlier run of it was killed or lost its connection, what that one did remains, its last statement included, because it runs without a transaction: undo that, then migrate again",
  down: "before it had changed anything. If an earlier run of it was killed or lost its connection, what that one did remains, its last statement included, because it runs without a transaction: finish by hand, then roll back again",
} as const;

/** Added to a migration's error if a table is missing. */
const MADE_BEFORE = { up: " An earlier migration has to create the table.", down: "" } as const;

/**
 * Brings a database's tables up to date with the application's migrations.
 *
 * Each migration runs in its own transaction, which also records it as run, so a failed migration leaves nothing
 * behind, unless the database commits each schema change. A migration that can't get a lock lets other statements run
 * first. It fails if a statement isn't awaited, or if a row refers to a missing one when it ends. If several processes
 * migrate at the same time, one runs the migrations while the others wait.
 */
export class Migrations {
  readonly #database: Database;
  readonly #connection: Connection;
  readonly #kysely: Kysely<MigrationTables>;
  readonly #folder: string;

  /**
   * @param database the database whose default connection is migrated
   * @param folder the migrations' folder, an absolute path
   */
  constructor(database: Database, folder: string) {
    this.#database = database;
    this.#connection = database.connection();
    this.#kysely = this.#connection.kysely as Kysely<MigrationTables>;
    this.#folder = folder;
  }

  /**
   * Runs the migrations that have not been run, oldest first.
   *
   * @returns their names
   * @throws `E_MIGRATION` with the file that failed, or the files that are missing although they were run
   */
  async up({ allowMissing = false, ...options }: MigrateOptions = {}): Promise<string[]> {
    return await this.#connection.maintenance.withMigrationLock(async () => {
      const files = await migrationFiles(this.#folder);
      const run = await this.#run();
      const known = new Set(files.map(({ name }) => name));
      const missing = run.map(({ name }) => name).filter((name) => !known.has(name));
      const isAllowed = (name: string) => allowMissing === true || (allowMissing === "newer" && isNewer(name, files));
      const refused = missing.filter((name) => !isAllowed(name));
      const areNewer = refused.every((name) => isNewer(name, files));
      if (refused.length > 0) throw this.#missing(refused, "migrate", areNewer);
      const done = new Set(run.map(({ name }) => name));
      const batch = Math.max(0, ...run.map((one) => one.batch)) + 1;
      const names: string[] = [];
      for (const file of files.filter(({ name }) => !done.has(name))) {
        if (await this.#apply(file, batch, this.#waits(options, file))) names.push(file.name);
      }
      return names;
    });
  }

  /**
   * Rolls migrations back, the last one first.
   *
   * @returns their names
   * @throws `E_MIGRATION` with the file that failed, is missing or has no `down`
   */
  async rollback(options: RollbackOptions = {}): Promise<string[]> {
    return await this.#connection.maintenance.withMigrationLock(async () => {
      const files = new Map((await migrationFiles(this.#folder)).map((file) => [file.name, file]));
      const names: string[] = [];
      const run = (await this.#run()).reverse();
      const candidates = options.allowMissing ? run.filter(({ name }) => files.has(name)) : run;
      const concerned = chosen(candidates, options).map(({ name }) => name);
      const missing = concerned.filter((name) => !files.has(name));
      // Checked before anything is rolled back, so that a batch is never left half done.
      if (missing.length > 0) throw this.#missing(missing.toReversed(), "migrate:rollback", false);
      for (const name of concerned) {
        const file = files.get(name)!;
        if (await this.#revert(file, this.#waits(options, file))) names.push(name);
      }
      return names;
    });
  }

  #missing(names: readonly string[], command: string, areNewer: boolean): AshlarError {
    const problem = `Migrations were run and are missing in ${this.#folder}: ${names.join(", ")}.`;
    if (areNewer) {
      const remedy =
        "They are newer than all files there. If a later version of the application has run them, and you are going back:";
      return new AshlarError("E_MIGRATION", `${problem} ${remedy} npx ashlar ${command} --allow-newer`);
    }
    const remedy =
      "If they are on another branch, roll them back there (npx ashlar migrate:rollback), or put the files back under " +
      "these names. To leave them and their tables unchanged, and continue with the others:";
    return new AshlarError("E_MIGRATION", `${problem} ${remedy} npx ashlar ${command} --allow-missing`);
  }

  #waits({ lockTimeoutMs = LOCK_TIMEOUT_MS, waiting }: MigrateOptions, { name }: MigrationFile): LockWaits {
    return new LockWaits(this.#connection, lockTimeoutMs, (attempts, pauseMs) => waiting?.(attempts, pauseMs, name));
  }

  /**
   * The status of each migration, oldest first. `missing` means that it was run, but its file is gone or was renamed.
   */
  async status(): Promise<
    {
      readonly name: string;
      readonly state: "run" | "pending" | "missing";
      /** The batch that it was run in; `null` if it is pending. */
      readonly batch: number | null;
      /** When it was run; `null` if it is pending. */
      readonly runAt: Date | null;
    }[]
  > {
    const files = await migrationFiles(this.#folder);
    const run = new Map((await this.#run()).map((one) => [one.name, one]));
    const names = new Set([...files.map(({ name }) => name), ...run.keys()]);
    const present = new Set(files.map(({ name }) => name));
    return [...names].sort().map((name) => {
      const record = run.get(name);
      if (record === undefined) return { name, state: "pending", batch: null, runAt: null };
      const runAt = fromDatabase("datetime", "run_at", record.run_at) as Date;
      return { name, state: present.has(name) ? "run" : "missing", batch: record.batch, runAt };
    });
  }

  /** @internal The names of the migrations that have not been run, oldest first. Only reads, and creates no table. */
  async pending(): Promise<string[]> {
    const names = (await migrationFiles(this.#folder)).map(({ name }) => name);
    if (names.length === 0) return [];
    if (!(await hasTable(this.#database, "migrations"))) return names;
    const run = await this.#kysely.selectFrom("migrations").select("name").execute();
    const done = new Set(run.map(({ name }) => name));
    return names.filter((name) => !done.has(name));
  }

  /** @internal The effects of the pending migrations, oldest first; see {@link dryRun}. */
  async dryRuns(): Promise<DryRun[]> {
    const pending = new Set(await this.pending());
    const runs: DryRun[] = [];
    for (const file of await migrationFiles(this.#folder)) {
      if (pending.has(file.name)) runs.push(await dryRun(this.#connection.dialect, file));
    }
    return runs;
  }

  /**
   * @internal The migrations that were run but have no file, oldest first, and whether they are newer than all files,
   * because a later version of the application has run them. Only reads.
   */
  async missing(): Promise<{ readonly names: string[]; readonly areNewer: boolean }> {
    if (!(await hasTable(this.#database, "migrations"))) return { names: [], areNewer: false };
    const files = await migrationFiles(this.#folder);
    const known = new Set(files.map(({ name }) => name));
    const run = await this.#kysely.selectFrom("migrations").select("name").orderBy("name").execute();
    const names = run.map(({ name }) => name).filter((name) => !known.has(name));
    return { names, areNewer: names.every((name) => isNewer(name, files)) };
  }

  /**
   * Drops every table, view and type, whatever created it, and runs all migrations.
   *
   * @returns the migrations' names
   * @throws `E_MIGRATION` as `up`
   */
  async fresh(): Promise<string[]> {
    return await this.#connection.maintenance.withMigrationLock(async () => {
      await this.#connection.maintenance.dropEverything();
      return await this.up();
    });
  }

  async #apply(file: MigrationFile, batch: number, waits: LockWaits): Promise<boolean> {
    const migration = await loadMigration(file);
    return await this.#attempt(file, migration, "up", waits, async (run) => {
      // Checked again inside the transaction, because another process may have run it since. The record is written
      // last, for databases that commit each schema change.
      if (await this.#isRun(file)) return false;
      await run(migration.up);
      const record = { name: file.name, batch, run_at: currentDate() };
      await this.#kysely.insertInto("migrations").values(record).execute();
      return true;
    });
  }

  async #revert(file: MigrationFile, waits: LockWaits): Promise<boolean> {
    const migration = await loadMigration(file);
    const { down } = migration as Required<Migration>;
    if (typeof down !== "function") {
      throw new AshlarError(
        "E_MIGRATION",
        `${file.path}: it cannot be rolled back, because it exports no function "down".`,
      );
    }
    return await this.#attempt(file, migration, "down", waits, async (run) => {
      if (!(await this.#isRun(file))) return false;
      await run(down);
      await this.#kysely.deleteFrom("migrations").where("name", "=", file.name).execute();
      return true;
    });
  }

  async #attempt<T>(
    file: MigrationFile,
    { transaction = true }: Migration,
    direction: "up" | "down",
    waits: LockWaits,
    task: (run: (change: Migration["up"]) => Promise<void>) => Promise<T>,
  ): Promise<T> {
    const connection = this.#connection;
    const isUndone = transaction && connection.dialect.maintenance.schemaIsTransactional;
    const progress = new MigrationProgress();
    const through = isUndone ? undefined : (executor: Executor) => waits.repeating(executor, () => progress.again());
    const run = async (change: Migration["up"]): Promise<void> => {
      await progress.watch(connection, () => runAwaited((check) => connection.guardedKysely(check, through), change));
      // Checked before the migration is recorded as run, because without a transaction the record would stay.
      await connection.maintenance.checkForeignKeys();
    };
    const all = () => task(run);
    try {
      return await connection.maintenance.rebuilding(() => (isUndone ? waits.transaction(all) : waits.alone(all)));
    } catch (error) {
      // Advice to run migrations doesn't help during a migration.
      const reason = (error instanceof Error ? error.message : String(error)).replace(MIGRATE, MADE_BEFORE[direction]);
      const remains = progress.failedAtOnce(error) ? FROM_BEFORE[direction] : REMAINS[direction];
      const outcome = isUndone ? "and nothing of it remains." : `${remains}.${progress.describe(error)}`;
      throw new AshlarError("E_MIGRATION", `${file.path}: ${direction}() failed, ${outcome} ${reason}`, {
        cause: error,
      });
    }
  }

  async #isRun({ name }: MigrationFile): Promise<boolean> {
    const query = this.#kysely.selectFrom("migrations").select("name").where("name", "=", name);
    return (await query.executeTakeFirst()) !== undefined;
  }

  /** The migrations that were run, oldest first. Creates their table if it doesn't exist. */
  async #run(): Promise<RunMigration[]> {
    await this.#kysely.schema
      .createTable("migrations")
      .ifNotExists()
      .addColumn("name", "varchar(255)", (column) => column.primaryKey())
      .addColumn("batch", "integer", (column) => column.notNull())
      .addColumn("run_at", timestamp(this.#kysely), (column) => column.notNull())
      .execute();
    return await this.#kysely.selectFrom("migrations").selectAll().orderBy("batch").orderBy("name").execute();
  }
}

/** Whether a migration is newer than all files. Names begin with a timestamp. */
function isNewer(name: string, files: readonly MigrationFile[]): boolean {
  return files.every((file) => file.name < name);
}

function chosen(latestFirst: readonly RunMigration[], { steps, batch }: RollbackOptions): readonly RunMigration[] {
  if (batch !== undefined) return latestFirst.filter((one) => one.batch === batch);
  if (steps === undefined) return latestFirst.filter((one) => one.batch === latestFirst[0]!.batch);
  if (Number.isSafeInteger(steps) && steps > 0) return latestFirst.slice(0, steps);
  throw new AshlarError("E_MIGRATION", "The number of steps to roll back must be a whole number of 1 or more.");
}
