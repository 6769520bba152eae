import { expect, test } from "vitest";
import { isDeveloperHost, showsErrorDetails } from "./developer-host.ts";

function accepts(url: string, host: string | null, appUrl: string | null = null): boolean {
  return isDeveloperHost(new Request(url, host === null ? {} : { headers: { host } }), appUrl);
}

test.each([
  "localhost",
  "localhost:3000",
  "LocalHost:80",
  "localhost.",
  "localhost.:3000",
  "shop.localhost:3000",
  "127.0.0.1",
  "127.8.9.10:1",
  "[::1]",
  "[0:0:0:0:0:0:0:1]:3000",
])("S55 %s is loopback", (host) => {
  expect(accepts("http://localhost/", host)).toBe(true);
});

test.each([
  "",
  "evil.example",
  "localhost.evil.example",
  "notlocalhost",
  "127.0.0.1.evil.example",
  "127.0.0.1.nip.io:3000",
  "0.0.0.0:3000",
  "10.0.0.5",
  "[::2]",
  "[::]",
  "localhost:3000@evil.example",
  "localhost/evil.example",
  "localhost, evil.example",
  "localhost evil.example",
])("S55 %j is not loopback", (host) => {
  expect(accepts("http://localhost/", host)).toBe(false);
});

test("S55 the host of APP_URL is accepted on any port and in any case, and no similar host is", () => {
  const appUrl = "https://shop.example:8443";
  for (const host of ["shop.example", "SHOP.example:1", "shop.example."]) {
    expect(accepts("http://localhost/", host, appUrl)).toBe(true);
    expect(accepts("http://localhost/", host, null)).toBe(false);
  }
  for (const host of ["www.shop.example", "shop.example.evil", "example"]) {
    expect(accepts("http://localhost/", host, appUrl)).toBe(false);
  }
});

test("S55 the host of the URL and that of the header must both qualify", () => {
  expect(accepts("http://localhost:3000/", null)).toBe(true);
  expect(accepts("http://[::1]/", null)).toBe(true);
  expect(accepts("http://evil.example/", null)).toBe(false);
  // A trusted proxy changes the host of the URL, but not the header.
  expect(accepts("http://localhost/", "evil.example")).toBe(false);
  expect(accepts("http://evil.example/", "localhost")).toBe(false);
});

test.each(["development", "test"] as const)(
  "S55 in %s, error details are shown on the developer's hosts",
  (environment) => {
    const appUrl = "https://shop.example";
    expect(showsErrorDetails(new Request("http://localhost/"), environment, appUrl)).toBe(true);
    expect(showsErrorDetails(new Request("http://shop.example/"), environment, appUrl)).toBe(true);
    expect(showsErrorDetails(new Request("http://evil.example/"), environment, appUrl)).toBe(false);
  },
);

test("S55 in production, error details aren't shown on any host", () => {
  for (const url of ["http://localhost/", "https://shop.example/"]) {
    expect(showsErrorDetails(new Request(url), "production", "https://shop.example")).toBe(false);
  }
});
