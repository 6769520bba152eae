import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import { HttpContext, type HttpServices, type Middleware, type Next } from "../../http/index.ts";
import { compose, composeWithBody } from "./pipeline.ts";

const SERVICES = { urls: { to: () => "/" }, limits: {}, appUrl: null } as unknown as HttpServices;
const ROUTE = { name: null, pattern: "/@id", methods: ["GET"], middleware: [], respondsWithJson: false };

function context(params: Record<string, string | null> = {}): HttpContext {
  return new HttpContext(new Request("http://localhost/"), SERVICES, { route: ROUTE, params });
}

function recorder(name: string, seen: string[]): Middleware {
  return {
    handle(_context: HttpContext, next: Next, ...args: string[]): unknown {
      seen.push(`${name}(${args.join(",")})`);
      const result = next();
      seen.push(`/${name}`);
      return result;
    },
  };
}

describe("compose", () => {
  test("the first step is outermost, and each receives its arguments", () => {
    const seen: string[] = [];
    const run = compose(
      [
        { middleware: recorder("a", seen), args: [] },
        { middleware: recorder("b", seen), args: ["1"] },
        { middleware: recorder("c", seen), args: ["1", "2", "3"] },
      ],
      () => {
        seen.push("handler");
        return "answer";
      },
    );
    expect(run(context())).toBe("answer");
    expect(seen).toEqual(["a()", "b(1)", "c(1,2,3)", "handler", "/c", "/b", "/a"]);
  });

  test("without steps it returns the handler", () => {
    const handler = () => 1;
    expect(compose([], handler)).toBe(handler);
  });

  test("a step that returns without calling next provides the result", () => {
    const stop: Middleware = { handle: () => "stopped" };
    const run = compose([{ middleware: stop, args: [] }], () => expect.unreachable());
    expect(run(context())).toBe("stopped");
  });

  test("a step can replace the result, await it, and catch errors from later steps", async () => {
    const exclaim: Middleware = { handle: async (_, next) => `${await next()}!` };
    const rescue: Middleware = {
      handle: async (_, next) => {
        try {
          return await next();
        } catch (error) {
          return (error as Error).message;
        }
      },
    };
    const run = compose(
      [
        { middleware: exclaim, args: [] },
        { middleware: rescue, args: [] },
      ],
      () => Promise.reject(new Error("boom")),
    );
    expect(await run(context())).toBe("boom!");
  });

  test("if everything is synchronous, the result is not a promise", () => {
    const run = compose([{ middleware: { handle: (_, next) => next() }, args: [] }], () => 7);
    expect(run(context())).toBe(7);
  });

  test("an argument @name becomes the request's route parameter", () => {
    const seen: string[] = [];
    const run = compose([{ middleware: recorder("a", seen), args: ["x", "@id", "@absent"] }], () => null);
    run(context({ id: "1", absent: null }));
    run(context({ id: "2" }));
    expect(seen).toEqual(["a(x,1,)", "/a", "a(x,2,)", "/a"]);
  });

  test("handle is called with its instance as `this`", () => {
    class Counting implements Middleware {
      count = 0;
      handle(): unknown {
        return ++this.count;
      }
    }
    const run = compose([{ middleware: new Counting(), args: ["a"] }], () => null);
    run(context());
    expect(run(context())).toBe(2);
  });
});

describe("a response that middleware replaces", () => {
  const replacing: Middleware = {
    handle: async (_, next) => {
      await next();
      return "replaced";
    },
  };
  const step = { middleware: replacing, args: [], isEarly: true };

  test.each([
    ["of a handler", compose, (response: Response): unknown => response],
    ["of an asynchronous handler", compose, async (response: Response): Promise<unknown> => response],
    ["behind a body that was read first", composeWithBody, (response: Response): unknown => response],
  ])("S62 has its stream cancelled when the response is closed: %s", async (_, composed, handler) => {
    let cancelled = 0;
    const stream = new ReadableStream({ cancel: () => void cancelled++ });
    const raw = new Request("http://localhost/", { method: "POST" });
    const sent = new EventEmitter();
    Object.assign(raw, { runtime: { node: { res: sent } } });
    const run = composed([step], () => handler(new Response(stream)));
    expect(await run(new HttpContext(raw, SERVICES, { route: ROUTE, params: {} }))).toBe("replaced");
    expect(cancelled).toBe(0);
    sent.emit("close");
    expect(cancelled).toBe(1);
  });
});
