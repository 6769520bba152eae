import { describe, expect, test } from "vitest";
import { HttpContext, type HttpServices, type Middleware } from "../../http/index.ts";
import { Container } from "../container.ts";
import { isEarly, MiddlewareInstances } from "./route-middleware.ts";

const context = new HttpContext(new Request("http://localhost/"), {} as HttpServices, null);

describe("isEarly", () => {
  const asked: string[][] = [];
  const asking: Middleware = {
    handle: (_, next) => next(),
    beforeBody: (...args) => {
      asked.push(args);
      return args[0] === "early";
    },
  };

  test("a middleware's arguments decide whether it may run before the body is read", () => {
    expect([isEarly(asking, ["early"]), isEarly(asking, ["late"]), isEarly({ handle: () => null }, [])]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("S61 a middleware with a route parameter as an argument is not early, and is not asked", () => {
    asked.length = 0;
    expect([isEarly(asking, ["@name"]), isEarly(asking, ["early", "@name"]), asked]).toEqual([false, false, []]);
  });
});

describe("MiddlewareInstances", () => {
  test("a class is instantiated once, with the container", () => {
    class Takes implements Middleware {
      readonly services: Container;
      constructor(services: Container) {
        this.services = services;
      }
      handle(): unknown {
        return null;
      }
    }
    const container = new Container();
    const instances = new MiddlewareInstances(container);
    const instance = instances.of(Takes) as Takes;
    expect(instance.services).toBe(container);
    expect(instances.of(Takes)).toBe(instance);
  });

  test("a function is called as it is, whether an arrow function or a declaration", () => {
    const instances = new MiddlewareInstances(new Container());
    const arrow = () => "arrow";
    function written(): string {
      return "written";
    }
    expect(instances.of(arrow).handle(context, () => null)).toBe("arrow");
    expect(instances.of(written).handle(context, () => null)).toBe("written");
    expect(instances.of(arrow)).toBe(instances.of(arrow));
  });

  test("a class whose handle is a field is instantiated", () => {
    class Field {
      handle = (): string => "field";
    }
    expect(new MiddlewareInstances(new Container()).of(Field).handle(context, () => null)).toBe("field");
  });
});
