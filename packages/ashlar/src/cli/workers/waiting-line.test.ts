import type { Socket } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MAX_WAITING, WaitingLine } from "./waiting-line.ts";

const MS = 30_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function sockets(count: number) {
  return Array.from({ length: count }, () => ({ destroy: vi.fn() }));
}

function setUp(waiting: readonly object[]) {
  const closed: number[] = [];
  const line = new WaitingLine(MS, (count) => void closed.push(count));
  for (const socket of waiting) line.add(socket as Socket);
  return { line, closed };
}

test("connections that have waited for too long are closed, and counted", () => {
  const waiting = sockets(3);
  const { closed, line } = setUp(waiting);
  vi.advanceTimersByTime(MS - 1);
  expect(closed).toEqual([]);
  vi.advanceTimersByTime(1);
  expect([closed, waiting.map(({ destroy }) => destroy.mock.calls.length)]).toEqual([[3], [1, 1, 1]]);
  expect([line.take(), vi.getTimerCount()]).toEqual([[], 0]);
});

test("those that a worker takes are not closed, in the order in which they came", () => {
  const waiting = sockets(2);
  const { closed, line } = setUp(waiting);
  expect(line.take()).toEqual(waiting);
  expect(line.take()).toEqual([]);
  vi.advanceTimersByTime(MS * 2);
  expect([closed, vi.getTimerCount()]).toEqual([[], 0]);
  expect(waiting.some(({ destroy }) => destroy.mock.calls.length > 0)).toBe(false);
});

test("if the queue is full, the longest-waiting connection is closed for the next", () => {
  const waiting = sockets(MAX_WAITING + 1);
  const { line } = setUp(waiting.slice(0, MAX_WAITING));
  expect(waiting.some(({ destroy }) => destroy.mock.calls.length > 0)).toBe(false);
  line.add(waiting.at(-1) as unknown as Socket);
  expect(waiting.filter(({ destroy }) => destroy.mock.calls.length > 0)).toEqual([waiting[0]]);
  expect(line.take()).toEqual(waiting.slice(1));
});
