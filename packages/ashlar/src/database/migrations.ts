import type { Kysely } from "kysely";
import { AshlarError, currentDate } from "../support/index.ts";
import { fromDatabase } from "./casts.ts";
import { timestamp } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { Database } from "./database.ts";
import { MIGRATE } from "./errors.ts";
import { loadMigration, type Migration, type MigrationFile, migrationFiles } from "./migration-files.ts";
import { runAwaited } from "./migration-statements.ts";
import { hasTable } from "./table-columns.ts";

/** How a migration stands: `missing` has been run, and its file is gone or has another name now. */
export interface MigrationStatus {
  readonly name: string;
  readonly state: "run" | "pending" | "missing";
  /** Which run of `up` it was part of; `null` where it is pending. */
  readonly batch: number | null;
  /** When it was run; `null` where it is pending. */
  readonly runAt: Date | null;
}

/** How migrations are run. */
export interface MigrateOptions {
  /**
   * Whether to leave migrations alone that were run and have no file here, as after a change of branch. Their tables
   * stay as they are.
   */
  readonly allowMissing?: boolean;
}

/** How far to roll back: the last batch where neither is given. */
export interface RollbackOptions extends MigrateOptions {
  /** So many migrations, the last one first. */
  readonly steps?: number;
  /** The migrations of a batch. */
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

/** What is left of a migration without a transaction that failed. */
const REMAINS = {
  up: "and what it did before that remains, because it runs without a transaction. It is not recorded as run: undo what remains, then migrate again",
  down: "and what it did before that remains, because it runs without a transaction. It is still recorded as run: finish by hand, then roll back again",
} as const;

/** What follows a message about a table that is not there, in a migration. */
const MADE_BEFORE = { up: " A migration before this one has to make the table.", down: "" } as const;

/**
 * Brings a database's tables to where the application's migrations say.
 *
 * Each migration runs in a transaction of its own together with the note that it was run: one that fails leaves nothing
 * behind, unless the database commits at each change of a table. A statement that it does not await fails it, and so does a row that refers to nothing at its end. Of several
 * processes that migrate at once, one runs the migrations while the others wait.
 */
export class Migrations {
  readonly #database: Database;
  readonly #connection: Connection;
  readonly #kysely: Kysely<MigrationTables>;
  readonly #folder: string;

  /**
   * @param database whose default connection is migrated
   * @param folder the migrations' folder, an absolute path
   */
  constructor(database: Database, folder: string) {
    this.#database = database;
    this.#connection = database.connection();
    this.#kysely = this.#connection.kysely as Kysely<MigrationTables>;
    this.#folder = folder;
  }

  /**
   * Runs the migrations that have not been run, the oldest first.
   *
   * @returns their names
   * @throws `E_MIGRATION` naming the file that failed, or those that were run and are missing
   */
  async up({ allowMissing = false }: MigrateOptions = {}): Promise<string[]> {
    return await this.#connection.withMigrationLock(async () => {
      const files = await migrationFiles(this.#folder);
      const run = await this.#run();
      const known = new Set(files.map(({ name }) => name));
      const missing = run.filter(({ name }) => !known.has(name)).map(({ name }) => name);
      if (missing.length > 0 && !allowMissing) throw this.#missing(missing, "migrate");
      const done = new Set(run.map(({ name }) => name));
      const batch = Math.max(0, ...run.map((one) => one.batch)) + 1;
      const names: string[] = [];
      for (const file of files.filter(({ name }) => !done.has(name))) {
        if (await this.#apply(file, batch)) names.push(file.name);
      }
      return names;
    });
  }

