import assert from "node:assert/strict";
import type { MaybePromise } from "../../support/index.ts";
import type { AttemptCounter, Bucket, ThrottleStore } from "../../throttle/index.ts";
import { travel, travelBack } from "../time.ts";
import { assertEachFails, FAILURES_THROW, type SuiteTest } from "./suite-test.ts";

const WINDOW_SECONDS = 60;
const WINDOW_MS = WINDOW_SECONDS * 1000;

function bucket(name: string): Bucket {
  return { name, by: ["address"], attempts: 5, windowSeconds: WINDOW_SECONDS };
}

/** Options of {@link throttleStoreSuite}. */
export interface ThrottleStoreSuiteOptions {
  /**
   * Advances the store's clock, in seconds; default: moves the framework's clock. `null` skips the tests that need it,
   * for a store whose server has its own clock.
   */
  readonly elapse?: ((seconds: number) => MaybePromise<void>) | null;
  /** Creates a store whose server cannot be reached; default: the test that needs one is skipped. */
  readonly unreachable?: () => MaybePromise<ThrottleStore>;
}

/**
 * Tests the contract of {@link ThrottleStore}. Test counting across several processes separately.
 *
 * @param make creates a store without counts; called once for each test, which closes it
 */
export function throttleStoreSuite(
  make: () => MaybePromise<ThrottleStore>,
  { elapse = (seconds) => void travel(seconds / 60), unreachable }: ThrottleStoreSuiteOptions = {},
): readonly SuiteTest[] {
  const entry = (title: string, run: (counter: AttemptCounter, store: ThrottleStore) => Promise<void>): SuiteTest => ({
    title,
    async run() {
      const store = await make();
      try {
        await run(store.counter(bucket("login")), store);
      } finally {
        travelBack();
        await store.close();
      }
    },
  });
  const always = [
    entry("counts add up by key, and the length of the window is returned", async (counter) => {
      const first = await counter.add("a", 1);
      assert.equal(first.attempts, 1);
      assert.ok(first.resetInMs > 0 && first.resetInMs <= WINDOW_MS, `the window lasts ${first.resetInMs} ms`);
      const second = await counter.add("a", 3);
      assert.equal(second.attempts, 4);
      assert.ok(second.resetInMs > 0 && second.resetInMs <= first.resetInMs, "a further attempt must not extend it");
      assert.equal((await counter.add("b", 2)).attempts, 2);
      assert.equal((await counter.get("a"))?.attempts, 4);
    }),
    entry("counting continues beyond the limit", async (counter) => {
      for (let attempt = 1; attempt <= 8; attempt++) assert.equal((await counter.add("a", 1)).attempts, attempt);
      assert.equal((await counter.add("a", 100_000)).attempts, 100_008);
      assert.equal((await counter.add("a", 1)).attempts, 100_009);
    }),
    entry("no two concurrent attempts see the same count", async (counter) => {
      await countsAllOf(counter, 40);
    }),
    entry("reading counts nothing, and a key that was never counted has no count", async (counter) => {
      assert.equal(await counter.get("a"), null);
      assert.equal(await counter.get("a"), null);
      assert.equal((await counter.add("a", 1)).attempts, 1);
    }),
    entry("a check counts nothing", async (counter, store) => {
      await counter.add("a", 2);
      await store.check?.();
      assert.equal((await counter.get("a"))?.attempts, 2);
    }),
    entry("two buckets share nothing, and each name has one count", async (counter, store) => {
      const other = store.counter(bucket("export"));
      await counter.add("a", 2);
      assert.equal(await other.get("a"), null);
      await other.add("a", 1);
      await other.delete("a");
      assert.equal((await counter.get("a"))?.attempts, 2);
    }),
    entry("only what was counted can be taken back, and no count falls below 0", async (counter) => {
      await counter.takeBack("a", 1);
      assert.equal(await counter.get("a"), null);
      await counter.add("a", 3);
      await counter.takeBack("a", 1);
      assert.equal((await counter.get("a"))?.attempts, 2);
      await counter.takeBack("a", 5);
      assert.equal((await counter.get("a"))?.attempts, 0);
      assert.equal((await counter.add("a", 1)).attempts, 1);
    }),
    entry("an attempt that is counted while others are taken back is not lost", async (counter) => {
      for (let round = 0; round < 5; round++) {
        const key = `round ${round}`;
        await counter.add(key, 20);
        const steps = Array.from({ length: 20 }, (_, index) => () => {
          return index % 2 === 0 ? counter.takeBack(key, 1) : counter.add(key, 1);
        });
        await Promise.all(steps.map((step) => step()));
        assert.equal((await counter.get(key))?.attempts, 20);
      }
    }),
    entry("counts that change together are each changed once, whatever others do in the meantime", async (_, store) => {
      if (store.addTogether === undefined) return;
      const buckets = ["one", "two", "three"].map((name, index) => {
        return { ...bucket(name), windowSeconds: WINDOW_SECONDS * (index + 1) };
      });
      const counters = buckets.map((one) => store.counter(one));
      const changes = buckets.map((one) => ({ bucket: one, key: "a", cost: 2 }));
      const first = await store.addTogether(changes);
      assert.deepEqual(
        first.map(({ attempts, resetInMs }) => [attempts, Math.round(resetInMs / WINDOW_MS)]),
        [1, 2, 3].map((windows) => [2, windows]),
        "the counts are in the order of the changes",
      );
      const rounds = Array.from({ length: 20 }, (__, index) => (index % 2 === 0 ? changes : changes.toReversed()));
      const seen = await Promise.all(rounds.map((round) => store.addTogether!(round)));
      const ofOne = seen.map((counts, index) => counts[index % 2 === 0 ? 0 : 2]!.attempts);
      assert.deepEqual(
        ofOne.toSorted((a, b) => a - b),
        rounds.map((__, index) => 4 + 2 * index),
        "no two see the same count",
      );
      await Promise.all(rounds.flatMap((round) => [store.takeBackTogether?.(round), counters[0]!.add("b", 1)]));
      if (store.takeBackTogether === undefined) return;
      const left = await Promise.all(counters.map((one) => one.get("a")));
      assert.deepEqual(
        left.map((count) => count?.attempts),
        [2, 2, 2],
      );
      await store.takeBackTogether(changes.map((change) => ({ ...change, cost: 100 })));
      assert.equal((await counters[1]!.get("a"))?.attempts ?? 0, 0, "no count falls below 0");
      await store.takeBackTogether(changes.map((change) => ({ ...change, key: "never there" })));
      assert.equal(
        (await counters[1]!.get("never there"))?.attempts ?? 0,
        0,
        "a key without a count stays without one",
      );
      assert.equal((await counters[1]!.add("never there", 1)).attempts, 1);
    }),
    entry("each bucket has windows of its own length", async (counter, store) => {
      const long = store.counter({ ...bucket("long"), windowSeconds: 10 * WINDOW_SECONDS });
      await counter.add("a", 1);
      const { resetInMs } = await long.add("a", 1);
      assert.ok(resetInMs > 9 * WINDOW_MS && resetInMs <= 10 * WINDOW_MS, `the window lasts ${resetInMs} ms`);
    }),
    entry("a deleted count starts over, and no other does", async (counter) => {
      await counter.add("a", 4);
      await counter.add("b", 2);
      await counter.delete("a");
      await counter.delete("never there");
      assert.equal(await counter.get("a"), null);
      assert.equal((await counter.get("b"))?.attempts, 2);
      assert.equal((await counter.add("a", 1)).attempts, 1);
    }),
    entry("a cleared bucket starts over, and no other does", async (counter, store) => {
      if (store.clear === undefined) return;
      const other = store.counter(bucket("login-address"));
      for (const key of ["a", "b", "x".repeat(1000)]) await counter.add(key, 4);
      await other.add("a", 2);
      await store.clear(bucket("login"));
      for (const key of ["a", "b", "x".repeat(1000)]) assert.equal(await counter.get(key), null, key);
      assert.equal((await other.get("a"))?.attempts, 2);
      await store.clear(bucket("login"));
      assert.equal((await counter.add("a", 1)).attempts, 1);
    }),
    entry("any text can be a key, and different texts are different keys", async (counter) => {
      const keys = [
        "",
        "a",
        "A",
        "a ",
        "ä",
        "a\u0308",
        "a\0b",
        "a'b",
        "a%",
        "_",
        "x".repeat(1000),
        `${"x".repeat(1000)}y`,
      ];
      for (const order of [keys, keys.toReversed()]) {
        for (const key of order) assert.equal((await counter.add(key, 1)).attempts, 1, JSON.stringify(key));
        for (const [index, key] of order.entries()) {
          await counter.delete(key);
          assert.equal(await counter.get(key), null, JSON.stringify(key));
          for (const other of order.slice(index + 1)) {
            assert.equal(
              (await counter.get(other))?.attempts,
              1,
              `${JSON.stringify(key)} is not ${JSON.stringify(other)}`,
            );
          }
        }
      }
    }),
  ];
  if (unreachable !== undefined) always.push({ title: FAILURES_THROW, run: () => failuresThrow(unreachable) });
  if (elapse === null) return always;
  return [
    ...always,
    entry("a window begins with the first attempt, and its whole count ends with it", async (counter) => {
      await counter.add("a", 4);
      await elapse(WINDOW_SECONDS - 20);
      const later = await counter.add("a", 1);
      assert.equal(later.attempts, 5);
      await counter.takeBack("a", 1);
      const read = await counter.get("a");
      assert.ok(
        read !== null && read.resetInMs <= later.resetInMs,
        "reading or taking back must not extend the window",
      );
      const left = `of 20 seconds, ${later.resetInMs} ms are left`;
      assert.ok(later.resetInMs <= 20_000, `${left}; if the store has its own clock, pass elapse to move it`);
      assert.ok(read.resetInMs > 0, "a window that has not ended still lasts");
      await elapse(21);
      assert.equal(await counter.get("a"), null);
      await counter.takeBack("a", 1);
      const next = await counter.add("a", 1);
      assert.equal(next.attempts, 1);
      assert.ok(next.resetInMs > WINDOW_MS - 20_000, `the next window lasts ${next.resetInMs} ms`);
    }),
    entry("each window ends after its own length, whether or not others are pruned", async (counter, store) => {
      const long = store.counter({ ...bucket("long"), windowSeconds: 10 * WINDOW_SECONDS });
      const short = store.counter({ ...bucket("short"), windowSeconds: WINDOW_SECONDS / 3 });
      const open = async () => {
        const counts = await Promise.all([short, counter, long].map((one) => one.get("a")));
        return counts.map((count) => count?.attempts ?? null);
      };
      for (const one of [short, counter, long]) await one.add("a", 1);
      for (const expected of [
        [1, 1, 1],
        [null, 1, 1],
        [null, null, 1],
      ]) {
        await store.prune?.();
        assert.deepEqual(await open(), expected);
        await elapse(WINDOW_SECONDS / 2 + 1);
      }
      await elapse(9 * WINDOW_SECONDS);
      assert.deepEqual(await open(), [null, null, null]);
    }),
    entry("no two concurrent attempts that follow an ended window see the same count", async (counter) => {
      await counter.add("a", 5);
      await elapse(WINDOW_SECONDS + 1);
      await countsAllOf(counter, 40);
    }),
    entry("pruning deletes what has ended, and nothing else", async (counter, store) => {
      await counter.add("old", 1);
      await elapse(WINDOW_SECONDS - 1);
      await counter.add("new", 2);
      await elapse(2);
      const pruned = await store.prune?.();
      // The memory store may have dropped it already.
      assert.ok(
        pruned === undefined || pruned === 0 || pruned === 1,
        `of one count that has ended, ${pruned} were deleted`,
      );
      assert.equal(await counter.get("old"), null);
      assert.equal((await counter.get("new"))?.attempts, 2);
    }),
  ];
}

/** Asserts that this many concurrent attempts with a new key are counted from 1, each exactly once. */
async function countsAllOf(counter: AttemptCounter, attempts: number): Promise<void> {
  const counts = await Promise.all(Array.from({ length: attempts }, () => counter.add("a", 1)));
  assert.deepEqual(
    counts.map((count) => count.attempts).toSorted((a, b) => a - b),
    Array.from({ length: attempts }, (_, index) => index + 1),
  );
}

async function failuresThrow(unreachable: () => MaybePromise<ThrottleStore>): Promise<void> {
  const store = await unreachable();
  try {
    const counter = store.counter(bucket("login"));
    await assertEachFails({
      add: () => counter.add("a", 1),
      takeBack: () => counter.takeBack("a", 1),
      get: () => counter.get("a"),
      delete: () => counter.delete("a"),
      ...(store.clear === undefined ? {} : { clear: () => store.clear?.(bucket("login")) }),
      ...(store.prune === undefined ? {} : { prune: () => store.prune?.() }),
      ...(store.check === undefined ? {} : { check: () => store.check?.() }),
    });
  } finally {
    await store.close();
  }
}
