import { type Database, hasTable, sql } from "../database/index.ts";
import { now } from "../support/index.ts";

const TABLE = "maintenance";
/** A process that claimed a task and has not finished it after this time counts as crashed. */
const LEASE_MS = 60 * 60_000;
/** No task waits longer than this: a later time was written by a process whose clock was ahead. */
const LONGEST_WAIT_MS = 48 * 60 * 60_000;

/** The right, and the duty, of this process alone to do a task now. */
export interface Claim {
  readonly claimedAt: number;
  /** The value in the row as long as the claim is valid; `null` if there is no table. */
  readonly leasedUntil: Date | null;
}

/**
 * Decides which of several processes does a task, and when. A row in the table `maintenance` says when the task is due.
 * Without that table, each process does it.
 */
export class TaskClaim {
  readonly #database: Database;
  readonly #task: string;
  /** When it is due if there is no table. */
  #dueAt = 0;

  /** @param task its name, at most 64 characters */
  constructor(database: Database, task: string) {
    this.#database = database;
    this.#task = task;
  }

  /**
   * Claims the task, if it is due and no other process has claimed it. A task that is not finished is due again in an
   * hour.
   */
  async take(): Promise<Claim | null> {
    const claimedAt = now();
    if (!(await hasTable(this.#database, TABLE))) {
      if (this.#dueAt > claimedAt) return null;
      this.#dueAt = claimedAt + LEASE_MS;
      return { claimedAt, leasedUntil: null };
    }
    const leasedUntil = new Date(claimedAt + LEASE_MS);
    // One statement decides between processes: with a read followed by a write, several of them could do it.
    const dueAt = sql.ref(`${TABLE}.due_at`);
    const claim = this.#database.connection().prepareUpsert({
      table: TABLE,
      values: { task: this.#task, due_at: leasedUntil },
      key: ["task"],
      changes: { due_at: leasedUntil },
      changeIf: sql`(${dueAt} <= ${new Date(claimedAt)} or ${dueAt} > ${new Date(claimedAt + LONGEST_WAIT_MS)})`,
      returning: ["task"],
    });
    return (await claim({})).length === 0 ? null : { claimedAt, leasedUntil };
  }

  /**
   * Sets when a claimed task is due again. If it took so long that another process has claimed it, nothing changes.
   *
   * @param dueAt at most 48 hours from now
   */
  async finish({ leasedUntil }: Claim, dueAt: number): Promise<void> {
    this.#dueAt = dueAt;
    if (leasedUntil === null) return;
    await this.#database.kysely
      .updateTable(TABLE)
      .set({ due_at: new Date(dueAt) })
      .where("task", "=", this.#task)
      .where("due_at", "=", leasedUntil)
      .execute();
  }
}
