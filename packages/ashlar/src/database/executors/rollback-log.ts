/** The state of an object in memory before a transaction changed it. */
export interface Snapshot {
  /**
   * Called before each further change.
   *
   * @param values the values that the application itself has set, which a rollback leaves alone
   */
  extend(values: Readonly<Record<string, unknown>>): void;
  /** Restores the object's state. */
  restore(): void;
}

/** The changes that a transaction or savepoint made to objects in memory, which a rollback undoes. */
export class RollbackLog {
  readonly #parent: RollbackLog | null;
  readonly #snapshots = new Map<object, Snapshot>();
  #outcome: "committed" | "rolled back" | null = null;

  /** @param parent the log of the transaction around a savepoint */
  constructor(parent: RollbackLog | null) {
    this.#parent = parent;
  }

  /**
   * Called before an object is changed to match a write of this transaction.
   *
   * @param snapshot creates the object's snapshot; called if this transaction does not have one yet
   * @param values the values that the application itself had set, and the statement stored
   * @returns whether to make the change: not if the statement, left without an `await`, was rolled back in the meantime
   */
  record(object: object, snapshot: () => Snapshot, values: Readonly<Record<string, unknown>>): boolean {
    if (this.#outcome === "rolled back") return false;
    // The changes of a released savepoint belong to the transaction around it.
    if (this.#outcome === "committed") return this.#parent?.record(object, snapshot, values) ?? true;
    if (!this.#snapshots.has(object)) this.#snapshots.set(object, snapshot());
    for (let log: RollbackLog | null = this; log !== null; log = log.#parent)
      log.#snapshots.get(object)?.extend(values);
    return true;
  }

  /** The transaction was committed, or the savepoint released: its changes now belong to the one around it. */
  commit(): void {
    this.#outcome = "committed";
    for (const [object, snapshot] of this.#snapshots) {
      if (this.#parent !== null && !this.#parent.#snapshots.has(object)) this.#parent.#snapshots.set(object, snapshot);
    }
    this.#snapshots.clear();
  }

  /** The transaction or savepoint was rolled back: undoes its changes in memory. */
  rollBack(): void {
    this.#outcome = "rolled back";
    for (const snapshot of this.#snapshots.values()) snapshot.restore();
    this.#snapshots.clear();
  }
}
