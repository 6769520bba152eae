import type { Kysely } from "kysely";
import type { FoundProblem } from "../../boot/index.ts";
import type { Logger } from "../../kernel/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import type { Connection } from "../connections/connection.ts";
import type { Database } from "../connections/database.ts";
import { columnsOf, hasTable } from "./table-columns.ts";

/** A store's table is missing from the database of its connection. */
export class MissingTableError extends ConfigurationError {
  /** Whether the store is on a connection that migrations don't run on. */
  readonly isElsewhere: boolean;
  readonly problem: string;
  readonly remedy: string;

  constructor(where: string, problem: string, isElsewhere: boolean) {
    const remedy = isElsewhere
      ? "Migrations create it on the default connection: npx ashlar migrate. If it is there, each start of the application " +
        "creates it on this one, too; if the log says that it can't, let its user create tables for one start."
      : "Run: npx ashlar migrate";
    super(where, problem, remedy);
    this.isElsewhere = isElsewhere;
    this.problem = problem;
    this.remedy = remedy;
  }

  /** The problem as `ashlar doctor` reports it. @param file the file that names the store */
  asFound(file: string): FoundProblem {
    return { file, problem: `${this.problem[0]!.toUpperCase()}${this.problem.slice(1)}`, note: this.remedy };
  }
}

/** The options of a {@link StoreTable}. */
export interface StoreTableOptions {
  /** The setting that names the store, such as `config/throttle.ts: THROTTLE.store`. */
  readonly where: string;
  readonly name: string;
  readonly database: Database;
  /** The store's connection, which may not be the default one. */
  readonly connection: Connection;
  /** Creates the table, as the application's migration does. */
  // biome-ignore lint/suspicious/noExplicitAny: it may have any tables.
  readonly create: (kysely: Kysely<any>) => Promise<void>;
  readonly logger: Logger;
}

/**
 * The table of a store whose connection the application chooses. Migrations create it on the default connection; on any
 * other, startup creates it.
 */
export class StoreTable {
  readonly #options: StoreTableOptions;

  constructor(options: StoreTableOptions) {
    this.#options = options;
  }

  /**
   * Creates the table if it is missing and the connection isn't the default one. Never rejects. The table may exist
   * already, because a connection may lead to the default connection's database, where migrations create it.
   */
  async prepare(): Promise<void> {
    const { name, database, connection, create, where, logger } = this.#options;
    if (this.#isDefault) return;
    try {
      if (!(await hasTable(database, name)) || (await this.#exists())) return;
      await create(connection.kysely).catch(async (error: unknown) => {
        // Another process may have created the table first.
        if (!(await this.#exists())) throw error;
      });
      logger.info({ connection: connection.name, table: name }, "The store's table was created on its connection.");
    } catch (error) {
      logger.error({ err: error, table: name }, `${where}: the table could not be created on its connection.`);
    }
  }

  /** @throws {@link MissingTableError}; `E_DATABASE` if the database can't be reached */
  async check(): Promise<void> {
    if (await this.#exists()) return;
    const { where, name, connection } = this.#options;
    const problem = `the database of the connection "${connection.name}" has no table ${name}.`;
    throw new MissingTableError(where, problem, !this.#isDefault);
  }

  get #isDefault(): boolean {
    const { database, connection } = this.#options;
    return connection === database.connection();
  }

  async #exists(): Promise<boolean> {
    const { connection, name } = this.#options;
    return (await columnsOf(connection, name)).size > 0;
  }
}

/**
 * Fails a server's startup if a store lacks a table that no migration creates on its connection. Ignores other
 * failures, because they may be temporary, and pending migrations are reported elsewhere.
 *
 * @throws {@link MissingTableError}
 */
export async function requireTableElsewhere(check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (error instanceof MissingTableError && error.isElsewhere) throw error;
  }
}
