import { expect, onTestFinished, test } from "vitest";
import { type Application, createApplication, createLogger } from "../boot/index.ts";
import { HttpKernel, type RouteMiddleware } from "../kernel/index.ts";
import { Route } from "../routing/index.ts";
import { ThrottleMiddleware, ThrottleProvider } from "./index.ts";

class Kernel extends HttpKernel {
  override routeMiddleware: RouteMiddleware = { web: [], api: [], throttle: [ThrottleMiddleware] };
}

const PRODUCTION = {
  APP_ENV: "production",
  APP_URL: "https://shop.example",
  APP_KEY: "k3Vw9qLz7Rt2Xn8Bc5Mf1Hd6Js4Pg0YaQeTuIoWi",
};
const LIMITS = {
  login: {
    account: "email",
    buckets: [
      { by: ["account", "address"], attempts: 2, windowSeconds: 60 },
      { by: ["address"], attempts: 4, windowSeconds: 60 },
    ],
  },
  export: { buckets: [{ by: ["account"], attempts: 2, windowSeconds: 60 }] },
};

interface Made {
  readonly application: Application;
  readonly errors: { readonly err: { readonly code?: string; readonly message: string } }[];
  readonly warnings: unknown[];
}

async function make(APP: object = {}, environment: Record<string, string> = PRODUCTION): Promise<Made> {
  const [errors, warnings]: [Made["errors"], unknown[]] = [[], []];
  const logger = createLogger(
    { name: "Shop", environment: "production", log: { level: "warn", requests: false } },
    {
      write(line) {
        const entry = JSON.parse(line) as { readonly level: string };
        if (entry.level === "error") errors.push(entry as unknown as Made["errors"][number]);
        else warnings.push(entry);
      },
    },
  );
  const application = await createApplication({
    kernel: Kernel,
    providers: [ThrottleProvider],
    environment,
    logger,
    config: { app: { APP }, throttle: { THROTTLE: { limits: LIMITS, store: "memory" } } },
    routes: [
      Route.get("/", () => "welcome"),
      Route.post("/login", () => "logged in").middleware("throttle:login"),
      Route.post("/export", () => "exported").middleware("throttle:export"),
    ],
  });
  onTestFinished(() => application.shutdown());
  return { application, errors, warnings };
}

async function post({ application }: Made, path: string, address?: string): Promise<number> {
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: '{"email":"ann@example.com"}' };
  const request = new Request(`https://shop.example${path}`, init);
  return (await application.fetch(request, address === undefined ? {} : { address })).status;
}

test("S173 in production, a limit by address refuses a request without one, and the log names the line to write", async () => {
  const made = await make();
  expect(await post(made, "/login")).toBe(500);
  expect(made.errors).toHaveLength(1);
  const [{ err }] = made.errors as [Made["errors"][number]];
  expect(err.code).toBe("E_UNKNOWN_CLIENT");
  expect(err.message).toContain("application.fetch(request, { address })");
  expect(err.message).toContain('APP.clientAddress to "unknown"');
  expect(await post(made, "/login", "203.0.113.7")).toBe(200);
});

test("S173 requests that no limit counts by address need none: pages, health checks, limits by account", async () => {
  const made = await make();
  for (const path of ["/", "/up"]) {
    expect((await made.application.fetch(new Request(`https://shop.example${path}`))).status).toBe(200);
  }
  expect(await post(made, "/export", "203.0.113.7")).toBe(200);
  expect(made.errors).toEqual([]);
});

test("S173 if the settings say that addresses are unknown, limits count by account alone, without a warning", async () => {
  const made = await make({ clientAddress: "unknown" });
  const statuses = [];
  for (let attempt = 0; attempt < 3; attempt++) statuses.push(await post(made, "/login"));
  expect(statuses).toEqual([200, 200, 429]);
  expect(made.warnings.filter((line) => /address/.test(JSON.stringify(line)))).toEqual([]);
  await expect(make({ clientAddress: "none" })).rejects.toMatchObject({ code: "E_INVALID_CONFIGURATION" });
});

test("S173 in development and in tests, no address is needed", async () => {
  for (const environment of ["development", "test"]) {
    const made = await make({}, { APP_ENV: environment });
    expect(await post(made, "/login")).toBe(200);
    expect(made.errors).toEqual([]);
  }
});
