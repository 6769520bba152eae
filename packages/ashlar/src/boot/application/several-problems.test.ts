import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { DatabaseProvider } from "../../database/index.ts";
import { HttpKernel } from "../../kernel/index.ts";
import { Route } from "../../routing/index.ts";
import { SessionProvider } from "../../session/index.ts";
import { AshlarError, integer, SeveralProblemsError, settings } from "../../support/index.ts";
import { ThrottleProvider } from "../../throttle/index.ts";
import { type ApplicationOptions, createApplication } from "./create-application.ts";
import { Provider } from "./provider.ts";

const KEY = "q3Zr8pYt5Wn1Lx7Vc0Bm4Kj6Hg2Fd9Sa-_QwErTyUiO";
const DATABASE = pathToFileURL(join(import.meta.dirname, "../../database/index.ts")).href;

/** The error that a boot fails with, and its lines. */
async function failure(
  options: ApplicationOptions,
): Promise<{ readonly error: AshlarError; readonly lines: string[] }> {
  try {
    await createApplication({ environment: { APP_KEY: KEY }, ...options });
  } catch (error) {
    if (error instanceof AshlarError) return { error, lines: error.message.split("\n") };
    throw error;
  }
  throw new Error("The application has booted.");
}

/** The locations that an error's lines name. */
function placesOf(lines: readonly string[]): string[] {
  return lines.map((line) => /^.*?(?=: (?:is|it|does|has|no|says|was) )/.exec(line)?.[0] ?? line);
}

class Kernel extends HttpKernel {
  override routeMiddleware = { web: [] };
}

/** A kernel whose application is in a folder with routes. */
class FileKernel extends Kernel {
  override registerRoutes(): void {
    this.container.bind("routes.location", "routes/web");
  }
}

describe("a boot that fails reports everything that is wrong", () => {
  test("in one section, and in those of its objects", async () => {
    const APP = { nam: "Shop", url: 5, log: { level: "loud", request: true }, server: { port: -1 } };
    const { error, lines } = await failure({ config: { app: { APP } } });
    expect(error).toBeInstanceOf(SeveralProblemsError);
    expect([error.code, placesOf(lines)]).toEqual([
      "E_INVALID_CONFIGURATION",
      ["nam", "url", "log.request", "log.level", "server.port"].map((name) => `config/app.ts: APP.${name}`),
    ]);
  });

  test("in files, settings and providers", async () => {
    const root = folderWith({
      ".env": "APP_KEY=short\n",
      "config/app.ts": "export const APP = { nam: 'Shop' };\n",
      "config/mail.ts": "throw new Error('gone');\n",
      "config/session.ts": "export const SESSION = { lifetime: 5 };\n",
      "config/throttle.ts": "export const THROTTLE = { limit: {} };\n",
    });
    const { lines } = await failure({
      root,
      environment: { APP_URL: "shop" },
      providers: [SessionProvider, ThrottleProvider],
    });
    expect(placesOf(lines)).toEqual([
      "config/mail.ts",
      "config/app.ts: APP.nam",
      "Environment variable APP_URL",
      expect.stringMatching(/^Environment variable APP_KEY/),
      "config/session.ts: SESSION.lifetime",
      "config/throttle.ts: THROTTLE.limit",
    ]);
  });

  test("in route files, together with those that providers report", async () => {
    class Broken extends Provider {
      override boot(): void {
        settings<{ holdMinutes?: number }>()({ holdMinutes: integer({ from: 1, to: 5 }, 1) }).read(
          { hold: 1 },
          "config/stock.ts: STOCK",
        );
      }
    }
    const root = folderWith({ "routes/web.ts": "export const ROUTE = [];\n" });
    const { lines } = await failure({ root, kernel: FileKernel, providers: [Broken] });
    expect(lines).toEqual([
      "routes/web.ts: does not export ROUTES. Write it as: export const ROUTES = [ Route.get(…), … ];",
      'config/stock.ts: STOCK.hold: is not a known setting. Did you mean "holdMinutes"?',
    ]);
  });

  test("with the code that all share", async () => {
    const routes = [Route.get("/x/@a/@a", () => "x"), Route.get("/y/@b/@b", () => "x")];
    class Unfit extends Provider {
      override boot(): void {
        throw new AshlarError("E_INVALID_ROUTE", "/e: nothing is there.");
      }
    }
    const { error, lines } = await failure({ kernel: Kernel, routes, providers: [Unfit] });
    expect(error.code).toBe("E_INVALID_ROUTE");
    expect(lines).toEqual([
      "There are 2 problems in the routes:",
      expect.stringContaining("/x/@a/@a"),
      expect.stringContaining("/y/@b/@b"),
      "/e: nothing is there.",
    ]);
  });

  test("but throws a single mistake as it is, with its stack", async () => {
    const { error } = await failure({ config: { app: { APP: { nam: "Shop" } } } });
    expect(error.message).toBe('config/app.ts: APP.nam: is not a known setting. Did you mean "name"?');
    expect(error).not.toBeInstanceOf(SeveralProblemsError);
  });

  test("but doesn't report a setting as missing if a misspelled one was meant for it", async () => {
    const LIMITS = { bucket: [] };
    const { lines } = await failure({
      providers: [ThrottleProvider],
      config: { throttle: { THROTTLE: { limits: { export: LIMITS } } } },
    });
    expect(placesOf(lines)).toEqual(["config/throttle.ts: THROTTLE.limits.export.bucket"]);
  });
});

