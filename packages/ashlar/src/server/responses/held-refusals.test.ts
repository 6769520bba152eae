import { beforeEach, expect, test, vi } from "vitest";
import { HeldRefusals } from "./held-refusals.ts";

const MAX_MS = 1000;
const HELD_MS = 250;
const MOST = 1024;

let sent: number[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  sent = [];
  return () => {
    vi.useRealTimers();
  };
});

function hold(held: HeldRefusals, ...numbers: number[]): void {
  for (const number of numbers) held.add(() => void sent.push(number));
}

test("S150 each refusal is held back for a quarter of the maximum wait, and they are sent in order", () => {
  const held = new HeldRefusals(MAX_MS);
  hold(held, 1, 2);
  vi.advanceTimersByTime(100);
  hold(held, 3);
  vi.advanceTimersByTime(HELD_MS - 101);
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(sent).toEqual([1, 2]);
  vi.advanceTimersByTime(99);
  expect(sent).toEqual([1, 2]);
  vi.advanceTimersByTime(1);
  expect(sent).toEqual([1, 2, 3]);
  hold(held, 4);
  vi.advanceTimersByTime(HELD_MS);
  expect(sent).toEqual([1, 2, 3, 4]);
  expect(vi.getTimerCount()).toBe(0);
});

test("without a maximum wait, nothing is held back", () => {
  hold(new HeldRefusals(0), 1);
  expect([sent, vi.getTimerCount()]).toEqual([[1], 0]);
});

test("only a limited number is held back, and further ones are sent at once", () => {
  const held = new HeldRefusals(MAX_MS);
  const numbers = Array.from({ length: MOST }, (_, index) => index);
  hold(held, ...numbers);
  expect(sent).toEqual([]);
  hold(held, -1);
  expect(sent).toEqual([-1]);
  vi.advanceTimersByTime(HELD_MS);
  expect(sent).toEqual([-1, ...numbers]);
});

test("at the end, everything is sent, and nothing is held back anymore", () => {
  const held = new HeldRefusals(MAX_MS);
  hold(held, 1, 2);
  held.release();
  expect([sent, vi.getTimerCount()]).toEqual([[1, 2], 0]);
  hold(held, 3);
  expect(sent).toEqual([1, 2, 3]);
});
