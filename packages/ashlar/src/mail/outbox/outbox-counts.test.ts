import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Outbox } from "./outbox.ts";
import { OutboxCounts } from "./outbox-counts.ts";
import type { MailSizes } from "./outbox-sizes.ts";

const sizes = (waiting: number, failed: number): MailSizes => {
  return { waiting, failed, oldestSeconds: { account: 0, ordinary: 0, bulk: 0 } };
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a database that doesn't answer is waited for for a second", async () => {
  let looks = 0;
  const counts = new OutboxCounts(() => {
    looks++;
    return new Promise(() => {});
  });
  for (const count of [1, 2]) {
    let isOver = false;
    const refreshed = counts.refresh().then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(999);
    expect([count, isOver]).toEqual([count, false]);
    await vi.advanceTimersByTimeAsync(1);
    await refreshed;
  }
  // The second one joins the query in progress.
  expect([counts.read(), looks, vi.getTimerCount()]).toEqual([null, 1, 0]);
});

/** Counts with fake query results. */
function setUp(find: () => Promise<MailSizes>) {
  let looks = 0;
  const outbox = {
    sizes: () => {
      looks++;
      return find();
    },
  } as unknown as Outbox;
  return { counts: new OutboxCounts(async () => outbox), looks: () => looks };
}

test("a caller that doesn't wait gets the last result, and starts the next check", async () => {
  let waiting = 1;
  const { counts, looks } = setUp(async () => sizes(waiting, 0));
  expect(counts.read()).toBe(null);
  await vi.advanceTimersByTimeAsync(0);
  expect([counts.read(), looks()]).toEqual([sizes(1, 0), 1]);
  waiting = 2;
  await vi.advanceTimersByTimeAsync(4999);
  counts.read();
  await vi.advanceTimersByTimeAsync(0);
  expect([counts.read(), looks()]).toEqual([sizes(1, 0), 1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(counts.read()).toEqual(sizes(1, 0));
  await vi.advanceTimersByTimeAsync(0);
  expect([counts.read(), looks()]).toEqual([sizes(2, 0), 2]);
  await vi.advanceTimersByTimeAsync(5 * 60_000 - 1);
  expect(counts.read()).toEqual(sizes(2, 0));
  await vi.advanceTimersByTimeAsync(5 * 60_000);
  expect(counts.read()).toBe(null);
});

test("counts are unknown once a query takes too long, or fails, and known again with the next", async () => {
  let find: () => Promise<MailSizes> = async () => sizes(1, 2);
  const { counts } = setUp(() => find());
  await counts.refresh();
  expect([counts.read(), vi.getTimerCount()]).toEqual([sizes(1, 2), 0]);
  await vi.advanceTimersByTimeAsync(5000);
  const slow = Promise.withResolvers<MailSizes>();
  find = () => slow.promise;
  const refreshed = counts.refresh();
  await vi.advanceTimersByTimeAsync(1000);
  await refreshed;
  expect(counts.read()).toBe(null);
  slow.resolve(sizes(3, 4));
  await vi.advanceTimersByTimeAsync(0);
  expect(counts.read()).toEqual(sizes(3, 4));
  await vi.advanceTimersByTimeAsync(5000);
  find = () => Promise.reject(new Error("The database is down."));
  await counts.refresh();
  expect([counts.read(), vi.getTimerCount()]).toEqual([null, 0]);
});
