import { afterEach, describe, expect, test, vi } from "vitest";
import { setClock } from "../../support/index.ts";
import type { Bucket } from "../limits/limit.ts";
import { MemoryStore } from "./memory-store.ts";
import type { AttemptCounter } from "./store.ts";

function bucket(windowSeconds: number, name = "login"): Bucket {
  return { name, by: ["address"], attempts: 5, windowSeconds };
}

const START = 1_700_000_000_000;

function travel(seconds: number): void {
  setClock(() => START + seconds * 1000);
}

/** Stops the system's clock until `vi` moves it. */
function fakeSystemClock(): void {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  // From here on, the framework's clock uses the fake one.
  setClock(null);
}

afterEach(() => {
  vi.useRealTimers();
  setClock(null);
});

describe("counting", () => {
  test("adds up by key, and returns how long the window still lasts", async () => {
    travel(0);
    const counter = new MemoryStore().counter(bucket(60));
    expect(await counter.add("a", 1)).toEqual({ attempts: 1, resetInMs: 60_000 });
    travel(20);
    expect(await counter.add("a", 3)).toEqual({ attempts: 4, resetInMs: 40_000 });
    expect(await counter.add("b", 1)).toEqual({ attempts: 1, resetInMs: 60_000 });
    expect(await counter.get("a")).toEqual({ attempts: 4, resetInMs: 40_000 });
  });

  test("reading does not count, and a key that was never counted has no count", async () => {
    const store = new MemoryStore();
    const counter = store.counter(bucket(60));
    expect(await counter.get("a")).toBeNull();
    expect(store.size).toBe(0);
  });

  test("two buckets share nothing", async () => {
    const store = new MemoryStore();
    const [one, other] = [store.counter(bucket(60, "one")), store.counter(bucket(60, "other"))];
    await one.add("a", 1);
    expect(await other.get("a")).toBeNull();
  });

  test("deleting starts over", async () => {
    const store = new MemoryStore();
    const counter = store.counter(bucket(60));
    await counter.add("a", 4);
    await counter.delete("a");
    await counter.delete("never there");
    expect([await counter.get("a"), store.size]).toEqual([null, 0]);
    expect((await counter.add("a", 1)).attempts).toBe(1);
  });

  test("only counted attempts can be given back, and no count falls below 0", async () => {
    const store = new MemoryStore();
    const counter = store.counter(bucket(60));
    await counter.takeBack("a", 1);
    expect([await counter.get("a"), store.size]).toEqual([null, 0]);
    travel(0);
    await counter.add("a", 3);
    travel(20);
    await counter.takeBack("a", 1);
    expect(await counter.get("a")).toEqual({ attempts: 2, resetInMs: 40_000 });
    expect(await counter.add("a", 1)).toEqual({ attempts: 3, resetInMs: 40_000 });
    await counter.takeBack("a", 5);
    expect(await counter.get("a")).toEqual({ attempts: 0, resetInMs: 40_000 });
    expect(await counter.add("a", 1)).toEqual({ attempts: 1, resetInMs: 40_000 });
    travel(59.999);
    await counter.takeBack("a", 1);
    expect(await counter.get("a")).toEqual({ attempts: 0, resetInMs: 1 });
    travel(60);
    await counter.takeBack("a", 1);
    expect([await counter.get("a"), store.size]).toEqual([null, 0]);
  });

  test("S33 of many concurrent attempts, no two get the same count", async () => {
    const counter = new MemoryStore().counter(bucket(60));
    const counts = await Promise.all(Array.from({ length: 500 }, () => counter.add("a", 1)));
    expect(counts.map(({ attempts }) => attempts).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 500 }, (_, index) => index + 1),
    );
  });
});

