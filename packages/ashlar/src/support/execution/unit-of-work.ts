import { AsyncLocalStorage } from "node:async_hooks";
import type { MaybePromise } from "../values/kinds.ts";

const units = new AsyncLocalStorage<UnitOfWork>();

/**
 * The work at the end of a database transaction, or of a nested one: functions to run after the commit, or to restore
 * objects in memory after a rollback. The database opens one for each transaction; all other code uses the current one.
 *
 * A unit inside another one, even on another database, hands its work to the outer one when it commits. The work waits
 * for the outermost commit, and is dropped if any of the outer transactions is rolled back.
 */
export class UnitOfWork {
  readonly #parent: UnitOfWork | null = UnitOfWork.current;
  #works: (() => MaybePromise<void>)[] = [];
  readonly #undos = new Map<object, () => void>();
  readonly #awaited = new Set<Promise<unknown>>();
  #isOpen = true;

  /**
   * The innermost unit that the caller is in; `null` outside of transactions. Code that is still running after its
   * transaction has ended is outside of it.
   */
  static get current(): UnitOfWork | null {
    let unit = units.getStore() ?? null;
    while (unit !== null && !unit.#isOpen) unit = unit.#parent;
    return unit;
  }

  /** Whether the transaction can still be committed. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Runs the transaction's function. */
  run<T>(task: () => T): T {
    return units.run(this, task);
  }

  /** Adds work to do after the commit. */
  afterCommit(work: () => MaybePromise<void>): void {
    this.#works.push(work);
  }

  /** Makes the transaction wait for something before it commits. If it rejects, the transaction is rolled back. */
  awaitBeforeCommit(work: Promise<unknown>): void {
    this.#awaited.add(work);
    // `ready` reports a failure, but the transaction may fail for another reason before that.
    work.catch(() => {});
  }

  /**
   * Resolves once everything that the transaction waits for is done.
   *
   * @throws the first rejection's reason
   */
  async ready(): Promise<void> {
    for (const work of this.#awaited) {
      await work;
      this.#awaited.delete(work);
    }
  }

  /**
   * Restores an object in memory if the transaction is rolled back. Call it before the object is changed.
   *
   * @param snapshot returns a function that restores the object's current state; called if this unit doesn't have one
   * yet
   */
  restoreOnRollback(object: object, snapshot: () => () => void): void {
    if (!this.#undos.has(object)) this.#undos.set(object, snapshot());
  }

  /**
   * Records that the transaction has been committed, or the nested one released into the outer one.
   *
   * @returns the work to do now; empty if there is an outer transaction
   */
  commit(): readonly (() => MaybePromise<void>)[] {
    this.#isOpen = false;
    const works = this.#works;
    this.#works = [];
    const around = UnitOfWork.#openAround(this);
    if (around === null) return works;
    around.#works.push(...works);
    for (const [object, undo] of this.#undos) {
      if (!around.#undos.has(object)) around.#undos.set(object, undo);
    }
    return [];
  }

  /** Records that the transaction, or the nested one, is about to be rolled back. Nothing can be added anymore. */
  giveUp(): void {
    this.#isOpen = false;
    this.#works = [];
  }

  /**
   * Records that the transaction, or the nested one, has been rolled back. Drops its work, and undoes its changes in
   * memory.
   */
  rollBack(): void {
    this.giveUp();
    for (const undo of [...this.#undos.values()].reverse()) undo();
  }

  static #openAround(unit: UnitOfWork): UnitOfWork | null {
    let around = unit.#parent;
    while (around !== null && !around.#isOpen) around = around.#parent;
    return around;
  }
}

/**
 * Runs work once all transactions that the caller is in have been committed, and never if one of them is rolled back.
 * Outside of transactions, it runs at once.
 *
 * @param work must not throw
 */
export function afterCommit(work: () => void): void {
  const unit = UnitOfWork.current;
  if (unit === null) work();
  else unit.afterCommit(work);
}

/**
 * Restores an object in memory if the caller's transaction is rolled back. Call it before the object is changed.
 *
 * @param snapshot returns a function that restores the object's current state
 */
export function restoreOnRollback(object: object, snapshot: () => () => void): void {
  UnitOfWork.current?.restoreOnRollback(object, snapshot);
}
