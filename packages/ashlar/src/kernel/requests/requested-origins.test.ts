import { describe, expect, test } from "vitest";
import { OwnHosts } from "../../http/index.ts";
import { RequestedOrigins, underSameOrigin } from "./requested-origins.ts";

const SHOP = "https://shop.example";
const BLOG = "https://blog.example";

const originsOf = (url: string, hosts: OwnHosts = new OwnHosts([])): RequestedOrigins => {
  return new RequestedOrigins(hosts, () => url);
};

describe("an application inside of another one", () => {
  test("each has its own origin, and an application that contains neither has none", async () => {
    const [outer, inner, other] = [originsOf(SHOP), originsOf(BLOG), originsOf("https://other.example")];
    const all = () => [outer.current, inner.current, other.current];
    const found = await outer.run("https://acme.shop.example", async () => {
      const nested = await inner.run("https://acme.blog.example", async () => {
        await Promise.resolve();
        return [all(), [outer.currentOfSite, inner.currentOfSite, other.currentOfSite]];
      });
      return [...nested, all()];
    });
    const both = ["https://acme.shop.example", "https://acme.blog.example", null];
    expect(found).toEqual([both, both, ["https://acme.shop.example", null, null]]);
    expect(all()).toEqual([null, null, null]);
  });

  test("code under the inner one's URL does not change the outer one's origin, even when it runs later", () => {
    const [outer, inner] = [originsOf(SHOP), originsOf(BLOG)];
    const later = outer.run("https://acme.shop.example", () => {
      return inner.run(null, () => underSameOrigin(() => [outer.current, inner.current]));
    });
    const known = ["https://acme.shop.example", null];
    expect(inner.run("https://beta.blog.example", later)).toEqual(known);
    expect(later()).toEqual(known);
  });

  test("the innermost of an application's origins applies until its work is done", () => {
    const origins = originsOf(SHOP);
    const found = origins.run("https://acme.shop.example", () => {
      return [origins.run("https://beta.shop.example", () => origins.current), origins.current];
    });
    expect(found).toEqual(["https://beta.shop.example", "https://acme.shop.example"]);
  });
});

/** Values that APP.hosts might return by mistake: a row, a row count, or a list of names. */
const NOT_TRUE: readonly unknown[] = [false, null, undefined, 0, 1, "acme", {}, []];

describe("a host that a function admits", () => {
  const current = (answer: unknown): Promise<unknown> => {
    const origins = originsOf(SHOP, new OwnHosts(() => answer as boolean));
    const request = new Request("https://acme.example/");
    const failed = (error: unknown) => Promise.reject(error);
    return Promise.resolve(origins.runFor(request, async () => origins.current, failed));
  };

  test.each(NOT_TRUE.map((answer) => [answer]))(
    "S186 isn't one for which it returns %j, now or later",
    async (answer) => {
      expect([await current(answer), await current(Promise.resolve(answer))]).toEqual([null, null]);
    },
  );

  test("is one for which it returns true, now or later", async () => {
    const admitted = "https://acme.example";
    expect([await current(true), await current(Promise.resolve(true))]).toEqual([admitted, admitted]);
  });
});
