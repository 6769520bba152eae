import { expect, test } from "vitest";
import { RollbackLog, type Snapshot } from "./rollback-log.ts";

/** Something that a transaction changes, and what its log did with it. */
class Thing {
  value = "before";

  set(log: RollbackLog, value: string): boolean {
    const old = this.value;
    const snapshot = (): Snapshot => ({
      extend: () => {},
      restore: () => {
        this.value = old;
      },
    });
    const isChanged = log.record(this, snapshot, {});
    if (isChanged) this.value = value;
    return isChanged;
  }
}

test("S68 what is recorded late, after a savepoint was released, is rolled back with the transaction around it", () => {
  const outer = new RollbackLog(null);
  const inner = new RollbackLog(outer);
  inner.commit();
  const thing = new Thing();
  expect(thing.set(inner, "late")).toBe(true);
  outer.rollBack();
  expect(thing.value).toBe("before");
});

test("S68 what is recorded late, after a rollback, is not done at all", () => {
  const outer = new RollbackLog(null);
  const inner = new RollbackLog(outer);
  inner.commit();
  outer.rollBack();
  const thing = new Thing();
  expect([thing.set(outer, "late"), thing.set(inner, "late"), thing.value]).toEqual([false, false, "before"]);
});

test("what is recorded late, after the commit of all, is done and stays", () => {
  const log = new RollbackLog(null);
  log.commit();
  const thing = new Thing();
  expect([thing.set(log, "late"), thing.value]).toEqual([true, "late"]);
});

test("S68 what a released savepoint changed is rolled back with the transaction around it", () => {
  const outer = new RollbackLog(null);
  const inner = new RollbackLog(outer);
  const thing = new Thing();
  thing.set(inner, "in the savepoint");
  inner.commit();
  expect(thing.value).toBe("in the savepoint");
  outer.rollBack();
  expect(thing.value).toBe("before");
});

test("S68 what both changed is restored to what it was before either of them", () => {
  const outer = new RollbackLog(null);
  const inner = new RollbackLog(outer);
  const thing = new Thing();
  thing.set(outer, "outside");
  thing.set(inner, "in the savepoint");
  inner.commit();
  outer.rollBack();
  expect(thing.value).toBe("before");
});
