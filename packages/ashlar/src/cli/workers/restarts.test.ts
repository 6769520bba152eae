import { expect, test } from "vitest";
import { type Death, Restarts } from "./restarts.ts";

const FAILED: Death = { hasServed: false, servedMs: 0, isLast: false };
const EARLY: Death = { hasServed: true, servedMs: 9_999, isLast: false };
const HEALTHY: Death = { hasServed: true, servedMs: 10_000, isLast: false };

test("the first death is replaced at once, and further ones after growing pauses", () => {
  const restarts = new Restarts();
  const pauses = Array.from({ length: 6 }, () => restarts.after(EARLY));
  expect(pauses).toEqual([0, 500, 1000, 2000, 2000, 2000]);
});

test("while no worker is left, the pause is short, because connections wait for it", () => {
  const restarts = new Restarts();
  const pauses = Array.from({ length: 6 }, () => restarts.after({ ...EARLY, isLast: true }));
  expect(pauses).toEqual([0, 500, 1000, 1000, 1000, 1000]);
  expect(restarts.after(EARLY)).toBe(2000);
  expect(restarts.after({ ...FAILED, isLast: true })).toBe(30_000);
});

test("the death of a worker that was healthy counts as the first", () => {
  const restarts = new Restarts();
  expect([EARLY, EARLY, HEALTHY, EARLY].map((death) => restarts.after(death))).toEqual([0, 500, 0, 500]);
});

test("failed boots have longer pauses", () => {
  const restarts = new Restarts();
  for (let count = 0; count < 5; count++) restarts.after(EARLY);
  expect([FAILED, FAILED, FAILED].map((death) => restarts.after(death))).toEqual([8000, 16_000, 30_000]);
});

test("five failed boots in a row are abandoned, and a successful one resets the count", () => {
  const restarts = new Restarts();
  expect([EARLY, FAILED, FAILED, FAILED, FAILED].map((death) => restarts.after(death))).toEqual([
    0, 500, 1000, 2000, 4000,
  ]);
  restarts.booted();
  expect(Array.from({ length: 5 }, () => restarts.after(FAILED)).at(-1)).toBeNull();
  expect(new Restarts().after(FAILED)).toBe(0);
});
