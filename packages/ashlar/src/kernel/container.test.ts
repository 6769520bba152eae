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
  test("make returns the value that was bound", () => {
    const list = [1];
    const container = new Container().bind("test.list", list);
    expect(container.make("test.list")).toBe(list);
    expect(container.has("test.list")).toBe(true);
    expect(container.has("test.other")).toBe(false);
  });

  test("a falsy value can be bound", () => {
    const container = new Container().bind("test.number", 0);
    expect(container.make("test.number")).toBe(0);
  });
});

describe("singleton and factory", () => {
  test("a singleton is created once, on first use", () => {
    let made = 0;
    const container = new Container().singleton("test.list", () => [++made]);
    expect(made).toBe(0);
    const first = container.make("test.list");
    expect(container.make("test.list")).toBe(first);
    expect(made).toBe(1);
  });

  test("a factory creates a new service each time", () => {
    let made = 0;
    const container = new Container().factory("test.list", () => [++made]);
    expect(container.make("test.list")).toEqual([1]);
    expect(container.make("test.list")).toEqual([2]);
  });

  test("a service is created with the container, so that it can use other services", () => {
    const container = new Container()
      .bind("test.number", 20)
      .singleton("test.other", (services) => services.make("test.number") + 1);
    expect(container.make("test.other")).toBe(21);
  });

  test("a singleton whose creation failed is created again on the next use", () => {
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

describe("replace", () => {
  test("a service is replaced, whether it was created or not", () => {
    const container = new Container().singleton("test.number", () => 1);
    container.replace("test.number", () => 2);
    expect(container.make("test.number")).toBe(2);
    container.replace("test.number", () => 3);
    expect(container.make("test.number")).toBe(3);
  });

  test("the replacement is created once, with the container, on first use", () => {
    let created = 0;
    const container = new Container().bind("test.number", 7).factory("test.list", () => []);
    container.replace("test.list", (services) => [services.make("test.number"), ++created]);
    expect(created).toBe(0);
    expect(container.make("test.list")).toEqual([7, 1]);
    expect(container.make("test.list")).toBe(container.make("test.list"));
  });

  test("a service that is not bound cannot be replaced", () => {
    const container = new Container().bind("test.number", 1);
    expect(() => container.replace("test.list", () => [])).toThrow(
      expect.objectContaining({ code: "E_UNKNOWN_SERVICE" }),
    );
    expect(container.has("test.list")).toBe(false);
  });
});

describe("errors", () => {
  test("the error for an unknown key suggests similar keys and where to look", () => {
    const container = new Container().bind("test.number", 1);
    expect(() => container.make("test.nunber" as never)).toThrow(
      new AshlarError(
        "E_UNKNOWN_SERVICE",
        'Nothing is bound to "test.nunber". Did you mean "test.number"? Is the provider that binds it listed in PROVIDERS?',
      ),
    );
  });

  test("the error for a circular dependency shows the cycle", () => {
    const container = new Container()
      .singleton("test.number", (services) => services.make("test.other"))
      .singleton("test.other", (services) => services.make("test.number"));
    expect(() => container.make("test.number")).toThrow(
      new AshlarError("E_CIRCULAR_SERVICE", "Circular dependency: test.number → test.other → test.number."),
    );
  });

  test("the error for a key that is bound twice names the first provider, whose binding stays", () => {
    const bindings = [
      (container: Container) => container.bind("test.number", 2),
      (container: Container) => container.singleton("test.number", () => 2),
      (container: Container) => container.factory("test.number", () => 2),
    ];
    for (const first of bindings) {
      for (const second of bindings) {
        const container = new Container();
        container.boundBy("NumberProvider");
        first(container);
        container.boundBy("OtherProvider");
        const before = container.make("test.number");
        const refused = expect.objectContaining({
          code: "E_DUPLICATE_SERVICE",
          message:
            'OtherProvider: the service "test.number" is already bound by NumberProvider. ' +
            'Choose another key, or replace the service: container.replace("test.number", …).',
        });
        expect(() => second(container)).toThrow(refused);
        expect(container.make("test.number")).toBe(before);
      }
    }
  });
});
