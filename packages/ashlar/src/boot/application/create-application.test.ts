import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import type { HttpContext, Next } from "../../http/index.ts";
import { HttpKernel } from "../../kernel/pipeline/http-kernel.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError, ConfigurationError } from "../../support/index.ts";
import type { Application } from "./application.ts";
import { type ApplicationOptions, createApplication } from "./create-application.ts";
import { Inspection } from "./inspection.ts";

const ROUTING = pathToFileURL(join(import.meta.dirname, "../../routing/index.ts")).href;
const FOUNDATION = pathToFileURL(join(import.meta.dirname, "../index.ts")).href;
const KEY = "q3Zr8pYt5Wn1Lx7Vc0Bm4Kj6Hg2Fd9Sa-_QwErTyUiO";
const IMPORT_ROUTE = `import { Route } from ${JSON.stringify(ROUTING)};\n`;

const stack = (name: string) => (context: HttpContext, next: Next) => {
  context.response.header("x-stack", name);
  return next();
};

class Kernel extends HttpKernel {
  override routeMiddleware = { web: [stack("web")], api: [stack("api")] };
  override registerRoutes(): void {
    this.container.bind("routes.location", "routes/web");
    this.container.bind("routes.api.location", "routes/api");
    this.container.bind("routes.api.prefix", "/api");
  }
}

const FILES = {
  ".env": `APP_KEY=${KEY}\nAPP_NAME=Shop\n`,
  "config/app.ts": `import { env } from ${JSON.stringify(FOUNDATION)};\nexport const APP = { name: env("APP_NAME", "none") };\n`,
  "config/providers.ts": `import { Provider } from ${JSON.stringify(FOUNDATION)};
class Stamp extends Provider {
  boot() {
    this.application.contextProperty("stamp", () => this.application.settings.name);
  }
}
export const PROVIDERS = [Stamp];
`,
  "routes/web.ts": `${IMPORT_ROUTE}export const ROUTES = [Route.get("/", (context) => context.stamp)];\n`,
  "routes/api.js": `${IMPORT_ROUTE}export const ROUTES = [Route.get("/me", () => "me"), [Route.get("/you", () => ({ you: 1 }))]];\n`,
  "public/app.css": "body{}",
  "public/index.html": "static home",
};

async function ask(application: Application, path: string, init: RequestInit = {}) {
  const response = await application.fetch(new Request(`http://localhost${path}`, init));
  return {
    status: response.status,
    stack: response.headers.get("x-stack"),
    body: await response.text(),
    headers: response.headers,
  };
}

async function failure(options: ApplicationOptions): Promise<AshlarError> {
  try {
    await createApplication({ environment: { APP_ENV: "test" }, ...options });
  } catch (error) {
    if (error instanceof AshlarError) return error;
    throw error;
  }
  throw new Error("It booted.");
}

describe("the one-file application", () => {
  test("needs only its routes", async () => {
    const application = await createApplication({
      routes: [Route.get("/", () => "hello")],
      environment: { APP_ENV: "test" },
    });
    expect(await ask(application, "/")).toMatchObject({ status: 200, body: "hello" });
    expect(application.root).toBe(process.cwd());
  });

  test("does not serve files from the working directory", async () => {
    const before = process.cwd();
    process.chdir(folderWith(FILES));
    const application = await createApplication({ routes: [], environment: { APP_ENV: "test" } });
    process.chdir(before);
    expect((await ask(application, "/app.css")).status).toBe(404);
  });

  test("has a fetch that works without its object", async () => {
    const { fetch } = await createApplication({
      routes: [Route.get("/", () => "x")],
      environment: { APP_ENV: "test" },
    });
    expect(await (await fetch(new Request("http://localhost/"))).text()).toBe("x");
  });

  test("can have no routes at all", async () => {
    expect((await ask(await createApplication({ environment: { APP_ENV: "test" } }), "/")).status).toBe(404);
  });
});