describe("the window", () => {
  test("S33 ends a fixed time after the first attempt, however many follow", async () => {
    const counter = new MemoryStore().counter(bucket(60));
    for (let second = 0; second < 60; second += 5) {
      travel(second);
      await counter.add("a", 100);
    }
    travel(59.999);
    expect(await counter.get("a")).toEqual({ attempts: 1200, resetInMs: 1 });
    travel(60);
    expect(await counter.get("a")).toBeNull();
    expect(await counter.add("a", 1)).toEqual({ attempts: 1, resetInMs: 60_000 });
  });

  test("S33 does not exceed its length if the clock is set back", async () => {
    const counter = new MemoryStore().counter(bucket(60));
    travel(100_000);
    await counter.add("a", 5);
    travel(0);
    expect(await counter.get("a")).toBeNull();
    expect(await counter.add("a", 1)).toEqual({ attempts: 1, resetInMs: 60_000 });
  });

  test("ends by the system's clock unless a test travels in time", async () => {
    fakeSystemClock();
    const counter = new MemoryStore().counter(bucket(1));
    await counter.add("a", 5);
    vi.advanceTimersByTime(999);
    expect((await counter.add("a", 1)).attempts).toBe(6);
    vi.advanceTimersByTime(1);
    expect((await counter.add("a", 1)).attempts).toBe(1);
  });

  test("lasts while the framework's clock stands still, whatever the system's says", async () => {
    fakeSystemClock();
    travel(0);
    const counter = new MemoryStore().counter(bucket(1));
    await counter.add("a", 5);
    vi.advanceTimersByTime(1020);
    expect(await counter.add("a", 1)).toEqual({ attempts: 6, resetInMs: 1000 });
  });

  test("keys whose window has ended are dropped when others are added", async () => {
    const store = new MemoryStore();
    const counter = store.counter(bucket(60));
    travel(0);
    for (let key = 0; key < 50; key++) await counter.add(`early ${key}`, 1);
    travel(30);
    for (let key = 0; key < 50; key++) await counter.add(`late ${key}`, 1);
    expect(store.size).toBe(100);
    travel(60);
    await counter.add("latest", 1);
    expect(store.size).toBe(51);
  });
});

describe("memory", () => {
  test("S33 a flood of different keys stays within the limit, and the newest are kept", async () => {
    const store = new MemoryStore(1000);
    const counter = store.counter(bucket(60));
    for (let key = 0; key < 20_000; key++) await counter.add(`key ${key}`, 1);
    expect(store.size).toBe(1000);
    expect(await counter.get("key 18999")).toBeNull();
    expect((await counter.get("key 19000"))?.attempts).toBe(1);
    expect((await counter.get("key 19999"))?.attempts).toBe(1);
  });

  test("S33 the default limit is a hundred thousand keys", async () => {
    const store = new MemoryStore();
    const counter = store.counter(bucket(60));
    for (let key = 0; key <= 100_000; key++) await counter.add(`key ${key}`, 1);
    expect(store.size).toBe(100_000);
  });

  test("S33 in a flood, a new key only checks windows that have ended", async () => {
    let looks = 0;
    const counter = new MemoryStore(100).counter(bucket(60));
    setClock(() => {
      looks++;
      return START;
    });
    for (let key = 0; key < 1000; key++) await counter.add(`key ${key}`, 1);
    // When the oldest window and the new one end.
    expect(looks).toBeLessThanOrEqual(2000);
  });

  test.each(["first", "last"])("S33 a flood of one bucket, even the %s, does not affect the others", async (place) => {
    const store = new MemoryStore(1000);
    const counters = [store.counter(bucket(900, "one")), store.counter(bucket(900, "other"))];
    const [victim, flooded] = (place === "last" ? counters : counters.toReversed()) as [AttemptCounter, AttemptCounter];
    for (let key = 0; key < 100; key++) await victim.add(`key ${key}`, 5);
    for (let key = 0; key < 5000; key++) await flooded.add(`key ${key}`, 1);
    expect(store.size).toBe(1000);
    const kept = await Promise.all(Array.from({ length: 100 }, (_, key) => victim.get(`key ${key}`)));
    expect(kept.map((count) => count?.attempts)).toEqual(Array.from({ length: 100 }, () => 5));
  });

  test("counting an existing key evicts no other", async () => {
    const store = new MemoryStore(2);
    const counter = store.counter(bucket(60));
    await counter.add("a", 1);
    await counter.add("b", 1);
    for (let again = 0; again < 10; again++) await counter.add("b", 1);
    expect([(await counter.get("a"))?.attempts, (await counter.get("b"))?.attempts]).toEqual([1, 11]);
  });

  test("closing discards everything, and counting afterwards starts over", async () => {
    const store = new MemoryStore();
    const counter = store.counter(bucket(60));
    await counter.add("a", 5);
    store.close();
    expect(store.size).toBe(0);
    expect((await counter.add("a", 1)).attempts).toBe(1);
  });

  test("S50 no timer keeps the process alive", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const before = timers();
    const counter = new MemoryStore().counter(bucket(86_400));
    for (let key = 0; key < 20; key++) await counter.add(`key ${key}`, 1);
    expect(timers()).toBe(before);
  });
});
