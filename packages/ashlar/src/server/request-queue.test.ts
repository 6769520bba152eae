import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { RequestQueue } from "./request-queue.ts";

const COST_MS = 10;

/** What has become of requests, by how long each has waited. */
interface Outcome {
  readonly handled: number[];
  readonly refused: number[];
}

/**
 * Adds so many requests in each turn of the event loop, which has time for one.
 *
 * @param turns how many turns there are, each of which takes as long as a request
 */
async function load(perTurn: number, turns: number): Promise<Outcome> {
  let time = Math.ceil(performance.now());
  const clock = vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => clock.mockRestore());
  const addedAt = new Map<IncomingMessage, number>();
  const outcome: Outcome = { handled: [], refused: [] };
  const queue = new RequestQueue({
    maxMs: 1000,
    handle(message) {
      outcome.handled.push(time - addedAt.get(message)!);
      time += COST_MS;
    },
    refuse(message) {
      outcome.refused.push(time - addedAt.get(message)!);
    },
  });
  for (let turn = 0; turn < turns; turn++) {
    for (let count = 0; count < perTurn; count++) {
      const message = new IncomingMessage(new Socket());
      addedAt.set(message, time);
      queue.add(message, new ServerResponse(message), false);
    }
    await nextTurn();
  }
  return outcome;
}

test("S50 while an overload lasts, nothing waits for much longer than a tenth of the limit, whatever a burst may", async () => {
  const { handled } = await load(6, 500);
  const longest = Math.max(...handled.slice(0, 100));
  // The first half of a second could have been a burst.
  expect([longest > 300, longest < 600]).toEqual([true, true]);
  // Sixteen that wait are so few that each is handled.
  expect(Math.max(...handled.slice(100))).toBeLessThanOrEqual(16 * COST_MS);
});

test("S50 what comes behind those that wait too long is refused at once", async () => {
  const { refused } = await load(6, 500);
  const later = refused.slice(-1000);
  expect(later.filter((ms) => ms <= COST_MS).length).toBeGreaterThan(later.length / 2);
});

test("S50 without an overload, nothing is refused, however long it lasts", async () => {
  const { handled, refused } = await load(1, 1000);
  expect([handled.length >= 999, refused]).toEqual([true, []]);
});
