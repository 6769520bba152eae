import { expect, test } from "vitest";
import { readPasskeysSettings } from "./settings.ts";

test("the domain is that of APP_URL, or one above it", () => {
  const read = (domain: string) => readPasskeysSettings({ domain }, "https://www.shop.example").domain;
  expect([read("www.shop.example"), read("shop.example")]).toEqual(["www.shop.example", "shop.example"]);
  for (const domain of ["other.example", "hop.example", "a.www.shop.example"]) {
    expect(() => read(domain)).toThrow(`domain is ${domain}, but APP_URL is at www.shop.example`);
  }
  expect(() => read("https://shop.example")).toThrow("a domain in lower case");
});

test("everything has a default", () => {
  const defaults = { domain: null, relatedOrigins: [], createsAfterPassword: false };
  expect(readPasskeysSettings(undefined, "https://shop.example")).toEqual(defaults);
});

test("related origins are origins", () => {
  const read = (origin: string) => readPasskeysSettings({ relatedOrigins: [origin] }, null).relatedOrigins;
  for (const origin of ["https://shop.example", "http://localhost:5173", `android:apk-key-hash:${"a".repeat(43)}`]) {
    expect(read(origin)).toEqual([origin]);
  }
  for (const origin of ["http://shop.example", "https://shop.example/", "shop.example", "*", "https://*.example"]) {
    expect(() => read(origin)).toThrow("an origin");
  }
});
