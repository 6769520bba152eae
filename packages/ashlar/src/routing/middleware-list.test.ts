import { expect, test } from "vitest";
import { activeMiddleware, areMiddlewareNames } from "./middleware-list.ts";

test("the order stays, and each text stands once, at its first place", () => {
  expect(activeMiddleware(["web", "auth", "guard:jwt", "auth", "guard:web"], [])).toEqual([
    "web",
    "auth",
    "guard:jwt",
    "guard:web",
  ]);
});

test("an exact text takes away itself, a name every text of that name", () => {
  const names = ["web", "guard", "guard:jwt", "guard:web", "guardian"];
  expect(activeMiddleware(names, ["guard:jwt"])).toEqual(["web", "guard", "guard:web", "guardian"]);
  expect(activeMiddleware(names, ["guard"])).toEqual(["web", "guardian"]);
  expect(activeMiddleware(names, names)).toEqual([]);
});

test("neither list is changed, and the answer cannot be", () => {
  const names = Object.freeze(["a", "b", "a"]);
  expect(Object.isFrozen(activeMiddleware(names, Object.freeze(["b"])))).toBe(true);
});

test("a name is text, and there is something before its colon", () => {
  expect(areMiddlewareNames(["auth", "guard:jwt", "throttle:a:b", "x:"])).toBe(true);
  for (const name of ["", " ", ":jwt", " :jwt", 7, null, undefined, () => null]) {
    expect(areMiddlewareNames(["auth", name])).toBe(false);
  }
});
