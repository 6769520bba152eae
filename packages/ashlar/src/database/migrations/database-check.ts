import { sql } from "kysely";
import { AshlarError } from "../../support/index.ts";
import type { Database } from "../connections/database.ts";
import { migrationFiles } from "../schema/migration-files.ts";
import { Migrations } from "./migrations.ts";
import "../errors.ts";

/** Checks whether a database is ready: it responds, and all migrations of the running code have been run. */
export class DatabaseCheck {
  readonly #database: Database;
  readonly #folder: string;
  /** The running code's migrations; empty once the check has found that all have been run. */
  #needed: Promise<readonly string[]>;

  /**
   * @param database the database whose default connection is checked
   * @param folder the absolute path of the migrations' folder. It is read now, because files that a deployment adds
   * later are for the next process.
   */
  constructor(database: Database, folder: string) {
    this.#database = database;
    this.#folder = folder;
    this.#needed = migrationFiles(folder).then((files) => files.map(({ name }) => name));
    // The check reports the error.
    this.#needed.catch(() => {});
  }

  /** @throws `E_DATABASE_UNAVAILABLE` and other errors of a statement; `E_MIGRATION` if migrations have not been run */
  async run(): Promise<void> {
    await sql`select 1`.execute(this.#database.kysely);
    const needed = await this.#needed;
    if (needed.length === 0) return;
    const pending = new Set(await new Migrations(this.#database, this.#folder).pending());
    const missing = needed.filter((name) => pending.has(name));
    this.#needed = Promise.resolve(missing);
    if (missing.length === 0) return;
    throw new AshlarError("E_MIGRATION", `Migrations have not been run on this database: ${missing.join(", ")}.`);
  }
}
