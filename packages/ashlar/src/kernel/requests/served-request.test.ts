import { afterEach, expect, test } from "vitest";
import { exchange, sorted } from "../../../test/support/raw-socket.ts";
import type { Application } from "../../boot/application/application.ts";
import { createApplication } from "../../boot/application/create-application.ts";
import { Route, type RouteEntry } from "../../routing/index.ts";
import { HttpKernel } from "../pipeline/http-kernel.ts";

const open: Application[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((application) => application.shutdown()));
});

class Kernel extends HttpKernel {
  override httpMiddleware = [
    ({ response }: { response: { header(name: string, value: string): unknown } }, next: () => unknown) => {
      response.header("x-around", "yes");
      return next();
    },
  ];
  override routeMiddleware = { web: [], api: [] };
}

async function serve(...routes: readonly RouteEntry[]): Promise<{ application: Application; port: number }> {
  const application = await createApplication({ routes, kernel: Kernel, environment: { APP_ENV: "test" } });
  open.push(application);
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  return { application, port };
}

const answered = (allow: string) => `HTTP/1.1 204 No Content\nConnection: close\nallow: ${allow}\nx-around: yes\n\n`;

test("OPTIONS * names the methods of all routes, through the http middleware (RFC 9110 §9.3.7)", async () => {
  const { port } = await serve(
    Route.delete("/orders/@id", () => "deleted"),
    Route.post("/orders", () => "made"),
    Route.get("/orders", () => "listed"),
    Route.get("/", () => "home"),
  );
  const text = await exchange(port, "OPTIONS *", "Host: a.example");
  expect(sorted(text)).toBe(answered("GET, HEAD, POST, DELETE, OPTIONS"));
});

test("OPTIONS * is handled without any routes, and never by a route", async () => {
  const without = await serve();
  expect(sorted(await exchange(without.port, "OPTIONS *", "Host: a.example"))).toBe(answered("OPTIONS"));
  const greedy = await serve(Route.options("/@word", ({ request }) => request.param("word")));
  expect(sorted(await exchange(greedy.port, "OPTIONS *", "Host: a.example"))).toBe(answered("OPTIONS"));
});

test("the path /* is not the asterisk, over a socket or with fetch", async () => {
  const { application, port } = await serve(Route.get("/", () => "home"));
  expect(await exchange(port, "OPTIONS /*", "Host: a.example")).toMatch(/^HTTP\/1\.1 404 /);
  expect(await exchange(port, "GET *", "Host: a.example")).toMatch(/^HTTP\/1\.1 404 /);
  const response = await application.fetch(new Request("http://a.example/*", { method: "OPTIONS" }));
  expect(response.status).toBe(404);
});
