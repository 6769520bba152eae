import { expect, test } from "vitest";
import type { Bucket } from "./limit.ts";
import { SHARED_NETWORKS, sharedNetworksOf } from "./shared-networks.ts";

const BUCKET = { by: ["address"], attempts: 10, windowSeconds: 60 } as unknown as Bucket;

/** How many of an address's ten attempts pass. */
function attempts(networks: Readonly<Record<string, number>>, address: string): number {
  const read = SHARED_NETWORKS.read(networks, "config/throttle.ts: THROTTLE.sharedNetworks");
  return sharedNetworksOf(read)!.bucketFor(BUCKET, address).attempts;
}

test.each(["first", "last"])(
  "S202 if several networks contain an address, the largest number counts, even if it is the %s",
  (place) => {
    const networks = [
      ["198.51.100.0/24", 2],
      ["198.51.0.0/16", 30],
      ["198.51.100.7", 4],
    ] as const;
    const sorted = networks.toSorted(([, one], [, other]) => (place === "first" ? other - one : one - other));
    expect(attempts(Object.fromEntries(sorted), "198.51.100.7")).toBe(300);
  },
);

test("S202 the largest network is a /8 for IPv4 and a /16 for IPv6", () => {
  const networks = { "10.0.0.0/8": 2, "2001::/16": 3 };
  expect([attempts(networks, "10.1.2.3"), attempts(networks, "2001::1"), attempts(networks, "192.0.2.1")]).toEqual([
    20, 30, 10,
  ]);
  for (const network of ["10.0.0.0/7", "2000::/15"])
    expect(() => attempts({ [network]: 2 }, "10.1.2.3")).toThrow("is larger than");
});
