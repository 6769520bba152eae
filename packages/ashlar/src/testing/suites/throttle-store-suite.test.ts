import { expect, test } from "vitest";
import { now } from "../../support/index.ts";
import type { AttemptCounter, ThrottleStore } from "../../throttle/index.ts";
import { throttleStoreSuite } from "./throttle-store-suite.ts";

/** A store with its own clock instead of the framework's. */
function storeBy(clock: () => number): ThrottleStore {
  const buckets = new Map<string, Map<string, { attempts: number; endsAt: number }>>();
  return {
    counter({ name, windowSeconds }): AttemptCounter {
      const windows = buckets.get(name) ?? new Map<string, { attempts: number; endsAt: number }>();
      buckets.set(name, windows);
      const open = (key: string) => {
        const window = windows.get(key);
        return window !== undefined && window.endsAt > clock() ? window : null;
      };
      return {
        async add(key, cost) {
          const window = open(key) ?? { attempts: 0, endsAt: clock() + windowSeconds * 1000 };
          window.attempts += cost;
          windows.set(key, window);
          return { attempts: window.attempts, resetInMs: window.endsAt - clock() };
        },
        async takeBack(key, cost) {
          const window = open(key);
          if (window !== null) window.attempts = Math.max(0, window.attempts - cost);
        },
        async get(key) {
          const window = open(key);
          return window === null ? null : { attempts: window.attempts, resetInMs: window.endsAt - clock() };
        },
        async delete(key) {
          windows.delete(key);
        },
      };
    },
    close() {},
  };
}

/** The failures of a store's tests, by title. */
async function failures(suite: ReturnType<typeof throttleStoreSuite>): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { title, run } of suite) {
    await run().catch((error: Error) => {
      found[title] = error.message;
    });
  }
  return found;
}

test("a store with its own clock passes if elapse moves that clock, and gets a hint otherwise", async () => {
  let moved = 0;
  const make = () => storeBy(() => Date.now() + moved);
  const elapse = (seconds: number): void => {
    moved += seconds * 1000;
  };
  expect(await failures(throttleStoreSuite(make, { elapse }))).toEqual({});
  expect(await failures(throttleStoreSuite(make, { elapse: null }))).toEqual({});
  expect(await failures(throttleStoreSuite(() => storeBy(Date.now)))).toMatchObject({
    "a window begins with the first attempt, and its whole count ends with it": expect.stringContaining("pass elapse"),
  });
});

/** A store with the framework's clock and changed counters. */
function changed(change: (counter: AttemptCounter) => Partial<AttemptCounter>): ThrottleStore {
  const store = storeBy(now);
  const counter: ThrottleStore["counter"] = (bucket) => {
    const made = store.counter(bucket);
    return { ...made, ...change(made) };
  };
  return { counter, close() {} };
}

const KEYS = "any text can be a key, and different texts are different keys";
const DELETED = "a deleted count starts over, and no other does";
const WINDOW = "a window begins with the first attempt, and its whole count ends with it";

/** A counter whose `delete` removes every key that `isChosen` accepts. */
function deleting(counter: AttemptCounter, isChosen: (key: string, given: string) => boolean): Partial<AttemptCounter> {
  const known = new Set<string>();
  return {
    add: (key, cost) => counter.add(known.add(key) && key, cost),
    async delete(given) {
      for (const key of known) if (isChosen(key, given)) await counter.delete(key);
    },
  };
}

test.each<[string, string | string[], (counter: AttemptCounter) => Partial<AttemptCounter>]>([
  [
    "replaces an ended window in two steps",
    "no two concurrent attempts that follow an ended window see the same count",
    (counter) => {
      const known = new Set<string>();
      return {
        async add(key, cost) {
          const isFirst = !known.has(key);
          known.add(key);
          if (!isFirst && (await counter.get(key)) === null) {
            await new Promise((resolve) => setImmediate(resolve));
            await counter.delete(key);
          }
          return counter.add(key, cost);
        },
      };
    },
  ],
  ["deletes the counts of all keys", [DELETED, KEYS], (counter) => deleting(counter, () => true)],
  ["deletes by prefix", KEYS, (counter) => deleting(counter, (key, given) => key.startsWith(given))],
  [
    "deletes whatever the case of letters",
    KEYS,
    (counter) => deleting(counter, (key, given) => key.toLowerCase() === given.toLowerCase()),
  ],
  [
    "deletes with LIKE",
    KEYS,
    (counter) => deleting(counter, (key, given) => (given === "_" ? key.length === 1 : key === given)),
  ],
  [
    "ends every window after a minute",
    "each window ends after its own length, whether or not others are pruned",
    (counter) => {
      const begun = new Map<string, number>();
      return {
        add(key, cost) {
          if (!begun.has(key)) begun.set(key, now());
          return counter.add(key, cost);
        },
        get: async (key) => (now() - (begun.get(key) ?? now()) > 60_000 ? null : counter.get(key)),
      };
    },
  ],
  [
    "says that the next window is as short as the rest of the last one",
    ["each bucket has windows of its own length", WINDOW],
    (counter) => ({ add: async (key, cost) => ({ ...(await counter.add(key, cost)), resetInMs: 15_000 }) }),
  ],
  [
    "says that a window which lasts is over",
    WINDOW,
    (counter) => ({
      async get(key) {
        const count = await counter.get(key);
        return count && { ...count, resetInMs: -5 };
      },
    }),
  ],
  [
    "cannot delete counts that it never stored",
    DELETED,
    (counter) => ({
      async delete(key) {
        if ((await counter.get(key)) === null) throw new Error("There is no such key.");
        await counter.delete(key);
      },
    }),
  ],
  [
    "stops counting far beyond the limit",
    "counting continues beyond the limit",
    (counter) => ({
      async add(key, cost) {
        const count = await counter.get(key);
        return count !== null && count.attempts > 100 ? count : counter.add(key, cost);
      },
    }),
  ],
])("the suite finds a store that %s", async (_, title, change) => {
  expect(Object.keys(await failures(throttleStoreSuite(() => changed(change))))).toEqual([title].flat());
});

const refuse = async (): Promise<never> => {
  throw new Error("The server cannot be reached.");
};

test.each([
  ["add", { attempts: 1, resetInMs: 1000 }],
  ["takeBack", undefined],
  ["get", null],
  ["delete", undefined],
])(
  "the suite finds a store that cannot be reached, and whose %s looks like that of an empty one",
  async (name, answer) => {
    const refusing: AttemptCounter = { add: refuse, takeBack: refuse, get: refuse, delete: refuse };
    const run = (change: object) => {
      const unreachable = (): ThrottleStore => ({ counter: () => ({ ...refusing, ...change }), close() {} });
      const suite = throttleStoreSuite(() => storeBy(Date.now), { elapse: null, unreachable });
      return suite.at(-1)!.run();
    };
    await run({});
    await expect(run({ [name]: async () => answer })).rejects.toThrow(`${name} resolved`);
  },
);
