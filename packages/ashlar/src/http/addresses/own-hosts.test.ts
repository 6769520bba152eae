import { describe, expect, test } from "vitest";
import { OwnHosts, parseHosts } from "./own-hosts.ts";

describe("a list of hosts", () => {
  test("has each as browsers write it", () => {
    expect(parseHosts(["Shop.Example", "*.Shop.example", "bücher.example", "*.localhost", "10.0.0.7"])).toEqual([
      "shop.example",
      "*.shop.example",
      "xn--bcher-kva.example",
      "*.localhost",
      "10.0.0.7",
    ]);
  });

  test.each([
    "",
    "*",
    "*.",
    "https://shop.example",
    "shop.example:8443",
    "shop.example/app",
    "shop .example",
    "ada@shop.example",
    "a.*.example",
    "sh*p.example",
    "[::1]",
    "_invalid host_",
  ])("is refused with %j, which is not a host", (entry) => {
    expect(parseHosts(["shop.example", entry])).toContain(`contains ${JSON.stringify(entry)}`);
  });

  test.each(["*.example", "*.co.uk", "*.github.io", "*.10.0.0.7"])("S186 is refused with %j", (entry) => {
    expect(parseHosts([entry])).toBe(`contains ${JSON.stringify(entry)}: hosts there belong to anyone.`);
  });

  test("S186 a wildcard stands for exactly one label", () => {
    const hosts = new OwnHosts(["*.shop.example", "other.example"]);
    const asked = [
      "a.shop.example",
      "other.example",
      "shop.example",
      "a.b.shop.example",
      "a.other.example",
      ".shop.example",
    ];
    expect(asked.filter((host) => hosts.include(host))).toEqual(["a.shop.example", "other.example"]);
  });
});

test("S186 a function is only called with names", async () => {
  const asked: string[] = [];
  const hosts = new OwnHosts(async (host) => asked.push(host) > 0);
  for (const host of ["a.shop.example", "10.0.0.7", "[::1]", "a..b", "x".repeat(64), "_", ""])
    await hosts.include(host);
  expect(asked).toEqual(["a.shop.example", "_"]);
});
