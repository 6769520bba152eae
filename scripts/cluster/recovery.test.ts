import { expect, test } from "vitest";
import { type Probe, recovery } from "./recovery.ts";

const probes = (...list: readonly (readonly [sentAt: number, endedAt: number, isOk: boolean])[]): Probe[] =>
  list.map(([sentAt, endedAt, isOk]) => ({ sentAt, endedAt, isOk }));

test.each<[string, number, Probe[], number, number]>([
  ["nothing failed", 15, probes([95, 105, true], [110, 115, true]), 100, 200],
  [
    "some failed in between",
    45,
    probes([95, 105, false], [110, 115, true], [120, 125, false], [140, 145, true]),
    100,
    200,
  ],
  [
    "one was on its way at the next fault",
    25,
    probes([110, 115, false], [120, 125, true], [190, 205, false], [290, 295, true]),
    100,
    200,
  ],
  ["all failed until the next fault", 195, probes([110, 115, false], [210, 215, false], [290, 295, true]), 100, 200],
  ["all failed", Number.POSITIVE_INFINITY, probes([110, 115, false]), 100, Number.POSITIVE_INFINITY],
])("recovery, if %s", (_, expected, list, from, until) => {
  expect(recovery(list, from, until)).toBe(expected);
});
