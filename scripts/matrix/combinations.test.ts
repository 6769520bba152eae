import { expect, test } from "vitest";
import { combinations, nameOf, pairsOf } from "./combinations.ts";

const RUNTIMES = ["24.7.0", "24.21.0", "26.10.0"].map((version) => ({ version, path: "" }));

test("every combination of choices is checked once, and with --all in each way of running it", () => {
  const every = combinations(RUNTIMES, true).map(nameOf);
  const chosen = combinations(RUNTIMES, false).map(nameOf);
  const application = (name: string): string => name.split(", ").slice(0, -2).join(", ");
  expect(new Set(chosen.map(application))).toEqual(new Set(every.map(application)));
  expect(chosen).toHaveLength(108);
  expect(new Set(every).size).toBe(648);
});

test("any two choices are checked together", () => {
  const pairs = (all: boolean): Set<string> => new Set(combinations(RUNTIMES, all).flatMap(pairsOf));
  expect(pairs(false)).toEqual(pairs(true));
});
