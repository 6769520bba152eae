import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Executor } from "../dialect/executor.ts";
import { ReplicaLag } from "./replica-lag.ts";

const [ONE, TWO] = [{}, {}] as [Executor, Executor];

let time = 0;
beforeEach(() => {
  time = 1000;
  vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => void vi.restoreAllMocks());
});

/** The replicas' answers about the requested positions, which are times on the primary. */
function lagOf(reached: (executor: Executor, position: number) => Promise<boolean | null>) {
  const asked: number[] = [];
  const following = {
    position: async (): Promise<string | null> => String(time),
    hasReached: async (executor: Executor, position: string) => {
      if (executor === ONE) asked.push(Number(position));
      return await reached(executor, Number(position));
    },
  };
  const lag = new ReplicaLag(following, 10);
  const told: (readonly [string, boolean])[] = [];
  const check = (atMs: number) => {
    time = atMs;
    return lag.check([ONE, TWO], (executor, isBehind) => {
      told.push([executor === ONE ? "one" : "two", isBehind]);
    });
  };
  return { lag, following, asked, told, check };
}

test("a replica is queried for the newest position that it should have reached, and not before there is one", async () => {
  const { asked, check } = lagOf(async () => true);
  for (let at = 1000; at <= 15_000; at += 2000) await check(at);
  expect(asked).toEqual([1000, 3000, 5000]);
  await check(60_000);
  expect(asked).toEqual([1000, 3000, 5000, 15_000]);
});

test("a replica that hasn't reached it is late, and a replica that can't report it is neither late nor current", async () => {
  const { told, check } = lagOf(async (executor) => (executor === TWO ? null : time > 20_000));
  await check(1000);
  await check(11_000);
  await check(21_000);
  expect(told).toEqual([
    ["one", true],
    ["one", false],
  ]);
});

test("the lag of a replica that can't be asked is unknown, and it is asked again", async () => {
  const { lag, following, told, check } = lagOf(async (executor) => {
    if (executor === ONE) throw new Error("away");
    await nextTurn();
    return false;
  });
  await check(1000);
  await check(11_000);
  expect(told).toEqual([["two", true]]);
  following.position = () => Promise.reject(new Error("away"));
  await check(21_000);
  following.position = async () => null;
  await check(31_000);
  expect([told.length, lag.isDue]).toEqual([1, false]);
  time = 33_000;
  expect(lag.isDue).toBe(true);
});

test("it is due again after a fifth of a replica's allowed lag, and not while the last response is still pending", async () => {
  const { lag, following, check } = lagOf(async () => true);
  expect(lag.isDue).toBe(true);
  const answer = Promise.withResolvers<string>();
  following.position = () => answer.promise;
  const checking = check(1000);
  time = 90_000;
  expect(lag.isDue).toBe(false);
  answer.resolve("1000");
  await checking;
  expect(lag.isDue).toBe(true);
  await check(100_000);
  expect(lag.isDue).toBe(false);
  time = 101_999;
  expect(lag.isDue).toBe(false);
  time = 102_000;
  expect(lag.isDue).toBe(true);
});
