import { expect, test } from "vitest";
import { bodyLimitBytes } from "./body-limit.ts";

test.each([
  [1, 1],
  ["1kb", 1024],
  ["0.3kb", 307],
  ["1.5mb", 1_572_864],
  ["2gb", 2_147_483_648],
  [2_147_483_648, 2_147_483_648],
])("the limit %j is %i bytes", (limit, bytes) => {
  expect(bodyLimitBytes(limit)).toBe(bytes);
});

test.each(["2.001gb", 2_147_483_649, "0.0001kb", 0])("the limit %j is refused", (limit) => {
  expect(() => bodyLimitBytes(limit)).toThrow(expect.objectContaining({ code: "E_INVALID_ROUTE" }));
});
