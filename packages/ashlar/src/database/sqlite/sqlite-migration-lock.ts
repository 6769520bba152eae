import { AshlarError } from "../../support/index.ts";
import { DatabaseSync } from "./node-sqlite.ts";
import { isBusy, retryWhileBusy } from "./sqlite-busy.ts";
import { createPrivately, IN_MEMORY } from "./sqlite-file.ts";
import "../errors.ts";

/** How long to wait while another process migrates: longer than most migrations of a large file take. */
const TIMEOUT_MS = 600_000;

/**
 * Lets one process at a time run migrations, by holding a transaction on a separate empty database next to the file.
 * Statements on the file itself don't wait for it. The lock is released when the process ends, even if it crashes.
 *
 * The lock's file is never deleted, because waiting processes have it open, and would lock a deleted file.
 */
export class SqliteMigrationLock {
  readonly #path: string;
  readonly #timeoutMs: number;
  #holder: DatabaseSync | null = null;
  /** How often it was taken, because migrations may run within other migrations. */
  #depth = 0;

  /** @param path the database's file, or `:memory:`, which other processes cannot access */
  constructor(path: string, timeoutMs: number = TIMEOUT_MS) {
    this.#path = path;
    this.#timeoutMs = timeoutMs;
  }

  /** @throws `E_MIGRATION` if another process still holds the lock after that time */
  async acquire(): Promise<void> {
    if (this.#path !== IN_MEMORY && this.#depth === 0) this.#holder = await this.#open();
    this.#depth++;
  }

  release(): void {
    this.#depth--;
    if (this.#depth > 0) return;
    this.#holder?.close();
    this.#holder = null;
  }

  async #open(): Promise<DatabaseSync> {
    const path = `${this.#path}-migrations`;
    createPrivately(path);
    const holder = new DatabaseSync(path, { timeout: 0 });
    const attempt = (): void => holder.exec("begin exclusive");
    try {
      try {
        attempt();
      } catch (error) {
        if (!isBusy(error)) throw error;
        await retryWhileBusy(attempt, this.#timeoutMs);
      }
      return holder;
    } catch (error) {
      holder.close();
      const problem = isBusy(error)
        ? `Another process has been running migrations for more than ${this.#timeoutMs} ms.`
        : `${path} cannot be locked: ${(error as Error).message}.`;
      const remedy = `Migrate again when it has ended. To find it: fuser "${path}"`;
      throw new AshlarError("E_MIGRATION", isBusy(error) ? `${problem} ${remedy}` : problem, { cause: error });
    }
  }
}
