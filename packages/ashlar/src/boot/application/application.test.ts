import { randomBytes } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import type { HttpContext, Next } from "../../http/index.ts";
import { HttpKernel } from "../../kernel/pipeline/http-kernel.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";
import { env } from "../environment/environment.ts";
import { createLogger } from "../log/create-logger.ts";
import type { Application } from "./application.ts";
import { type ApplicationOptions, createApplication } from "./create-application.ts";
import { Provider, type ProviderClass } from "./provider.ts";

declare module "../../http/exchange/context.ts" {
  interface HttpContext {
    readonly cart: { readonly of: string | null };
    readonly nothing: undefined;
  }
}

declare module "../../kernel/container.ts" {
  interface Services {
    "test.clock": { readonly time: number };
  }
}

const make = (options: ApplicationOptions): Promise<Application> =>
  createApplication({ environment: { APP_ENV: "test" }, ...options });

const ask = async (application: Application, path = "/"): Promise<string> =>
  (await application.fetch(new Request(`http://localhost${path}`))).text();

function recorded(name: string, seen: string[], failing: string[] = []): ProviderClass {
  const step = async (what: string): Promise<void> => {
    await null;
    seen.push(`${name}.${what}`);
    if (failing.includes(what)) throw new Error(`${name}.${what} failed`);
  };
  return class Recorded extends Provider {
    override register = (): Promise<void> => step("register");
    override boot = (): Promise<void> => step("boot");
    override ready = (): Promise<void> => step("ready");
    override shutdown = (): Promise<void> => step("shutdown");
  };
}

describe("boot", () => {
  test("providers all register, then all boot, then all become ready, in order; they shut down once, in reverse order", async () => {
    const seen: string[] = [];
    const application = await make({ providers: [recorded("a", seen), recorded("b", seen)] });
    expect(seen).toEqual(["a.register", "b.register", "a.boot", "b.boot", "a.ready", "b.ready"]);
    await Promise.all([application.shutdown(), application.shutdown()]);
    await application.shutdown();
    expect(seen.slice(6)).toEqual(["b.shutdown", "a.shutdown"]);
  });

  test("with two applications in one process, each one's providers boot, prune and shut down in its own environment", async () => {
    const seen: string[] = [];
    const step = async (what: string): Promise<void> => {
      await null;
      seen.push(`${env("SITE")} ${what}`);
    };
    class Reading extends Provider {
      override boot = (): Promise<void> => step("boots");
      override prune = (): Promise<Record<string, number>> => step("prunes").then(() => ({}));
      override shutdown = (): Promise<void> => step("ends");
    }
    const site = (SITE: string) => make({ environment: { APP_ENV: "test", SITE }, providers: [Reading] });
    const [one, other] = [await site("One"), await site("Other")];
    await one.prune();
    await other.prune();
    await Promise.all([one.shutdown(), other.shutdown()]);
    expect(seen).toEqual(["One boots", "Other boots", "One prunes", "Other prunes", "One ends", "Other ends"]);
  });

  test("register comes before the routes are compiled, boot after, middleware and controllers last", async () => {
    const seen: string[] = [];
    class Checks {
      constructor(container: Application["container"]) {
        seen.push(`middleware made, clock ${container.make("test.clock").time}`);
      }
      handle(_: HttpContext, next: Next): unknown {
        return next();
      }
      checkArguments(...args: string[]): void {
        seen.push(`arguments ${args.join()}`);
      }
    }
    class Kernel extends HttpKernel {
      override routeMiddleware = { web: [], checks: [Checks] };
      override registerRoutes(): void {
        seen.push("registerRoutes");
      }
    }
    class Home {
      constructor() {
        seen.push("controller made");
      }
      show(): string {
        return "home";
      }
    }
    class Clock extends Provider {
      override register(): void {
        this.application.container.bind("test.clock", { time: 5 });
        expect(() => this.application.router).toThrow(AshlarError);
        expect(() => this.application.container.make("router")).toThrow("use it in a provider's boot()");
        seen.push("register");
      }
      override boot(): void {
        seen.push(`boot, ${this.application.container.make("router").routes.length} route`);
      }
    }
    const application = await make({
      kernel: Kernel,
      providers: [Clock],
      routes: [Route.get("/", [Home, "show"]).middleware("checks:a,b")],
    });
    expect(seen).toEqual([
      "registerRoutes",
      "register",
      "boot, 1 route",
      "middleware made, clock 5",
      "arguments a,b",
      "controller made",
    ]);
    expect(await ask(application)).toBe("home");
  });

  test("the container has the application, its configuration, its log and its routes", async () => {
    const application = await make({ config: { shop: { SHOP: { open: true } } } });
    const { container } = application;
    expect(container.make("application")).toBe(application);
    expect(container.make("config").section("shop")).toEqual({ SHOP: { open: true } });
    expect(container.make("logger")).toBe(application.logger);
    expect(container.make("router")).toBe(application.router);
    expect(application.environment).toBe("test");
  });

  test.each(["register", "boot", "ready"])(
    "if a provider's %s fails, every provider that has registered is shut down, and the error is thrown",
    async (what) => {
      const seen: string[] = [];
      const providers = [recorded("a", seen), recorded("b", seen), recorded("c", seen, [what]), recorded("d", seen)];
      await expect(make({ providers })).rejects.toThrow(`c.${what} failed`);
      const shutDown = seen.filter((entry) => entry.endsWith("shutdown"));
      const all = ["d.shutdown", "c.shutdown", "b.shutdown", "a.shutdown"];
      expect(shutDown).toEqual(what === "register" ? all.slice(2) : all);
    },
  );

  test("a boot that fails because of a route shuts the providers down too", async () => {
    const seen: string[] = [];
    const routes = [Route.get("/", () => "x").middleware("unheard")];
    await expect(make({ providers: [recorded("a", seen)], routes })).rejects.toThrow(
      'the middleware "unheard" is unknown',
    );
    expect(seen).toEqual(["a.register", "a.boot", "a.ready", "a.shutdown"]);
  });
});