  /**
   * Takes migrations back, the last one first.
   *
   * @returns their names
   * @throws `E_MIGRATION` naming the file that failed, is missing or has no `down`
   */
  async rollback(options: RollbackOptions = {}): Promise<string[]> {
    return await this.#connection.withMigrationLock(async () => {
      const files = new Map((await migrationFiles(this.#folder)).map((file) => [file.name, file]));
      const names: string[] = [];
      const run = (await this.#run()).reverse();
      const candidates = options.allowMissing ? run.filter(({ name }) => files.has(name)) : run;
      const concerned = chosen(candidates, options).map(({ name }) => name);
      const missing = concerned.filter((name) => !files.has(name));
      // Before the first is taken back: half a batch is no place to stop.
      if (missing.length > 0) throw this.#missing(missing.toReversed(), "migrate:rollback");
      for (const name of concerned) {
        if (await this.#revert(files.get(name)!)) names.push(name);
      }
      return names;
    });
  }

  #missing(names: readonly string[], command: string): AshlarError {
    const problem = `Migrations were run and are missing in ${this.#folder}: ${names.join(", ")}.`;
    const remedy =
      "If they are on another branch, roll them back there (npx ashlar migrate:rollback), or put the files back under " +
      "these names. To leave them and their tables as they are, and go on with the others:";
    return new AshlarError("E_MIGRATION", `${problem} ${remedy} npx ashlar ${command} --allow-missing`);
  }

  /** How each migration stands, the oldest first. */
  async status(): Promise<MigrationStatus[]> {
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

  /** @internal The names of the migrations that have not been run, the oldest first. It only reads: no table is made. */
  async pending(): Promise<string[]> {
    const names = (await migrationFiles(this.#folder)).map(({ name }) => name);
    if (names.length === 0) return [];
    if (!(await hasTable(this.#database, "migrations"))) return names;
    const run = await this.#kysely.selectFrom("migrations").select("name").execute();
    const done = new Set(run.map(({ name }) => name));
    return names.filter((name) => !done.has(name));
  }

  /**
   * Drops every table, view and type, whoever made it, and runs all migrations.
   *
   * @returns the migrations' names
   * @throws `E_MIGRATION` as `up`
   */
  async fresh(): Promise<string[]> {
    return await this.#connection.withMigrationLock(async () => {
      await this.#connection.dropEverything();
      return await this.up();
    });
  }

  async #apply(file: MigrationFile, batch: number): Promise<boolean> {
    const migration = await loadMigration(file);
    return await this.#attempt(file, migration, "up", async (run) => {
      // Asked again inside the transaction: another process may have run it since. The note comes last, for databases
      // that commit at each change of a table.
      if (await this.#isRun(file)) return false;
      await run(migration.up);
      const record = { name: file.name, batch, run_at: currentDate() };
      await this.#kysely.insertInto("migrations").values(record).execute();
      return true;
    });
  }

  async #revert(file: MigrationFile): Promise<boolean> {
    const migration = await loadMigration(file);
    const { down } = migration as Required<Migration>;
    if (typeof down !== "function") {
      throw new AshlarError(
        "E_MIGRATION",
        `${file.path}: it cannot be rolled back, because it exports no function "down".`,
      );
    }
    return await this.#attempt(file, migration, "down", async (run) => {
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
    task: (run: (change: Migration["up"]) => Promise<void>) => Promise<T>,
  ): Promise<T> {
    const connection = this.#connection;
    const isUndone = transaction && connection.dialect.schemaIsTransactional;
    const run = async (change: Migration["up"]): Promise<void> => {
      await runAwaited((check) => connection.guardedKysely(check), change);
      // Before the note that it was run, which would stay where there is no transaction.
      await connection.checkForeignKeys();
    };
    const all = () => task(run);
    try {
      return await connection.rebuilding(() => (isUndone ? connection.transaction(all) : all()));
    } catch (error) {
      // The advice to migrate does not help those who are migrating.
      const reason = (error instanceof Error ? error.message : String(error)).replace(MIGRATE, MADE_BEFORE[direction]);
      const outcome = isUndone ? "and nothing of it remains" : REMAINS[direction];
      throw new AshlarError("E_MIGRATION", `${file.path}: ${direction}() failed, ${outcome}. ${reason}`, {
        cause: error,
      });
    }
  }

  async #isRun({ name }: MigrationFile): Promise<boolean> {
    const query = this.#kysely.selectFrom("migrations").select("name").where("name", "=", name);
    return (await query.executeTakeFirst()) !== undefined;
  }

  /** What was run, the oldest first. The table is made where it is not there. */
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

function chosen(latestFirst: readonly RunMigration[], { steps, batch }: RollbackOptions): readonly RunMigration[] {
  if (batch !== undefined) return latestFirst.filter((one) => one.batch === batch);
  if (steps === undefined) return latestFirst.filter((one) => one.batch === latestFirst[0]!.batch);
  if (Number.isSafeInteger(steps) && steps > 0) return latestFirst.slice(0, steps);
  throw new AshlarError("E_MIGRATION", "The number of steps to roll back is no whole number from 1 on.");
}
