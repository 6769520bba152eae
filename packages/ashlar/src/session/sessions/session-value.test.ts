import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AshlarError } from "../../support/index.ts";
import { checkKey, toSessionValue } from "./session-value.ts";

const ALLOWED = "A session holds what JSON can hold: text, finite numbers, booleans, null, lists and plain objects.";

function refusal(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof AshlarError && error.code === "E_SESSION") return error.message;
    throw error;
  }
  return "it was accepted";
}

describe("values", () => {
  test("any JSON is stored unchanged", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        // JSON itself does not distinguish 0 from -0.
        const text = JSON.stringify(value);
        fc.pre(!/"(__proto__|constructor|prototype)":/.test(text));
        expect(JSON.stringify(toSessionValue("key", value))).toBe(text);
      }),
    );
  });

  test("the copy is a new object, frozen to any depth, and without undefined members", () => {
    const value = { list: [{ a: 1 }], left: undefined };
    const copy = toSessionValue("cart", value) as typeof value;
    value.list[0]!.a = 2;
    expect(copy).toStrictEqual({ list: [{ a: 1 }] });
    expect(() => copy.list.push({ a: 3 })).toThrow(TypeError);
    expect(() => Object.assign(copy.list[0]!, { a: 4 })).toThrow(TypeError);
  });

  class Cart {}

  test.each<[unknown, string]>([
    [undefined, `The session's value "cart" is of type undefined. ${ALLOWED}`],
    [() => 1, `The session's value "cart" is of type function. ${ALLOWED}`],
    [1n, `The session's value "cart" is of type bigint. ${ALLOWED}`],
    [Number.NaN, `The session's value "cart" is NaN. ${ALLOWED}`],
    [new Date(0), `The session's value "cart" is an instance of Date. ${ALLOWED}`],
    [new Map(), `The session's value "cart" is an instance of Map. ${ALLOWED}`],
    [{ items: [1, new Cart()] }, `The session's value "cart.items.1" is an instance of Cart. ${ALLOWED}`],
    [{ total: Number.POSITIVE_INFINITY }, `The session's value "cart.total" is Infinity. ${ALLOWED}`],
    [[undefined], `The session's value "cart.0" is of type undefined. ${ALLOWED}`],
    [Object.create({}), `The session's value "cart" is an instance of Object. ${ALLOWED}`],
    [Object.create(Object.create(null)), `The session's value "cart" is an instance of a class. ${ALLOWED}`],
  ])("%o is refused with a message that says where it is", (value, message) => {
    expect(refusal(() => toSessionValue("cart", value))).toBe(message);
  });

  test("32 levels of lists and objects are accepted, and no more", () => {
    const nested = (levels: number, around: (value: unknown) => unknown): unknown =>
      levels === 0 ? "the innermost" : around(nested(levels - 1, around));
    for (const around of [(value: unknown) => [value], (value: unknown) => ({ value })]) {
      expect(toSessionValue("cart", nested(33, around))).toEqual(nested(33, around));
      expect(refusal(() => toSessionValue("cart", nested(34, around)))).toContain("is nested deeper than 32 levels.");
    }
  });

  test("a circular value is refused", () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(refusal(() => toSessionValue("cart", circle))).toContain("is nested deeper than 32 levels.");
  });

  test.each(["__proto__", "constructor", "prototype"])("S43 a member called %s is refused at any depth", (name) => {
    const hostile: unknown = JSON.parse(`{"a":[{"${name}":{"isAdmin":true}}]}`);
    const problem = `The session's value "cart.a.0" has a member whose name could lead to a prototype. ${ALLOWED}`;
    expect(refusal(() => toSessionValue("cart", hostile))).toBe(problem);
    expect({}).not.toHaveProperty("isAdmin");
  });
});

describe("keys", () => {
  test.each(["cart", "url.intended", "a b", "ключ", "x".repeat(128)])("%j is a key", (key) => {
    expect(refusal(() => checkKey(key))).toBe("it was accepted");
  });

  test.each(["", "__proto__", "constructor", "prototype", "__old", "__", "x".repeat(129)])("S43 refuses %j", (key) => {
    expect(refusal(() => checkKey(key))).toBe(
      `${JSON.stringify(key)} cannot be a key of the session: keys have 1 to 128 characters and do not begin with "__".`,
    );
  });

  test.each([null, undefined, 7, ["cart"], { length: 1 }])("a key that is not text, such as %j, is refused", (key) => {
    expect(refusal(() => checkKey(key as unknown as string))).toContain("cannot be a key of the session");
  });
});
