import { expect, onTestFinished, test, vi } from "vitest";
import { type LoggedLine, loggerInto } from "../../test/support/redis-application.ts";
import { Outage } from "./outage.ts";
import { RedisReason, redisUnavailable } from "./redis-failure.ts";

const AWAY = "Limits count elsewhere until it can be used again.";
const BACK = "Limits count there.";

/** An outage with a clock that the test advances, and its log lines. */
function make() {
  let time = 5000;
  vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => void vi.restoreAllMocks());
  const lines: LoggedLine[] = [];
  const outage = new Outage(loggerInto(lines), { away: AWAY, back: BACK });
  return {
    outage,
    lines,
    said: () => lines.splice(0).map(({ level, msg }) => [level, msg]),
    pass: (ms: number) => {
      time += ms;
    },
    fail: (reason = "the connection was lost") => outage.failed(redisUnavailable(new RedisReason(reason))),
  };
}

const BEGINS = ["warn", `Redis can't be used: the connection was lost. ${AWAY}`];
const ENDS = ["info", `Redis can be used again. ${BACK}`];

test("the log reports its beginning once, with the first reason, and its end once", () => {
  const { outage, said, pass, fail } = make();
  fail();
  fail("the server's memory is full");
  fail();
  expect([outage.isAway, said()]).toEqual([true, [BEGINS]]);
  pass(1000);
  outage.succeeded();
  outage.succeeded();
  expect([outage.isAway, said()]).toEqual([false, [ENDS]]);
  fail();
  expect([outage.isAway, said()]).toEqual([true, [BEGINS]]);
});

test("Redis counts as back when it has worked for a second since the last failure", () => {
  const { outage, said, pass, fail } = make();
  fail();
  pass(999);
  outage.succeeded();
  // Only one node of a cluster may be down.
  fail();
  pass(999);
  outage.succeeded();
  expect([outage.isAway, said()]).toEqual([true, [BEGINS]]);
  pass(1);
  outage.succeeded();
  expect([outage.isAway, said()]).toEqual([false, [ENDS]]);
});

test("a Redis that was never down isn't reported as back", () => {
  const { outage, said } = make();
  outage.succeeded();
  expect([outage.isAway, said()]).toEqual([false, []]);
});