describe("consequences of a mistake are left out", () => {
  class Stock extends Provider {
    override register(): void {
      throw new AshlarError("E_INVALID_CONFIGURATION", "config/stock.ts: STOCK: is wrong.");
    }
  }
  class Shop extends Provider {
    override boot(): void {
      if (!this.application.container.has("mail")) {
        throw new AshlarError("E_INVALID_CONFIGURATION", "config/providers.ts: PROVIDERS: lacks Stock.");
      }
    }
  }
  class Cart extends Provider {
    override boot(): void {
      this.application.container.make("mail");
    }
  }
  class Fragile extends Provider {
    override boot(): void {
      throw new TypeError("null has no stock");
    }
  }

  test("a provider that needs a failed one, by name or by its service", async () => {
    const { lines } = await failure({ providers: [Stock, Shop, Cart] });
    expect(lines).toEqual(["config/stock.ts: STOCK: is wrong."]);
  });

  test("parts of routes that a failed provider should have added", async () => {
    const routes = [Route.get("/", () => "x").middleware("stock"), Route.get("/b", () => "x").middleware("unknown")];
    const { lines } = await failure({ providers: [Stock], kernel: Kernel, routes });
    expect(lines).toEqual(["config/stock.ts: STOCK: is wrong."]);
  });

  test("the same mistake, reported by each route", async () => {
    const routes = [Route.get("/", () => "x").middleware("stock"), Route.get("/b", () => "x").middleware("unknown")];
    class Middleware {
      constructor() {
        throw new AshlarError("E_INVALID_CONFIGURATION", "config/stock.ts: STOCK: is wrong.");
      }
      handle = () => {};
    }
    class StockKernel extends Kernel {
      override routeMiddleware = { web: [], stock: [Middleware as never] };
    }
    class Unready extends Provider {
      override ready(): void {
        throw new AshlarError("E_INVALID_CONFIGURATION", "config/stock.ts: STOCK: is wrong.");
      }
    }
    const { lines } = await failure({ providers: [Unready], kernel: StockKernel, routes });
    expect(lines).toEqual(["config/stock.ts: STOCK: is wrong.", expect.stringContaining('"unknown" is unknown')]);
  });

  test("an unexpected error after a mistake", async () => {
    const { lines } = await failure({ providers: [Stock, Fragile] });
    expect(lines).toEqual(["config/stock.ts: STOCK: is wrong."]);
    await expect(createApplication({ providers: [Fragile] })).rejects.toThrow(TypeError);
  });

  test("a missing service counts if nothing has failed before", async () => {
    const { error } = await failure({ providers: [Cart] });
    expect(error.code).toBe("E_UNKNOWN_SERVICE");
  });
});

test("a boot that has failed connects to nothing, and creates no database", async () => {
  const files = {
    "config/database.ts": `import { sqlite } from ${JSON.stringify(DATABASE)};
export const DATABASES = { default: "main", main: sqlite({ path: "app.sqlite" }) };
`,
  };
  const providers = [SessionProvider, DatabaseProvider];
  const wrong = folderWith({ ...files, "config/session.ts": "export const SESSION = { lifetime: 5 };\n" });
  await failure({ root: wrong, providers });
  expect(existsSync(join(wrong, "app.sqlite"))).toBe(false);
  const right = folderWith(files);
  const application = await createApplication({ root: right, providers, environment: { APP_KEY: KEY } });
  await application.shutdown();
  expect(existsSync(join(right, "app.sqlite"))).toBe(true);
});
