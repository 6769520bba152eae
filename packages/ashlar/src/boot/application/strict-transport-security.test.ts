import { describe, expect, onTestFinished, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { SecurityHeadersMiddleware } from "../../http/index.ts";
import { HttpKernel } from "../../kernel/index.ts";
import { Route } from "../../routing/index.ts";
import { generateSecret } from "../../security/index.ts";
import type { Application } from "./application.ts";
import { createApplication } from "./create-application.ts";

const PRODUCTION = { APP_ENV: "production", APP_URL: "https://shop.example" };

class Kernel extends HttpKernel {
  override routeMiddleware = { web: [SecurityHeadersMiddleware], api: [] };
  override registerRoutes(): void {
    this.container.bind("routes.api.prefix", "/api");
  }
}

async function application(environment: Record<string, string>): Promise<Application> {
  const root = folderWith({ "public/a.txt": "a file" });
  const made = await createApplication({
    root,
    kernel: Kernel,
    routes: [
      Route.get("/", () => "<h1>Hello</h1>"),
      Route.get("/nothing", () => undefined),
      Route.get("/platform", () => new Response("by the platform")),
      Route.get("/other", () => fetch("data:,immutable")),
      Route.get("/error", () => Promise.reject(new Error("broken"))),
      Route.get("/own", ({ response }) => response.header("Strict-Transport-Security", "max-age=0").text("own")),
      Route.get("/api/orders", () => ({ orders: [] })).respondsWithJson(),
    ],
    environment: { APP_KEY: generateSecret(), LOG_LEVEL: "silent", ...environment },
  });
  onTestFinished(() => made.shutdown());
  return made;
}

async function answer(made: Application, path: string, method = "GET"): Promise<[number, string, string | null]> {
  const response = await made.fetch(new Request(`http://shop.example${path}`, { method }));
  return [response.status, await response.text(), response.headers.get("strict-transport-security")];
}

describe("S63 Strict-Transport-Security", () => {
  test("S63 is in every response in production under https: pages, errors, files and the API", async () => {
    const made = await application(PRODUCTION);
    const year = "max-age=31536000";
    expect(await answer(made, "/")).toEqual([200, "<h1>Hello</h1>", year]);
    expect(await answer(made, "/nothing")).toEqual([204, "", year]);
    expect(await answer(made, "/platform")).toEqual([200, "by the platform", year]);
    expect(await answer(made, "/other")).toEqual([200, "immutable", year]);
    expect(await answer(made, "/a.txt")).toEqual([200, "a file", year]);
    expect(await answer(made, "/a.txt", "HEAD")).toEqual([200, "", year]);
    expect(await answer(made, "/api/orders")).toEqual([200, '{"orders":[]}', year]);
    expect(await answer(made, "/", "OPTIONS")).toEqual([204, "", year]);
    for (const [path, method, status] of [
      ["/nowhere", "GET", 404],
      ["/api/nowhere", "GET", 404],
      ["/", "POST", 405],
      ["/error", "GET", 500],
    ] as const) {
      expect(await answer(made, path, method), path).toEqual([status, expect.any(String), year]);
    }
  });

  test("S63 is the handler's own value if it sets the header", async () => {
    expect(await answer(await application(PRODUCTION), "/own")).toEqual([200, "own", "max-age=0"]);
  });

  test.each([
    { APP_ENV: "production", APP_URL: "http://shop.example" },
    { APP_ENV: "test", APP_URL: "https://shop.example" },
  ])("S63 is in no response otherwise: %o", async (environment) => {
    const made = await application(environment);
    for (const path of ["/", "/nowhere", "/a.txt", "/api/orders"]) {
      expect((await answer(made, path))[2], path).toBe(null);
    }
  });
});
