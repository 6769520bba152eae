import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigurationError } from "../../support/index.ts";
import { Configuration, frozenCopy } from "./configuration.ts";

describe("Configuration", () => {
  test("a section contains the exports of its file, deeply frozen", () => {
    const configuration = new Configuration({ api: { DRIVERS: { jwt: { expires: 5, previousSecrets: ["a"] } } } });
    const section = configuration.section("api") as {
      DRIVERS: { jwt: { expires: number; previousSecrets: string[] } };
    };
    expect(section).toEqual({ DRIVERS: { jwt: { expires: 5, previousSecrets: ["a"] } } });
    expect(() => Object.assign(section.DRIVERS.jwt, { expires: 6 })).toThrow(TypeError);
    expect(() => section.DRIVERS.jwt.previousSecrets.push("b")).toThrow(TypeError);
    expect(configuration.has("api")).toBe(true);
    expect(configuration.has("auth")).toBe(false);
    expect(configuration.names).toEqual(["api"]);
  });

  test("the error for a section that does not exist suggests similar names", () => {
    const configuration = new Configuration({ database: { DATABASES: {} }, api: { DRIVERS: {} } });
    expect(() => configuration.section("databases")).toThrow(
      new ConfigurationError(
        "config/databases.ts",
        "does not exist.",
        'Add the file, or leave out the provider that reads it. Did you mean "database"?',
      ),
    );
  });

  test("an optional section that is missing is empty, and one without any of the expected exports is an error", () => {
    const configuration = new Configuration({ mail: {}, session: { SESSION: 5 }, throttle: { LIMITS: {} } });
    expect(configuration.optionalSection("api", ["DRIVERS"])).toEqual({});
    expect(configuration.optionalSection("mail", ["MAIL"])).toEqual({});
    expect(configuration.optionalSection("session", ["SESSION", "OTHER"])).toEqual({ SESSION: 5 });
    expect(() => configuration.optionalSection("throttle", ["THROTTLE"])).toThrow(
      new ConfigurationError("config/throttle.ts", "does not export THROTTLE.", "Write export const THROTTLE = { … };"),
    );
  });

  test("the names of an object's prototype are not sections", () => {
    const configuration = new Configuration({});
    expect(configuration.has("constructor")).toBe(false);
    expect(() => configuration.section("__proto__")).toThrow(ConfigurationError);
  });
});

describe("frozenCopy", () => {
  test("the original is neither frozen nor shared", () => {
    const given = { list: [{ a: 1 }] };
    const copy = frozenCopy(given);
    given.list[0]!.a = 2;
    given.list.push({ a: 3 });
    expect(copy).toEqual({ list: [{ a: 1 }] });
  });

  test("classes, functions and instances are passed through, unfrozen", () => {
    class User {
      static table = "users";
      name = "Ada";
    }
    const values = {
      model: User,
      make: () => 1,
      date: new Date(0),
      set: new Set([1]),
      pattern: /a/,
      instance: new User(),
    };
    const copy = frozenCopy(values);
    for (const [name, value] of Object.entries(values)) {
      expect(copy[name as keyof typeof values]).toBe(value);
      expect(Object.isFrozen(value)).toBe(false);
    }
    expect(Object.isFrozen(copy)).toBe(true);
  });

  test("a circular reference points into the copy", () => {
    interface Node {
      name: string;
      self?: Node;
    }
    const given: Node = { name: "a" };
    given.self = given;
    const copy = frozenCopy(given);
    expect(copy.self).toBe(copy);
    expect(copy).not.toBe(given);
  });

  test("a member called __proto__ is data", () => {
    const copy = frozenCopy(JSON.parse('{"__proto__":{"polluted":true}}')) as Record<string, unknown>;
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect(copy.polluted).toBeUndefined();
  });

  test("the copy of any JSON value is equal to it and deeply frozen", () => {
    const isFrozen = (value: unknown): boolean =>
      typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen));
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = frozenCopy(value);
        expect(copy).toEqual(value);
        expect(isFrozen(copy)).toBe(true);
      }),
    );
  });
});
