import { expect, test } from "vitest";
import { counted } from "./text.ts";

test.each([
  [0, "0 minutes"],
  [1, "1 minute"],
  [2, "2 minutes"],
])("%i is written as %s", (count, words) => {
  expect(counted(count, "minute")).toBe(words);
});
