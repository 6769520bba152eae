import { expect, test } from "vitest";
import { activeMiddleware, areMiddlewareNames } from "./compile-routes.ts";

test("the order is kept, and a repeated entry stays only at its first position", () => {
  expect(activeMiddleware(["web", "auth", "guard:jwt", "auth", "guard:web"], [])).toEqual([
    "web",
    "auth",
    "guard:jwt",
    "guard:web",
  ]);
});

test("a full entry removes only itself, a bare name removes every entry with that name", () => {
  const names = ["web", "guard", "guard:jwt", "guard:web", "guardian"];
  expect(activeMiddleware(names, ["guard:jwt"])).toEqual(["web", "guard", "guard:web", "guardian"]);
  expect(activeMiddleware(names, ["guard"])).toEqual(["web", "guardian"]);
  expect(activeMiddleware(names, names)).toEqual([]);
});

test("neither list is changed, and the result is frozen", () => {
  const names = Object.freeze(["a", "b", "a"]);
  expect(Object.isFrozen(activeMiddleware(names, Object.freeze(["b"])))).toBe(true);
});

test("a name is text with something before its colon", () => {
  expect(areMiddlewareNames(["auth", "guard:jwt", "throttle:a:b", "x:"])).toBe(true);
  for (const name of ["", " ", ":jwt", " :jwt", 7, null, undefined, () => null]) {
    expect(areMiddlewareNames(["auth", name])).toBe(false);
  }
});
