import { expect, test } from "vitest";
import { truncatedAddress } from "./truncated-address.ts";

test.each([
  ["203.0.113.77", "203.0.113.0"],
  ["10.0.0.0", "10.0.0.0"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1::"],
  ["2001:db8::1", "2001:db8::"],
  ["::1", "::"],
  ["fe80::1%eth0", "fe80::"],
  ["", null],
  ["unix:", null],
])("%j is cut to %j", (address, expected) => {
  expect(truncatedAddress(address)).toBe(expected);
});
