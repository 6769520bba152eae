import { sql } from "kysely";
import { type Claim, LEASE_MS, ProcessTaskClaim, type TaskClaim } from "../../boot/index.ts";
import { now } from "../../support/index.ts";
import type { Database } from "../connections/database.ts";
import { hasTable } from "./table-columns.ts";

export const TASK_TABLE = "maintenance";
/** No task is due later than this from now. A later time must come from a process whose clock was ahead. */
const LONGEST_WAIT_MS = 48 * 60 * 60_000;

/**
 * Decides which of several processes runs a task, and when. A row in the table `maintenance` says when the task is due.
 * Without that table, every process runs the task.
 */
export class DatabaseTaskClaim implements TaskClaim {
  readonly #database: Database;
  readonly #task: string;
  readonly #withoutTable: ProcessTaskClaim = new ProcessTaskClaim();

  /** @param task its name, at most 64 characters */
  constructor(database: Database, task: string) {
    this.#database = database;
    this.#task = task;
  }

  async take(): Promise<Claim | null> {
    if (!(await hasTable(this.#database, TASK_TABLE))) return this.#withoutTable.take();
    const claimedAt = now();
    const leasedUntil = new Date(claimedAt + LEASE_MS);
    // One statement decides between processes. With a read followed by a write, several of them could run the task.
    const dueAt = sql.ref(`${TASK_TABLE}.due_at`);
    const claim = this.#database.connection().writes.upsert({
      table: TASK_TABLE,
      values: { task: this.#task, due_at: leasedUntil },
      key: ["task"],
      changes: { due_at: leasedUntil },
      changeIf: sql`(${dueAt} <= ${new Date(claimedAt)} or ${dueAt} > ${new Date(claimedAt + LONGEST_WAIT_MS)})`,
      returning: ["task"],
    });
    return (await claim({})).length === 0 ? null : { claimedAt, leasedUntil };
  }

  async finish(claimed: Claim, dueAt: number): Promise<void> {
    await this.#withoutTable.finish(claimed, dueAt);
    const { leasedUntil } = claimed;
    if (leasedUntil === null) return;
    await this.#database.kysely
      .updateTable(TASK_TABLE)
      .set({ due_at: new Date(dueAt) })
      .where("task", "=", this.#task)
      .where("due_at", "=", leasedUntil)
      .execute();
  }
}
