import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { rawSocket } from "../../../test/support/raw-socket.ts";
import type { Application } from "../../boot/application/application.ts";
import { createApplication } from "../../boot/application/create-application.ts";
import type { HttpContext, Next } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";
import { HttpKernel } from "../pipeline/http-kernel.ts";

async function echo(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  return Response.json({
    method: request.method,
    path: pathname + search,
    a: request.headers.get("x-a"),
    body: await request.text(),
  });
}

const ENVIRONMENT = { APP_ENV: "test" };
const make = (): Promise<Application> =>
  createApplication({
    environment: ENVIRONMENT,
    routes: [Route.get("/", () => "home"), Route.get("/trpcish", () => "route"), Route.get("/@rest:any", () => "rest")],
  });

async function ask(application: Application, path: string, init: RequestInit = {}): Promise<unknown> {
  const response = await application.fetch(new Request(`http://localhost${path}`, init));
  const text = await response.text();
  return response.headers.get("content-type") === "application/json" ? JSON.parse(text) : text;
}

describe("mount", () => {
  test("requests under the prefix arrive without it, with query, headers and body", async () => {
    const application = await make();
    application.mount("/trpc", echo);
    expect(await ask(application, "/trpc/posts/1?a=b&c=%20", { headers: { "x-a": "y" } })).toEqual({
      method: "GET",
      path: "/posts/1?a=b&c=%20",
      a: "y",
      body: "",
    });
    expect(await ask(application, "/trpc", { method: "DELETE" })).toMatchObject({ method: "DELETE", path: "/" });
    expect(await ask(application, "/trpc/", { method: "POST", body: "text" })).toMatchObject({
      path: "/",
      body: "text",
    });
    expect(await ask(application, "/trpc//x%2fy")).toMatchObject({ path: "//x%2fy" });
  });

  test("a mount that passes requests to another server passes its redirects back, instead of following them", async () => {
    const other = await make();
    other.mount("/old", () => new Response(null, { status: 302, headers: { location: "/elsewhere" } }));
    onTestFinished(() => other.shutdown());
    const { port } = await other.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
    const application = await make();
    application.mount("/proxy", (request) => fetch(`http://127.0.0.1:${port}/old`, request));
    const { status, headers } = await application.fetch(new Request("http://localhost/proxy"));
    expect([status, headers.get("location")]).toEqual([302, "/elsewhere"]);
  });

  test("a body is passed on unread, so that __method has no effect", async () => {
    const application = await make();
    application.mount("/trpc", echo);
    const body = new URLSearchParams({ __method: "PUT" });
    expect(await ask(application, "/trpc/x", { method: "POST", body })).toMatchObject({
      method: "POST",
      body: "__method=PUT",
    });
  });

  test("TRACE, which a Request cannot have, is 405", async () => {
    const application = await make();
    application.mount("/trpc", echo);
    const request = new Request("http://localhost/trpc/x");
    // Only a server can create such requests.
    const raw = new Proxy(request, {
      get: (_, name) => (name === "method" ? "TRACE" : Reflect.get(request, name, request)),
    });
    const response = await application.fetch(raw);
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
  });

  test("a path that only begins with the same letters is not under the prefix", async () => {
    const application = await make();
    application.mount("/trpc", echo);
    expect(await ask(application, "/trpcish")).toBe("route");
    expect(await ask(application, "/TRPC/x")).toBe("rest");
    expect(await ask(application, "/")).toBe("home");
  });

  test("a mount comes before a catch-all route, and the longest prefix wins", async () => {
    const application = await make();
    application.mount("/a", () => new Response("a"));
    application.mount("/a/b", () => new Response("a/b"));
    expect(await ask(application, "/a/b/c")).toBe("a/b");
    expect(await ask(application, "/a/x")).toBe("a");
  });

  test("the HTTP middleware runs for mounts, and an error becomes a response", async () => {
    class Kernel extends HttpKernel {
      override routeMiddleware = { web: [] };
      override httpMiddleware = [
        (context: HttpContext, next: Next) => {
          context.response.header("x-stamp", "yes");
          return next();
        },
      ];
    }
    const application = await createApplication({ environment: ENVIRONMENT, kernel: Kernel, routes: [] });
    application.mount("/ok", () => new Response("ok"));
    application.mount("/boom", () => {
      throw new Error("boom");
    });
    const ok = await application.fetch(new Request("http://localhost/ok"));
    const boom = await application.fetch(new Request("http://localhost/boom/x"));
    expect([ok.status, ok.headers.get("x-stamp"), boom.status, boom.headers.get("x-stamp")]).toEqual([
      200,
      "yes",
      500,
      "yes",
    ]);
  });

  test("requests over a socket keep their body", async () => {
    const application = await make();
    application.mount("/trpc", echo);
    const server = await application.listen({ port: 0, handleSignals: false });
    const response = await fetch(`${server.url}trpc/x?y`, { method: "POST", body: "b".repeat(100_000) });
    const { path, body } = (await response.json()) as { path: string; body: string };
    expect([path, body.length]).toEqual(["/x?y", 100_000]);
    await application.shutdown();
  });

  test("aborting a request aborts the signal that the mount sees", async () => {
    const application = await make();
    const signals: AbortSignal[] = [];
    application.mount("/trpc", ({ signal }) => {
      signals.push(signal);
      return new Response("");
    });
    const controller = new AbortController();
    await ask(application, "/trpc/x", { signal: controller.signal });
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    controller.abort();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  describe("a client that sends Expect: 100-continue", () => {
    const head = "Host: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n";
    const serve = async (answer: (request: Request) => Promise<Response>): Promise<number> => {
      const application = await make();
      application.mount("/trpc", answer);
      onTestFinished(() => application.shutdown());
      return (await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false })).port;
    };

    test("gets 100 Continue if the mount reads the body", async () => {
      const port = await serve(echo);
      const { socket, closed } = rawSocket(port, `POST /trpc/x HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
      socket.once("data", () => socket.write("hello"));
      expect(await closed).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK[\s\S]*"body":"hello"/);
    });

    test("keeps its connection if the mount does not read the body", async () => {
      const port = await serve(async () => new Response("unread"));
      const { socket, received, closed } = rawSocket(port, `POST /trpc/x HTTP/1.1\r\n${head}\r\n`);
      while (!received().endsWith("unread\r\n0\r\n\r\n")) await turn();
      socket.write("helloGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
      expect(await closed).toMatch(/unread[\s\S]*HTTP\/1\.1 200 OK[\s\S]*home$/);
    });
  });

  test.each(["", "/", "trpc", "/trpc/", "/a//b", "/@id", "/a b", "/%61"])(
    "the prefix %j is malformed",
    async (prefix) => {
      const application = await make();
      expect(() => application.mount(prefix, echo)).toThrow(
        new AshlarError(
          "E_INVALID_ROUTE",
          `mount("${prefix}"): a prefix must look like /trpc, without a trailing slash.`,
        ),
      );
    },
  );

  test("a prefix that is taken, or would hide a route, is refused", async () => {
    const application = await make();
    application.mount("/trpc", echo);
    expect(() => application.mount("/trpc", echo)).toThrow('mount("/trpc"): something is already mounted there.');
    expect(() => application.mount("/trpcish", echo)).toThrow(
      /^mount\("\/trpcish"\) would hide the route \/trpcish \(.*mounts\.test\.ts:\d+\)\. Choose another prefix\.$/,
    );
  });
});
