import { expect, test } from "vitest";
import { SettingsReader } from "./settings-reader.ts";

const reader = (values: Record<string, unknown>) => new SettingsReader(values, "config/x.ts: X", ["a", "b"]);

test("a setting that is left out, null or empty text has its default", () => {
  for (const values of [{}, { a: undefined }, { a: null }, { a: "" }]) {
    expect([reader(values).raw("a"), reader(values).text("a", "b"), reader(values).integer("a", 3, [1, 5])]).toEqual([
      undefined,
      "b",
      3,
    ]);
  }
  expect([reader({ a: 0 }).raw("a"), reader({ a: false }).boolean("a", true)]).toEqual([0, false]);
});

test("a number may be each of its bounds, and nothing beyond them", () => {
  for (const value of [1, 5, 2.5]) expect(reader({ a: value }).number("a", 3, [1, 5])).toBe(value);
  for (const value of [0.999, 5.001, Number.NaN, "3"]) {
    expect(() => reader({ a: value }).number("a", 3, [1, 5])).toThrow(/X\.a.* is not a number from 1 to 5/s);
  }
  expect(() => reader({ a: 2.5 }).integer("a", 3, [1, 5])).toThrow(/is not a whole number/);
});