test("listen resolves once every provider's listening hook has finished", async () => {
  const seen: string[] = [];
  class Greeting extends Provider {
    override async listening(): Promise<void> {
      await turn();
      seen.push("greeted");
    }
  }
  const application = await make({ providers: [Greeting] });
  onTestFinished(() => application.shutdown());
  await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  expect(seen).toEqual(["greeted"]);
});

test.for([
  { environment: "development", members: {} },
  { environment: "production", members: { url: expect.stringMatching(/^http:/) as string } },
] as const)("in $environment, the log says once where the application listens", async ({ environment, members }) => {
  const lines: Record<string, unknown>[] = [];
  const log = { level: "info", requests: false } as const;
  const application = await make({
    environment: {
      APP_ENV: environment,
      APP_URL: "https://shop.example",
      APP_KEY: randomBytes(32).toString("base64url"),
    },
    config: { app: { APP: { name: "Shop" } } },
    logger: createLogger(
      { name: "Shop", environment, log },
      { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
    ),
  });
  onTestFinished(() => application.shutdown());
  const { url } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  const common = { level: "info", time: expect.any(String) as string, app: "Shop" };
  expect(lines).toEqual([{ ...common, ...members, msg: `Shop is listening on ${url}` }]);
});

describe("shutdown", () => {
  test("a provider that fails or never finishes is logged, and does not stop the others from shutting down", async () => {
    const seen: string[] = [];
    const lines: Record<string, unknown>[] = [];
    class Endless extends Provider {
      override shutdown(): Promise<void> {
        seen.push("endless");
        return new Promise(() => {});
      }
    }
    const application = await make({
      providers: [recorded("a", seen), Endless, recorded("b", seen, ["shutdown"])],
      config: { app: { APP: { server: { shutdownTimeoutSeconds: 0.05 } } } },
      logger: createLogger(
        { name: "Shop", environment: "test", log: { level: "info", requests: false } },
        { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
      ),
    });
    await application.shutdown();
    expect(seen.slice(6)).toEqual(["b.shutdown", "endless", "a.shutdown"]);
    expect(lines.map(({ provider, msg }) => [provider, msg])).toEqual([
      ["Recorded", "A provider could not be shut down."],
      ["Endless", "A provider could not be shut down."],
      [undefined, "The shutdown could not finish everything in 0.05 seconds. It cut off: 1 provider."],
    ]);
  });

  test("a provider whose boot failed logs a failed shutdown as debug, not as an error", async () => {
    const logged: unknown[] = [];
    const logger = createLogger(
      { name: "Shop", environment: "test", log: { level: "debug", requests: false } },
      { write: (line) => void logged.push((JSON.parse(line) as { level: unknown }).level) },
    );
    const providers = [recorded("a", [], ["shutdown"]), recorded("b", [], ["boot", "shutdown"])];
    await expect(make({ providers, logger })).rejects.toThrow("b.boot failed");
    expect(logged).toEqual(["debug", "error"]);
  });

  test("requests are refused with 503 after a shutdown", async () => {
    const application = await make({ routes: [Route.get("/", () => "x")] });
    await application.shutdown();
    const response = await application.fetch(new Request("http://localhost/"));
    expect([response.status, response.headers.get("retry-after"), response.headers.get("connection")]).toEqual([
      503,
      "5",
      "close",
    ]);
    expect(await response.text()).toContain("The site is about to restart. Try again in a moment.");
  });
});

describe("contextProperty", () => {
  test("the property is created on first use, once per context, and receives the context", async () => {
    let made = 0;
    const application = await make({
      routes: [
        Route.get("/used/@name", (context) => ({ same: Object.is(context.cart, context.cart), of: context.cart.of })),
        Route.get("/unused", () => "x"),
        Route.get("/nothing", (context) => [context.nothing, context.nothing].length),
      ],
    });
    application.contextProperty("cart", ({ request }) => {
      made++;
      return { of: request.param("name") };
    });
    application.contextProperty("nothing", () => {
      made += 100;
      return undefined;
    });
    await ask(application, "/unused");
    expect(made).toBe(0);
    expect(await ask(application, "/used/a")).toBe('{"same":true,"of":"a"}');
    expect(await ask(application, "/used/b")).toBe('{"same":true,"of":"b"}');
    expect(made).toBe(2);
    await ask(application, "/nothing");
    expect(made).toBe(102);
  });

  test("the property belongs to one application", async () => {
    const routes = [Route.get("/", (context) => String(context.cart))];
    const one = await make({ routes });
    const other = await make({ routes });
    one.contextProperty("cart", () => ({ of: "one", toString: () => "one" }));
    expect(await ask(one)).toBe("one");
    expect(await ask(other)).toBe("undefined");
  });

  test("a property that fails to be created is created again on the next use", async () => {
    let attempts = 0;
    const application = await make({
      routes: [
        Route.get("/", (context) => {
          try {
            return context.cart;
          } catch {
            return context.cart;
          }
        }),
      ],
    });
    application.contextProperty("cart", () => {
      attempts++;
      if (attempts === 1) throw new Error("not yet");
      return { of: "second" };
    });
    expect(await ask(application)).toBe('{"of":"second"}');
  });

  test.each(["request", "response", "services", "currentUser", "startedResponse", "constructor"])(
    "the name %s is reserved",
    async (name) => {
      const application = await make({});
      expect(() => application.contextProperty(name as "cart", () => ({ of: null }))).toThrow(
        new AshlarError(
          "E_INVALID_CONFIGURATION",
          `The context already has a property "${name}". Choose another name.`,
        ),
      );
    },
  );

  test("a name can be used only once", async () => {
    const application = await make({});
    application.contextProperty("cart", () => ({ of: "a" }));
    expect(() => application.contextProperty("cart", () => ({ of: "b" }))).toThrow("already");
  });

  test("the property cannot be assigned to", async () => {
    const application = await make({
      routes: [
        Route.get("/", (context) => {
          (context as { cart: unknown }).cart = "stolen";
        }),
      ],
    });
    application.contextProperty("cart", () => ({ of: "a" }));
    expect((await application.fetch(new Request("http://localhost/"))).status).toBe(500);
  });
});

describe("S24 requests do not see each other's data", () => {
  test("S24 thousands of interleaved requests each keep their own input, user, response, property and route", async () => {
    const pause = () =>
      new Promise((resolve) => (Math.random() < 0.5 ? setImmediate(resolve) : queueMicrotask(() => resolve(null))));
    class Kernel extends HttpKernel {
      override httpMiddleware = [
        async (context: HttpContext, next: Next) => {
          await pause();
          context.response.header("x-http", context.request.getPath());
          return next();
        },
      ];
      override routeMiddleware = {
        web: [
          async (context: HttpContext, next: Next) => {
            context.currentUser = { id: context.request.param("id") } as never;
            await pause();
            const result = await next();
            await pause();
            return result;
          },
        ],
        tagged: [
          async (context: HttpContext, next: Next, tag: string | undefined) => {
            await pause();
            context.response.cookie("tag", tag ?? "");
            return next();
          },
        ],
      };
    }
    const handler = async (context: HttpContext) => {
      const first = context.cart.of;
      await pause();
      const { request } = context;
      await pause();
      return {
        id: request.param("id"),
        input: request.input("q"),
        user: (request.user() as { id: string } | null)?.id,
        cart: [first, context.cart.of],
      };
    };
    const application = await make({
      kernel: Kernel,
      routes: [
        Route.get("/a/@id", handler).middleware("tagged:@id"),
        Route.post("/a/@id", handler).middleware("tagged:post"),
      ],
    });
    application.contextProperty("cart", ({ request }) => ({ of: request.param("id") }));
    const one = async (index: number): Promise<void> => {
      const id = String(index);
      const init = index % 2 === 0 ? {} : { method: "POST", body: new URLSearchParams({ q: `q${id}` }) };
      const response = await application.fetch(new Request(`http://localhost/a/${id}?q=q${id}`, init));
      expect([
        response.headers.get("x-http"),
        response.headers.getSetCookie()[0]!.split(";")[0],
        await response.json(),
      ]).toEqual([
        `/a/${id}`,
        `tag=${index % 2 === 0 ? id : "post"}`,
        { id, input: `q${id}`, user: id, cart: [id, id] },
      ]);
    };
    for (let batch = 0; batch < 10; batch++) {
      await Promise.all(Array.from({ length: 300 }, (_, index) => one(batch * 300 + index)));
    }
  });
});
