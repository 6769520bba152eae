import { expect, test } from "vitest";
import { ControlledDelay } from "./controlled-delay.ts";

/** With a maximum wait of one second, waits of more than 100 ms are too long, but are tolerated for 500 ms. */
const MAX_MS = 1000;
const MANY = 16;

test("a burst may make everything wait for half of the maximum wait", () => {
  const delay = new ControlledDelay(MAX_MS);
  expect([delay.refuses(101, MANY, 0), delay.refuses(600, MANY, 500)]).toEqual([false, false]);
  expect(delay.stands(500)).toBe(false);
});

test("after that, work that has waited for more than a tenth is refused, and other work is done", () => {
  const delay = new ControlledDelay(MAX_MS);
  delay.refuses(101, MANY, 0);
  expect([delay.refuses(600, MANY, 501), delay.refuses(100, MANY, 502), delay.refuses(101, MANY, 503)]).toEqual([
    true,
    false,
    true,
  ]);
  expect(delay.stands(503)).toBe(true);
});

test("an overload is over once something has waited for no more than half of that", () => {
  const delay = new ControlledDelay(MAX_MS);
  delay.refuses(101, MANY, 0);
  expect([delay.refuses(51, MANY, 600), delay.stands(600)]).toEqual([false, true]);
  expect([delay.refuses(50, MANY, 601), delay.stands(601)]).toEqual([false, false]);
});

test("a queue that stalls again within twice the maximum wait is not a burst, but later it is", () => {
  const delay = new ControlledDelay(MAX_MS);
  delay.refuses(101, MANY, 0);
  delay.refuses(600, MANY, 501);
  delay.refuses(0, MANY, 510);
  expect([delay.refuses(100, MANY, 2509), delay.refuses(101, MANY, 2510)]).toEqual([false, true]);
  delay.refuses(0, MANY, 2520);
  // The standing queue ended at 2520.
  expect([delay.refuses(101, MANY, 4521), delay.stands(5021)]).toEqual([false, false]);
});

test("an overload is also over once nothing waits", () => {
  const delay = new ControlledDelay(MAX_MS);
  delay.refuses(101, MANY, 0);
  delay.emptied();
  expect([delay.stands(600), delay.refuses(300, MANY, 600)]).toEqual([false, false]);
});

test("a few waiting tasks are not refused before the maximum wait", () => {
  const delay = new ControlledDelay(MAX_MS);
  delay.refuses(101, MANY, 0);
  expect([delay.refuses(1000, MANY - 1, 501), delay.refuses(1001, 0, 502)]).toEqual([false, true]);
});

test("work that would join a stalled queue is refused at once, unless few wait or the first has not waited long", () => {
  const delay = new ControlledDelay(MAX_MS);
  expect(delay.refusesBehind(600, MANY, 501)).toBe(false);
  delay.refuses(101, MANY, 0);
  expect([
    delay.refusesBehind(600, MANY, 500),
    delay.refusesBehind(600, MANY, 501),
    delay.refusesBehind(600, MANY - 1, 501),
    delay.refusesBehind(100, MANY, 501),
  ]).toEqual([false, true, false, false]);
});

test("a pause of the whole process refuses nothing by itself", () => {
  const delay = new ControlledDelay(MAX_MS);
  expect([delay.refuses(10, MANY, 0), delay.refuses(30_000, MANY, 30_000)]).toEqual([false, false]);
});

test("the queue isn't calm while work waits too long, or until it is short again", () => {
  const delay = new ControlledDelay(MAX_MS);
  expect([delay.isCalm(50), delay.isCalm(51)]).toEqual([true, false]);
  delay.refuses(101, MANY, 0);
  expect(delay.isCalm(0)).toBe(false);
  delay.refuses(0, 0, 1);
  expect(delay.isCalm(0)).toBe(true);
});
