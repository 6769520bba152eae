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

describe("replace", () => {
  test("what is bound is replaced, created or not", () => {
    const container = new Container().singleton("test.number", () => 1);
    container.replace("test.number", () => 2);
    expect(container.make("test.number")).toBe(2);
    container.replace("test.number", () => 3);
    expect(container.make("test.number")).toBe(3);
  });

  test("the replacement is created once, with the container, when it is first asked for", () => {
    let created = 0;
    const container = new Container().bind("test.number", 7).factory("test.list", () => []);
    container.replace("test.list", (services) => [services.make("test.number"), ++created]);
    expect(created).toBe(0);
    expect(container.make("test.list")).toEqual([7, 1]);
    expect(container.make("test.list")).toBe(container.make("test.list"));
  });

  test("what is not bound cannot be replaced", () => {
    const container = new Container().bind("test.number", 1);
    expect(() => container.replace("test.list", () => [])).toThrow(
      expect.objectContaining({ code: "E_UNKNOWN_SERVICE" }),
    );
    expect(container.has("test.list")).toBe(false);
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

  test("a key that is bound twice names who bound it, and keeps its first binding", () => {
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
