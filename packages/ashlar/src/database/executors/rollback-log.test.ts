import { expect, test } from "vitest";
import { RollbackLog, type Snapshot } from "./rollback-log.ts";

/** A value that a transaction changes, and a record of what the rollback log does with it. */
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

test("S68 a change recorded after its savepoint was released is rolled back with the transaction around it", () => {
  const outer = new RollbackLog(null);
  const inner = new RollbackLog(outer);
  inner.commit();
  const thing = new Thing();
  expect(thing.set(inner, "late")).toBe(true);
  outer.rollBack();
  expect(thing.value).toBe("before");
});

test("S68 a change recorded after a rollback is not made at all", () => {
  const outer = new RollbackLog(null);
  const inner = new RollbackLog(outer);
  inner.commit();
  outer.rollBack();
  const thing = new Thing();
  expect([thing.set(outer, "late"), thing.set(inner, "late"), thing.value]).toEqual([false, false, "before"]);
});

test("a change recorded after the outermost commit is made and kept", () => {
  const log = new RollbackLog(null);
  log.commit();
  const thing = new Thing();
  expect([thing.set(log, "late"), thing.value]).toEqual([true, "late"]);
});

test("S68 a change made in a released savepoint is rolled back with the transaction around it", () => {
  const outer = new RollbackLog(null);
  const inner = new RollbackLog(outer);
  const thing = new Thing();
  thing.set(inner, "in the savepoint");
  inner.commit();
  expect(thing.value).toBe("in the savepoint");
  outer.rollBack();
  expect(thing.value).toBe("before");
});

test("S68 a value changed in both is restored to its value before either of them", () => {
  const outer = new RollbackLog(null);
  const inner = new RollbackLog(outer);
  const thing = new Thing();
  thing.set(outer, "outside");
  thing.set(inner, "in the savepoint");
  inner.commit();
  outer.rollBack();
  expect(thing.value).toBe("before");
});
