import { describe, expect, test } from "vitest";
import { AshlarError } from "../support/index.ts";
import { Container } from "./container.ts";

declare module "./container.ts" {
  interface Services {
    "test.number": number;
    "test.list": number[];
    "test.other": number;
  }
}

describe("bind", () => {
  test("a value is handed out as it was bound", () => {
    const list = [1];
    const container = new Container().bind("test.list", list);
    expect(container.make("test.list")).toBe(list);
    expect(container.has("test.list")).toBe(true);
    expect(container.has("test.other")).toBe(false);
  });

  test("a later binding replaces an earlier one, made or not", () => {
    const container = new Container().singleton("test.number", () => 1);
    expect(container.make("test.number")).toBe(1);
    container.bind("test.number", 2);
    expect(container.make("test.number")).toBe(2);
    container.factory("test.number", () => 3);
    expect(container.make("test.number")).toBe(3);
  });

  test("a falsy value is a value", () => {
    const container = new Container().bind("test.number", 0);
    expect(container.make("test.number")).toBe(0);
  });
});

describe("singleton and factory", () => {
  test("a singleton is made when it is first asked for, and once", () => {
    let made = 0;
    const container = new Container().singleton("test.list", () => [++made]);
    expect(made).toBe(0);
    const first = container.make("test.list");
    expect(container.make("test.list")).toBe(first);
    expect(made).toBe(1);
  });

  test("a factory's service is made each time", () => {
    let made = 0;
    const container = new Container().factory("test.list", () => [++made]);
    expect(container.make("test.list")).toEqual([1]);
    expect(container.make("test.list")).toEqual([2]);
  });

  test("a service is made with the container, to ask for others", () => {
    const container = new Container()
      .bind("test.number", 20)
      .singleton("test.other", (services) => services.make("test.number") + 1);
    expect(container.make("test.other")).toBe(21);
  });

  test("what could not be made is tried again the next time", () => {
    let attempts = 0;
    const container = new Container().singleton("test.number", () => {
      attempts++;
      if (attempts === 1) throw new Error("not yet");
      return attempts;
    });
    expect(() => container.make("test.number")).toThrow("not yet");
    expect(container.make("test.number")).toBe(2);
  });
});

describe("errors", () => {
  test("an unknown key names the near ones and where to look", () => {
    const container = new Container().bind("test.number", 1);
    expect(() => container.make("test.nunber" as never)).toThrow(
      new AshlarError(
        "E_UNKNOWN_SERVICE",
        'Nothing is bound to "test.nunber". Did you mean "test.number"? Is the provider that binds it listed in PROVIDERS?',
      ),
    );
  });

  test("a service that needs itself names the circle", () => {
    const container = new Container()
      .singleton("test.number", (services) => services.make("test.other"))
      .singleton("test.other", (services) => services.make("test.number"));
    expect(() => container.make("test.number")).toThrow(
      new AshlarError("E_CIRCULAR_SERVICE", "Circular dependency: test.number → test.other → test.number."),
    );
  });
});
