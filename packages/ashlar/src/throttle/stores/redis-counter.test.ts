import { expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../../../test/support/free-port.ts";
import { emptyApplication, type LoggedLine, saidOfRedis } from "../../../test/support/redis-application.ts";
import { sqlite } from "../../../test/support/services.ts";
import type { RedisLease } from "../../redis/index.ts";
import { AshlarError } from "../../support/index.ts";
import { createRateLimitsTable, databaseStore, memoryStore } from "../index.ts";
import { RedisStore, type RedisStoreSettings, redisStore } from "./redis-store.ts";

const UNAVAILABLE = new AshlarError("E_REDIS_UNAVAILABLE", "Redis can't be used: the connection was lost.");
const WINDOW_MS = 60_000;

/** A counter with a fake Redis and a fake other store, whose responses the test controls. */
async function make() {
  const lines: LoggedLine[] = [];
  const { container } = await emptyApplication(lines);
  const redis = { prefix: "shop:", script: vi.fn(), command: vi.fn(), connect: vi.fn() };
  const release = vi.fn();
  const other = { add: vi.fn(), takeBack: vi.fn(), get: vi.fn(), delete: vi.fn() };
  const lease = { connection: redis, release } as unknown as RedisLease;
  const store = new RedisStore(lease, { counter: () => other, close() {} }, container);
  const counter = store.counter({ name: "login", by: ["address"], attempts: 5, windowSeconds: WINDOW_MS / 1000 });
  return { store, counter, redis, other, release, said: () => saidOfRedis(lines) };
}

const inOther = (attempts: number) => ({ attempts, resetInMs: 7 });

test.each([
  ["more", [3, 1000], inOther(5), inOther(5)],
  ["as much", [3, 1000], inOther(3), { attempts: 3, resetInMs: 1000 }],
  ["less", [3, 1000], inOther(2), { attempts: 3, resetInMs: 1000 }],
  ["nothing", [3, 1000], null, { attempts: 3, resetInMs: 1000 }],
  ["all", null, inOther(1), inOther(1)],
  ["nothing, as Redis has,", null, null, null],
])(
  "S33 while Redis can be read but not changed, and the other store has %s, the higher count applies",
  async (_, there, here, found) => {
    const { counter, redis, other } = await make();
    redis.script.mockRejectedValueOnce(UNAVAILABLE);
    await counter.add("a", 1);
    redis.script.mockResolvedValueOnce(there);
    other.get.mockResolvedValueOnce(here);
    expect(await counter.get("a")).toEqual(found);
  },
);

test("while Redis works, the other store is not used", async () => {
  const { counter, redis, other, said } = await make();
  redis.script.mockResolvedValue([3, 1000]);
  expect([await counter.add("a", 1), await counter.get("a")]).toEqual(
    [1, 2].map(() => ({ attempts: 3, resetInMs: 1000 })),
  );
  await counter.takeBack("a", 1);
  await counter.delete("a");
  for (const method of Object.values(other)) expect(method).not.toHaveBeenCalled();
  expect(said()).toEqual([]);
});

test("an application error is not an outage: it is thrown, and nothing counts elsewhere", async () => {
  const { counter, redis, other, said } = await make();
  const mistake = new TypeError("a mistake");
  redis.script.mockRejectedValue(mistake);
  redis.command.mockRejectedValue(mistake);
  await expect(counter.add("a", 1)).rejects.toBe(mistake);
  await expect(counter.get("a")).rejects.toBe(mistake);
  await expect(counter.takeBack("a", 1)).rejects.toBe(mistake);
  await expect(counter.delete("a")).rejects.toBe(mistake);
  for (const method of Object.values(other)) expect(method).not.toHaveBeenCalled();
  expect(said()).toEqual([]);
});

test.each([
  [0, 1],
  [1, 1],
  [WINDOW_MS, WINDOW_MS],
  [WINDOW_MS + 5000, WINDOW_MS],
])(
  "a window with %i ms left ends in %i ms: always eventually, and never later than its maximum",
  async (left, resetInMs) => {
    const { counter, redis } = await make();
    redis.script.mockResolvedValue([2, left]);
    expect(await counter.add("a", 1)).toEqual({ attempts: 2, resetInMs });
  },
);

test("S33 while Redis is down, each operation is done in the other store", async () => {
  const { counter, redis, other } = await make();
  redis.script.mockRejectedValue(UNAVAILABLE);
  redis.command.mockRejectedValue(UNAVAILABLE);
  other.add.mockResolvedValue(inOther(4));
  other.get.mockResolvedValue(inOther(4));
  expect([await counter.add("a", 2), await counter.get("a")]).toEqual([inOther(4), inOther(4)]);
  await counter.takeBack("a", 3);
  await counter.delete("a");
  const calls = Object.entries(other).map(([name, { mock }]) => [name, ...mock.calls]);
  expect(calls).toEqual([
    ["add", ["a", 2]],
    ["takeBack", ["a", 3]],
    ["get", ["a"]],
    ["delete", ["a"]],
  ]);
});

test("Redis counts as back once an attempt was counted there, not once it can be read, and the other store is no longer used", async () => {
  let time = 5000;
  vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => void vi.restoreAllMocks());
  const { counter, redis, other, said } = await make();
  redis.script.mockRejectedValueOnce(UNAVAILABLE);
  await counter.add("a", 1);
  time += 1000;
  redis.script.mockResolvedValue([3, 1000]);
  await counter.get("a");
  await counter.takeBack("a", 1);
  await counter.delete("a");
  expect(said()).toHaveLength(1);
  await counter.add("a", 1);
  expect(said().slice(1)).toEqual(["Redis can be used again. Limits count there."]);
  other.get.mockReset();
  await counter.get("a");
  expect(other.get).not.toHaveBeenCalled();
});

test("an application error makes startup fail, and closing a store releases its connection", async () => {
  const { store, redis, release } = await make();
  const mistake = new TypeError("a mistake");
  redis.connect.mockRejectedValue(mistake);
  await expect(store.connect!()).rejects.toBe(mistake);
  expect(release).not.toHaveBeenCalled();
  await store.close();
  expect(release).toHaveBeenCalledTimes(1);
});

test.each<[string, RedisStoreSettings["whenAway"], string]>([
  ["no other store", "refuse", "Requests that have a limit are refused"],
  ["the database", databaseStore(), "Limits count in the database"],
  ["memory", memoryStore(), "Limits count in the memory of each process, so each allows all attempts,"],
  ["the default", undefined, "Limits count in the database, or else in the memory of each process,"],
  ["one of its own", { counter: () => null as never, close() {} }, "Limits count in the other store"],
])(
  "S33 an application starts without Redis, and the log says what happens in the meantime: %s",
  async (_, whenAway, text) => {
    const lines: LoggedLine[] = [];
    const { container } = await emptyApplication(lines);
    const own = await sqlite.open({}, { name: "rate-limits", fill: ({ kysely }) => createRateLimitsTable(kysely) });
    onTestFinished(() => own.drop());
    container.bind("database", own.database);
    const settings = { url: `redis://127.0.0.1:${await freePort()}`, ...(whenAway !== undefined && { whenAway }) };
    const store = redisStore(settings)(container);
    onTestFinished(() => store.close());
    await store.connect!();
    expect(saidOfRedis(lines)).toEqual([expect.stringContaining(`. ${text} until it can be used again.`)]);
  },
);
