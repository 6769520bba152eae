import { describe, expect, test } from "vitest";
import { Route } from "./route.ts";
import { flattenEntries, joinPaths, RouteCollection } from "./route-collection.ts";

const handler = () => null;

describe("a prefix and a path", () => {
  test.each([
    ["", "/a", "/a"],
    ["", "a", "/a"],
    ["", "/", "/"],
    ["", "", "/"],
    ["/", "/a", "/a"],
    ["/api", "/a", "/api/a"],
    ["/api/", "/a", "/api/a"],
    ["api", "a", "/api/a"],
    ["/api", "/", "/api"],
    ["/api", "", "/api"],
    ["/api", "/a/", "/api/a/"],
    ["/@id:int", "?page", "/@id:int/?page"],
    ["/api", "//a", "/api//a"],
  ])("%j and %j are %j", (prefix, path, joined) => {
    expect(joinPaths(prefix, path)).toBe(joined);
  });
});

describe("a list of routes", () => {
  const [a, b, c] = ["/a", "/b", "/c"].map((path) => Route.get(path, handler)) as [
    ReturnType<typeof Route.get>,
    ReturnType<typeof Route.get>,
    ReturnType<typeof Route.get>,
  ];

  test("is flattened in order", () => {
    const foreign: unknown[] = [];
    const routes = flattenEntries([a, [[b], []], new RouteCollection([c])], (entry) => foreign.push(entry));
    expect(routes).toEqual([a, b, c]);
    expect(foreign).toEqual([]);
  });

  test("reports each entry that is not a route", () => {
    const foreign: unknown[] = [];
    const entries = [a, null, "text", [7, { path: "/x" }]] as never;
    expect(flattenEntries(entries, (entry) => foreign.push(entry))).toEqual([a]);
    expect(foreign).toEqual([null, "text", 7, { path: "/x" }]);
  });

  test("a collection cannot be changed through its list or through the list it was created from", () => {
    const list = [a, b];
    const collection = new RouteCollection(list);
    list.push(c);
    expect([...collection]).toEqual([a, b]);
    expect(() => (collection.routes as unknown[]).push(c)).toThrow(TypeError);
  });
});
