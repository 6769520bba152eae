import { describe, expect, test } from "vitest";
import { createApplication } from "../../boot/application/create-application.ts";
import { createLogger } from "../../boot/log/create-logger.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";

async function make(app: Record<string, unknown>, environment = "development") {
  const lines: Record<string, unknown>[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "info", requests: true } } as const;
  const application = await createApplication({
    logger: createLogger(settings, { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) }),
    config: { app: { APP: app } },
    environment: { APP_ENV: environment },
    routes: [
      Route.get("/orders/@id", ({ request }) => ({ id: request.param("id") })),
      Route.get("/reset/@reset_token", () => "page"),
      Route.post("/login", async ({ request }) => ({ name: request.input("name") })),
      Route.get("/refused", () => {
        throw new AshlarError("E_FORBIDDEN");
      }),
    ],
  });
  const ask = (path: string, init?: RequestInit) => application.fetch(new Request(`http://localhost${path}`, init));
  return { lines, ask, application };
}

describe("the request log", () => {
  test("each request leaves one line", async () => {
    const { lines, ask } = await make({});
    await ask("/orders/7");
    await ask("/orders/7", { method: "HEAD" });
    await ask("/nowhere", { method: "POST" });
    await ask("/refused");
    expect(lines).toEqual(
      [
        ["GET", "/orders/7", 200, "/orders/@id"],
        ["HEAD", "/orders/7", 200, "/orders/@id"],
        ["POST", "/nowhere", 404],
        ["GET", "/refused", 403, "/refused"],
      ].map(([method, path, status, route]) => ({
        level: "info",
        time: expect.any(String),
        app: "Shop",
        msg: "request",
        method,
        path,
        ...(route !== undefined && { route }),
        status,
        durationMs: expect.any(Number),
        requestId: expect.stringMatching(/^[\da-f-]{36}$/),
      })),
    );
    expect(new Set(lines.map((line) => line.requestId)).size).toBe(4);
  });

  test("S15 it contains no query, token, Authorization header, cookie or password", async () => {
    const { lines, ask } = await make({});
    await ask("/orders/7?token=s3cret&api_token=s3cret");
    await ask("/orders/7", { headers: { authorization: "Bearer s3cret", cookie: "token=s3cret" } });
    await ask("/login", { method: "POST", body: new URLSearchParams({ name: "a", password: "s3cret" }) });
    await ask("/reset/s3cret");
    expect(lines).toHaveLength(4);
    expect(lines[3]!.path).toBe("/reset/@reset_token");
    expect(JSON.stringify(lines)).not.toContain("s3cret");
  });

  test("S15 it does not contain signed parameters", async () => {
    const lines: string[] = [];
    const settings = { name: "Shop", environment: "test", log: { level: "info", requests: true } } as const;
    const application = await createApplication({
      logger: createLogger(settings, { write: (line) => void lines.push(line) }),
      environment: { APP_ENV: "development" },
      routes: [Route.get("/invite/@code:signed", ({ request }) => request.param("code")).name("invite")],
    });
    const path = application.router.to("invite", { code: "seven" });
    const response = await application.fetch(new Request(`http://localhost${path}`));
    expect(await response.text()).toBe("seven");
    expect(lines.join()).not.toContain(path);
    expect(lines.join()).toContain('"path":"/invite/@code:signed"');
  });

  test("it can be turned off, and is off in tests", async () => {
    const off = await make({ log: { requests: false } });
    await off.ask("/orders/7");
    expect(off.lines).toEqual([]);
    const inTest = await make({}, "test");
    await inTest.ask("/orders/7");
    expect(inTest.lines).toEqual([]);
  });

  test.each([
    [{}, "203.0.113.77"],
    [{ log: { addresses: "full" } }, "203.0.113.77"],
    [{ log: { addresses: "truncated" } }, "203.0.113.0"],
    [{ log: { addresses: "none" } }, undefined],
  ])("S80 with %j, a client at 203.0.113.77 is logged as %j", async (app, expected) => {
    const { lines, application } = await make(app);
    await application.fetch(new Request("http://localhost/orders/7"), { address: "203.0.113.77" });
    expect(lines.map(({ address }) => address)).toEqual([expected]);
  });
});
