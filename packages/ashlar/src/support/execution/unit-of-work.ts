import { AsyncLocalStorage } from "node:async_hooks";
import type { MaybePromise } from "../values/kinds.ts";

const units = new AsyncLocalStorage<UnitOfWork>();

/**
 * The work that a database transaction, or a nested one, leaves for its end: after its commit, or, for a rollback, to
 * restore memory. The database opens one for each transaction; everything else asks for the current one.
 *
 * A unit inside another one, even one of another database, commits into it: its work waits for the outermost commit,
 * and vanishes with any rollback on the way there.
 */
export class UnitOfWork {
  readonly #parent: UnitOfWork | null = UnitOfWork.current;
  #works: (() => MaybePromise<void>)[] = [];
  readonly #undos = new Map<object, () => void>();
  readonly #awaited = new Set<Promise<unknown>>();
  #isOpen = true;

  /**
   * The innermost unit that the caller is in; `null` outside of transactions. A scope that has ended is ignored: code
   * that it left running is outside.
   */
  static get current(): UnitOfWork | null {
    let unit = units.getStore() ?? null;
    while (unit !== null && !unit.#isOpen) unit = unit.#parent;
    return unit;
  }

  /** Whether it can still be committed. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Runs the function of the transaction. */
  run<T>(task: () => T): T {
    return units.run(this, task);
  }

  /** Adds work for after the commit. */
  afterCommit(work: () => MaybePromise<void>): void {
    this.#works.push(work);
  }

  /** Makes the transaction wait for something before it commits. If it rejects, the transaction is rolled back. */
  awaitBeforeCommit(work: Promise<unknown>): void {
    this.#awaited.add(work);
    // `ready` reports its failure; the transaction may fail for another reason before that.
    work.catch(() => {});
  }

  /**
   * Resolves once all work that the transaction waits for is done.
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
   * Called before an object in memory is changed.
   *
   * @param snapshot returns a function that restores the object's present state; called if this unit does not have one
   */
  restoreOnRollback(object: object, snapshot: () => () => void): void {
    if (!this.#undos.has(object)) this.#undos.set(object, snapshot());
  }

  /**
   * The transaction has been committed, or the nested one has been released into the one around it.
   *
   * @returns the work that is now due; nothing as long as there is a transaction around it
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

  /** The transaction, or the nested one, is about to be rolled back: nothing can be added anymore. */
  giveUp(): void {
    this.#isOpen = false;
    this.#works = [];
  }

  /**
   * The transaction, or the nested one, has been rolled back: its work is dropped, and its changes in memory are
   * undone.
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
 * Runs work once every transaction has committed that the caller is in, and never if one of them is rolled back. Outside of
 * transactions, it runs at once.
 *
 * @param work must not throw
 */
export function afterCommit(work: () => void): void {
  const unit = UnitOfWork.current;
  if (unit === null) work();
  else unit.afterCommit(work);
}

/**
 * Called before an object in memory is changed: if the caller is in a transaction that is rolled back, its state is
 * restored.
 *
 * @param snapshot returns a function that restores the object's present state
 */
export function restoreOnRollback(object: object, snapshot: () => () => void): void {
  UnitOfWork.current?.restoreOnRollback(object, snapshot);
}
