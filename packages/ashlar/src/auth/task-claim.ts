import { type Database, hasTable, sql } from "../database/index.ts";
import { now } from "../support/index.ts";

const TABLE = "maintenance";
/** After this, what claimed a task and never said that it was done counts as crashed. */
const LEASE_MS = 60 * 60_000;
/** No task waits longer than this: a later time was written by a process whose clock was ahead. */
const LONGEST_WAIT_MS = 48 * 60 * 60_000;

/** That this process, and no other, is to do a task now. */
export interface Claim {
  readonly claimedAt: number;
  /** What the row holds as long as the claim stands; `null` where there is no table. */
  readonly leasedUntil: Date | null;
}

/**
 * Decides which of several processes does a task, and when: by the table `maintenance`, where a row says when the task is
 * due. Without that table, each process does it.
 */
export class TaskClaim {
  readonly #database: Database;
  readonly #task: string;
  /** When it is due where there is no table. */
  #dueAt = 0;

  /** @param task its name, of 64 characters at most */
  constructor(database: Database, task: string) {
    this.#database = database;
    this.#task = task;
  }

  /** Claims the task, if it is due and no other process has claimed it. One that does not finish is due again in an hour. */
  async take(): Promise<Claim | null> {
    const claimedAt = now();
    if (!(await hasTable(this.#database, TABLE))) {
      if (this.#dueAt > claimedAt) return null;
      this.#dueAt = claimedAt + LEASE_MS;
      return { claimedAt, leasedUntil: null };
    }
    const leasedUntil = new Date(claimedAt + LEASE_MS);
    // One statement decides between processes: a read followed by a write would let several of them do it.
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
   * Says when a task that was claimed is due again; what took so long that another has claimed it says nothing.
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
