import { expect, test } from "vitest";
import { isLoopbackAddress, isLoopbackHost } from "../index.ts";

const LOOPBACK = ["localhost", "127.0.0.1", "127.255.0.254"];
const ELSEWHERE = [
  ...["", "localhost.", "localhost.example", "localhost.localdomain", "notlocalhost", "LOCALHOST", "0.0.0.0", "::"],
  ...["10.0.0.1", "192.168.0.1", "127.0.0.1.example", "127.1", "127.0.0.256", "0127.0.0.1", "128.0.0.1", "27.0.0.1"],
  ...["::2", "::ffff:127.0.0.1", "[::2]", "[::ffff:7f00:1]", "[127.0.0.1]:80", "::1%lo", " ::1"],
];

test.each([...LOOPBACK, "::1"])("%j is an address of this machine only", (address) => {
  expect(isLoopbackAddress(address)).toBe(true);
});

test.each([...ELSEWHERE, "shop.localhost", "[::1]"])("%j is not", (address) => {
  expect(isLoopbackAddress(address)).toBe(false);
});

test.each([...LOOPBACK, "[::1]", "shop.localhost", "a.b.localhost"])(
  "browsers open %j on their machine",
  (hostname) => {
    expect(isLoopbackHost(hostname)).toBe(true);
  },
);

test.each(ELSEWHERE)("browsers do not open %j there", (hostname) => {
  expect(isLoopbackHost(hostname)).toBe(false);
});
