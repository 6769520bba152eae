import fc from "fast-check";
import { expect, test } from "vitest";
import { BoundedCache } from "./bounded-cache.ts";

test("a value is created once and kept", () => {
  const cache = new BoundedCache<object>(2);
  const first = cache.get("a", () => ({}));
  expect(
    cache.get("a", () => {
      throw new Error("made again");
    }),
  ).toBe(first);
});

test("the least recently used one is dropped", () => {
  const cache = new BoundedCache<number>(2);
  cache.get("a", () => 1);
  cache.get("b", () => 2);
  cache.get("a", () => 0);
  cache.get("c", () => 3);
  expect(cache.get("a", () => 10)).toBe(1);
  expect(cache.get("b", () => 20)).toBe(20);
  expect(cache.size).toBe(2);
});

test("nothing is kept if creating it throws", () => {
  const cache = new BoundedCache<number>(1);
  cache.get("a", () => 1);
  expect(() =>
    cache.get("b", () => {
      throw new Error("no");
    }),
  ).toThrow("no");
  expect(cache.get("a", () => 2)).toBe(1);
});

test("it never exceeds its limit, and always returns the key's own value", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(fc.string({ maxLength: 2 })), (capacity, keys) => {
      const cache = new BoundedCache<string>(capacity);
      for (const key of keys) {
        expect(cache.get(key, () => `value of ${key}`)).toBe(`value of ${key}`);
        expect(cache.size).toBeLessThanOrEqual(capacity);
      }
    }),
  );
});