describe("an application with a folder", () => {
  test("loads its .env, configuration and providers, its routes with their stacks, and serves its files", async () => {
    const application = await createApplication({
      root: folderWith(FILES),
      kernel: Kernel,
      environment: { APP_ENV: "test" },
    });
    expect(application.settings.name).toBe("Shop");
    expect(application.settings.key).toBe(KEY);
    expect(await ask(application, "/")).toMatchObject({ status: 200, stack: "web", body: "Shop" });
    expect(await ask(application, "/api/me")).toMatchObject({ status: 200, stack: "api", body: "me" });
    expect(await ask(application, "/api/you")).toMatchObject({ status: 200, stack: "api", body: '{"you":1}' });
    expect(await ask(application, "/app.css")).toMatchObject({ status: 200, body: "body{}" });
    expect(await ask(application, "/app.css", { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
    expect(await ask(application, "/app.css", { method: "POST" })).toMatchObject({ status: 404 });
    expect(await ask(application, "/nowhere.css")).toMatchObject({ status: 404 });
    expect((await ask(application, "/api/nowhere.css")).headers.get("content-type")).toBe("application/problem+json");
  });

  test("a route wins over a file with the same path", async () => {
    const application = await createApplication({
      root: folderWith(FILES),
      kernel: Kernel,
      environment: { APP_ENV: "test" },
    });
    expect((await ask(application, "/")).body).toBe("Shop");
    expect((await ask(application, "/index.html")).body).toBe("static home");
  });

  test("routes in the options are added to those of the files, with the stack web", async () => {
    const application = await createApplication({
      root: folderWith(FILES),
      kernel: Kernel,
      environment: { APP_ENV: "test" },
      routes: [Route.get("/given", () => "given")],
    });
    expect(await ask(application, "/given")).toMatchObject({ stack: "web", body: "given" });
    expect(await ask(application, "/api/me")).toMatchObject({ stack: "api", body: "me" });
  });

  test("providers in the options replace those of the configuration", async () => {
    const application = await createApplication({
      root: folderWith(FILES),
      kernel: Kernel,
      environment: { APP_ENV: "test" },
      providers: [],
    });
    expect(await ask(application, "/")).toMatchObject({ status: 204 });
  });

  test("the same folder can be two applications with two environments", async () => {
    const root = folderWith(FILES);
    const [one, two] = await Promise.all(
      ["One", "Two"].map((name) =>
        createApplication({ root, kernel: Kernel, environment: { APP_ENV: "test", APP_NAME: name } }),
      ),
    );
    expect([(await ask(one!, "/")).body, (await ask(two!, "/")).body]).toEqual(["One", "Two"]);
  });

  test("a relative root is resolved against the working directory", async () => {
    const before = process.cwd();
    const root = folderWith(FILES);
    process.chdir(join(root, ".."));
    const application = await createApplication({
      root: root.split("/").at(-1)!,
      kernel: Kernel,
      environment: { APP_ENV: "test" },
    });
    process.chdir(before);
    expect((await ask(application, "/app.css")).body).toBe("body{}");
  });

  test("the kernel can bind custom parameter compilers", async () => {
    class Compiling extends HttpKernel {
      override routeMiddleware = { web: [] };
      override registerRoutes(): void {
        this.container.bind("routes.compilers", { year: /\d{4}/ });
      }
    }
    const routes = [Route.get("/@year:year", ({ request }) => request.param("year"))];
    const application = await createApplication({ kernel: Compiling, routes, environment: { APP_ENV: "test" } });
    expect((await ask(application, "/2026")).body).toBe("2026");
    expect((await ask(application, "/soon")).status).toBe(404);
  });

  test("signed URLs are signed with the application's key", async () => {
    const make = (key: string) =>
      createApplication({
        routes: [Route.get("/x", () => "x").name("x")],
        environment: { APP_ENV: "test", APP_KEY: key },
      });
    const [one, same, other] = await Promise.all([make(KEY), make(KEY), make([...KEY].reverse().join(""))]);
    const url = one.router.signed("x");
    expect([one, same, other].map((application) => application.router.hasValidSignature(url))).toEqual([
      true,
      true,
      false,
    ]);
  });
});

test("an inspection's variables replace those that the application sets itself", async () => {
  const inspection = new Inspection({ environment: { APP_ENV: "production", APP_KEY: KEY } });
  const environment = { APP_ENV: "test", APP_URL: "https://shop.example.com" };
  const application = await inspection.run(() => createApplication({ environment }));
  const { environment: mode, url } = application.settings;
  expect([mode, String(url)]).toEqual(["production", "https://shop.example.com"]);
});

describe("a boot that fails names the place of the mistake", () => {
  test("a routes file that does not exist", async () => {
    const { "routes/web.ts": _, ...files } = FILES;
    expect(await failure({ root: folderWith(files), kernel: Kernel })).toEqual(
      new ConfigurationError(
        "routes/web.ts",
        "does not exist, but the container key routes.location names it.",
        "Add the file with: export const ROUTES = [];",
      ),
    );
  });

  test("a routes file without ROUTES, or with something else", async () => {
    const without = folderWith({ ...FILES, "routes/api.js": "export const routes = [];" });
    expect((await failure({ root: without, kernel: Kernel })).message).toBe(
      "routes/api.js: does not export ROUTES. Write it as: export const ROUTES = [ Route.get(…), … ];",
    );
    const other = folderWith({ ...FILES, "routes/api.js": "export const ROUTES = {};" });
    expect((await failure({ root: other, kernel: Kernel })).message).toContain(
      "routes/api.js: exports ROUTES, which is not a list.",
    );
  });

  test("a routes file that throws", async () => {
    const root = folderWith({ ...FILES, "routes/web.ts": "throw new Error('no such thing');" });
    const error = await failure({ root, kernel: Kernel });
    expect([error.code, error.message]).toEqual([
      "E_INVALID_CONFIGURATION",
      expect.stringMatching(/^routes\/web\.ts: it could not be loaded: no such thing \(at .*routes\/web\.ts:1\)$/),
    ]);
  });

  test("a routes location in an application without a folder", async () => {
    const problem = (key: string, file: string) =>
      `The container key ${key}: names the file "${file}", but the application has no folder. ` +
      "Call createApplication({ root: import.meta.dirname, … }).";
    expect((await failure({ kernel: Kernel })).message).toBe(
      `${problem("routes.location", "routes/web")}\n${problem("routes.api.location", "routes/api")}`,
    );
  });

  test("PROVIDERS that is not a list of classes", async () => {
    for (const providers of [
      "export const OTHER = 1;",
      "export const PROVIDERS = {};",
      "export const PROVIDERS = ['Mail'];",
    ]) {
      const root = folderWith({ ...FILES, "config/providers.ts": providers });
      expect((await failure({ root, kernel: Kernel })).message).toBe(
        "config/providers.ts: PROVIDERS: is not a list of provider classes. Write it as: export const PROVIDERS = [ViewProvider];",
      );
    }
  });

  test("S48 production without APP_URL or without APP_KEY", async () => {
    const routes = [Route.get("/", () => "x")];
    const noUrl = await failure({ routes, environment: { APP_ENV: "production", APP_KEY: KEY, APP_URL: "" } });
    const noKey = await failure({
      routes,
      environment: { APP_ENV: "production", APP_KEY: "", APP_URL: "https://a.example" },
    });
    expect([noUrl.code, noKey.code]).toEqual(["E_MISSING_ENVIRONMENT", "E_WEAK_SECRET"]);
  });
});
