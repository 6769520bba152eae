import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { RequestQueue } from "./request-queue.ts";

const COST_MS = 10;

/** How long each request has waited, by its outcome. */
interface Outcome {
  readonly handled: number[];
  readonly refused: number[];
}

/**
 * Adds this many requests in each turn of the event loop, which has time for only one.
 *
 * @param turns the number of turns, each of which takes as long as a request
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

test("S50 during an overload, nothing waits much longer than a tenth of the limit, though a burst may", async () => {
  const { handled } = await load(6, 500);
  const longest = Math.max(...handled.slice(0, 100));
  // For the first half of a second, this could have been a burst.
  expect([longest > 300, longest < 600]).toEqual([true, true]);
  // With at most sixteen waiting requests, all of them are handled.
  expect(Math.max(...handled.slice(100))).toBeLessThanOrEqual(16 * COST_MS);
});

test("S50 connections behind those that wait too long are refused at once", async () => {
  const { refused } = await load(6, 500);
  const later = refused.slice(-1000);
  expect(later.filter((ms) => ms <= COST_MS).length).toBeGreaterThan(later.length / 2);
});

test("S50 without an overload, nothing is refused, however long it lasts", async () => {
  const { handled, refused } = await load(1, 1000);
  expect([handled.length >= 999, refused]).toEqual([true, []]);
});

/**
 * A queue with a limit of one second. Its clock advances only with each handled request, and when the test advances it.
 */
function stoppedQueue({ costMs = 0 } = {}) {
  let time = Math.ceil(performance.now());
  const clock = vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => clock.mockRestore());
  const handledAt: number[] = [];
  const refusedMs: number[] = [];
  const startedAt = time;
  const queue = new RequestQueue({
    maxMs: 1000,
    handle() {
      handledAt.push(time - startedAt);
      time += costMs;
    },
    refuse: (_message, _response, _waits, ageMs) => void refusedMs.push(ageMs),
  });
  return {
    queue,
    handledAt,
    refusedMs,
    pass(ms: number): void {
      time += ms;
    },
    connect(acceptedMsAgo: number | null): Socket {
      const socket = new Socket();
      queue.connected(socket, acceptedMsAgo === null ? null : time - acceptedMsAgo);
      return socket;
    },
    send(socket: Socket): void {
      const message = new IncomingMessage(socket);
      queue.add(message, new ServerResponse(message), false);
    },
  };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn();
}

const MS_AGO = 1500;

test.each([
  { acceptedMsAgo: MS_AGO, isRefused: true },
  { acceptedMsAgo: null, isRefused: false },
])("S150 a request's wait in another process counts: %o", async ({ acceptedMsAgo, isRefused }) => {
  const { queue, refusedMs, handledAt, connect, send } = stoppedQueue({ costMs: 30 });
  const sockets = Array.from({ length: 20 }, () => connect(acceptedMsAgo));
  // Data that was sent earlier is read in the next turn.
  await turns(1);
  for (const socket of sockets) send(socket);
  while (queue.length > 0) await turns(1);
  expect([refusedMs.length > 0, refusedMs.length + handledAt.length]).toEqual([isRefused, 20]);
  expect(refusedMs.filter((ms) => ms < MS_AGO)).toEqual([]);
});

test("S150 only the first request of a connection has waited in another process", async () => {
  const { refusedMs, handledAt, connect, send, pass } = stoppedQueue();
  const socket = connect(MS_AGO);
  send(socket);
  await turns(1);
  // After waits of more than half a second, it is an overload, in which requests that have waited for more than a
  // second are refused.
  pass(600);
  send(socket);
  await turns(2);
  expect([handledAt.length, refusedMs]).toEqual([2, []]);
});

test("S150 a connection that sends nothing for some turns was not waiting, whenever it was accepted", async () => {
  const { queue, refusedMs, handledAt, connect, send } = stoppedQueue({ costMs: 30 });
  const sockets = Array.from({ length: 20 }, () => connect(MS_AGO));
  await turns(10);
  for (const socket of sockets) send(socket);
  while (queue.length > 0) await turns(1);
  expect([handledAt.length, refusedMs]).toEqual([20, []]);
});

test("S150 requests are handled every ten milliseconds, even if new connections keep coming", async () => {
  const { handledAt, connect, send, pass } = stoppedQueue();
  for (let turn = 0; turn < 40; turn++) {
    send(connect(null));
    await turns(1);
    pass(1);
  }
  expect([...new Set(handledAt)]).toEqual([0, 10, 20, 30]);
});

test("S50 once a turn has handled requests for ten milliseconds, the remaining requests wait for the next one", async () => {
  const { queue, handledAt, connect, send } = stoppedQueue({ costMs: 6 });
  const socket = connect(null);
  for (let count = 0; count < 5; count++) send(socket);
  expect([handledAt, queue.length]).toEqual([[0, 6], 3]);
  await turns(1);
  expect([handledAt, queue.length]).toEqual([[0, 6, 12, 18], 1]);
});

test("S50 a refused request is not also handled", async () => {
  const { queue, refusedMs, handledAt, connect, send } = stoppedQueue({ costMs: 10 });
  const socket = connect(null);
  let sent = 0;
  for (let turn = 0; turn < 200; turn++) {
    for (let count = 0; count < 6; count++) {
      send(socket);
      sent++;
    }
    await turns(1);
  }
  while (queue.length > 0) await turns(1);
  expect([refusedMs.length > 0, refusedMs.length + handledAt.length]).toEqual([true, sent]);
  // Each request has its waiting time.
  expect(refusedMs.filter((ms) => ms < 0 || ms > 700)).toEqual([]);
});

test("S50 each of thousands of waiting requests is handled or refused once", async () => {
  const { queue, refusedMs, handledAt, connect, send } = stoppedQueue({ costMs: 1 });
  const socket = connect(null);
  for (let count = 0; count < 3000; count++) send(socket);
  while (queue.length > 0) await turns(1);
  expect(refusedMs.length + handledAt.length).toBe(3000);
  // One request per millisecond, for as long as a burst may last.
  expect(handledAt.slice(0, 600)).toEqual(Array.from({ length: 600 }, (_, index) => index));
});
