import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Application, createApplication, createLogger, type EnvironmentName } from "../boot/index.ts";
import type { HttpContext, Next } from "../http/index.ts";
import { HttpKernel, type MiddlewareEntry } from "../kernel/index.ts";
import { Route } from "../routing/index.ts";
import { generateSecret } from "../security/index.ts";
import { AshlarError } from "../support/index.ts";
import { ViewProvider } from "./index.ts";

let root: string;
let lines: Record<string, unknown>[];

beforeEach(() => {
  lines = [];
  root = mkdtempSync(join(tmpdir(), "app-"));
  mkdirSync(join(root, "views"));
  writeFileSync(
    join(root, "views/error.edge"),
    "own {{ status }} {{ title }}: {{ message }} {{ problems.map(({ rule, message }) => `${rule} ${message}`).join() }}",
  );
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

function create(
  web: readonly MiddlewareEntry[],
  http: readonly MiddlewareEntry[] = [],
  environment: EnvironmentName = "production",
): Promise<Application> {
  const settings = { name: "Shop", environment, log: { level: "info", requests: false } } as const;
  class Kernel extends HttpKernel {
    override httpMiddleware = http;
    override routeMiddleware = { web };
  }
  return createApplication({
    root,
    kernel: Kernel,
    providers: [ViewProvider],
    environment: { APP_ENV: environment, APP_KEY: generateSecret(), APP_URL: "http://localhost" },
    config: { app: { APP: { log: { requests: false } } } },
    logger: createLogger(settings, { write: (line) => void lines.push(JSON.parse(line)) }),
    routes: [
      Route.get("/gone", () => {
        throw new AshlarError("E_NOT_FOUND", "It was moved.");
      }),
      Route.get("/page", ({ request }) => request.integer("number")),
      Route.get("/own-errors", () => {
        throw new AshlarError("E_BAD_REQUEST", "No.", { extensions: { errors: { a: "One.", b: ["Two."] } } });
      }),
    ],
  });
}

async function get(application: Application, path: string, accept = "text/html") {
  const request = new Request(`http://localhost${path}`, { headers: { accept } });
  const response = await application.fetch(request, { address: "203.0.113.7" });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test("the template receives each problem with the input, with its rule", async () => {
  const application = await create([]);
  const sentence = "The field &quot;number&quot; must be a whole number.";
  expect((await get(application, "/page?number=x")).text).toBe(
    `own 422 There is a problem: ${sentence} input.integer ${sentence}`,
  );
  expect((await get(application, "/own-errors")).text).toBe(
    "own 400 The request can&#x27;t be read: No. null One.,null Two.",
  );
});

test("errors are shown with the template, within the site's stack", async () => {
  const mark = ({ response }: HttpContext, next: Next): unknown => {
    response.header("x-stack", "web");
    return next();
  };
  const application = await create([mark]);
  for (const [path, message] of [
    ["/nowhere", "There is no page at this address. Check it for typos, or start from the home page."],
    ["/gone", "It was moved."],
  ] as const) {
    const { status, headers, text } = await get(application, path);
    expect([status, text, headers.get("x-stack")]).toEqual([404, `own 404 Page not found: ${message} `, "web"]);
    expect([headers.get("cache-control"), headers.get("vary")]).toEqual(["no-store", "accept"]);
  }
  expect((await get(application, "/nowhere", "application/json")).text).toContain('"title":"Not Found"');
});

test("a response that the stack returns instead of calling next does not replace the error page", async () => {
  const application = await create([({ response }: HttpContext) => response.redirect("/")]);
  const { status, headers, text } = await get(application, "/nowhere");
  expect([status, headers.get("location"), text.includes('<p class="status">404</p>')]).toEqual([404, null, true]);
});

test("a response that the stack returns after the page is rendered does not replace it either", async () => {
  const leadAway = async (_: HttpContext, next: Next): Promise<unknown> => {
    await next();
    return Response.redirect("http://localhost/", 303);
  };
  const { status, headers, text } = await get(await create([leadAway]), "/nowhere");
  expect([status, headers.get("location"), text.includes('<p class="status">404</p>')]).toEqual([404, null, true]);
});

test("the stack sees HEAD as HEAD, and other methods as GET", async () => {
  const methods: string[] = [];
  const note = ({ request }: HttpContext, next: Next): unknown => {
    methods.push(request.raw.method);
    return next();
  };
  const application = await create([note]);
  for (const method of ["GET", "HEAD", "POST", "DELETE"]) {
    const request = new Request("http://localhost/nowhere", { method, headers: { accept: "text/html" } });
    expect((await application.fetch(request, { address: "203.0.113.7" })).status).toBe(404);
  }
  expect(methods).toEqual(["GET", "HEAD", "GET", "GET"]);
});

test("if the stack throws, the plain page is sent, and nothing is logged", async () => {
  const refuse = ({ response }: HttpContext): never => {
    response.header("content-language", "de").header("etag", '"1"');
    throw new AshlarError("E_TOO_MANY_REQUESTS");
  };
  const { status, headers, text } = await get(await create([refuse]), "/nowhere");
  expect([status, text.includes('<p class="status">404</p>'), lines]).toEqual([404, true, []]);
  // Headers about content that was never sent do not apply to the page.
  expect([headers.get("content-language"), headers.get("etag")]).toEqual([null, null]);
});

test.each([
  ["production", "own 404"],
  ["test", "own 404"],
  ["development", "of its own"],
] as const)("after a template for a status is added in %s, the page is: %s", async (environment, expected) => {
  const application = await create([], [], environment);
  expect((await get(application, "/nowhere")).text).toMatch(/^own 404/);
  mkdirSync(join(root, "views/errors"));
  writeFileSync(join(root, "views/errors/404.edge"), "of its own");
  expect((await get(application, "/nowhere")).text.slice(0, expected.length)).toBe(expected);
});

test("a failure outside of the stack does not run the stack", async () => {
  let runs = 0;
  const count = (_context: HttpContext, next: Next): unknown => {
    runs++;
    return next();
  };
  const fail = (): never => {
    throw new Error("broken");
  };
  const { status, text } = await get(await create([count], [fail]), "/nowhere");
  expect([status, text.includes('<p class="status">500</p>'), runs]).toEqual([500, true, 0]);
});

test("a page that the application sets takes precedence over the template", async () => {
  const application = await create([]);
  application.errorPage(404, () => "set");
  expect((await get(application, "/nowhere")).text).toBe("set");
});
