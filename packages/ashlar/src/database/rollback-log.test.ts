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

test("S68 what is recorded late, after a savepoint was released, goes back with the transaction around it", () => {
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
