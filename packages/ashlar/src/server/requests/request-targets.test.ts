import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { exchange, rawSocket } from "../../../test/support/raw-socket.ts";
import { type Application, createApplication, createLogger } from "../../boot/index.ts";
import type { MiddlewareFunction } from "../../http/index.ts";
import { HttpKernel } from "../../kernel/index.ts";
import { Route } from "../../routing/index.ts";

let lines: Record<string, unknown>[];
let handled: string[];
beforeEach(() => {
  lines = [];
  handled = [];
});

const noting: MiddlewareFunction = ({ request }, next) => {
  handled.push(request.getPath());
  return next();
};

class Kernel extends HttpKernel {
  override httpMiddleware = [noting];
  override routeMiddleware = { web: [], api: [] };
}

async function shop(environment: Record<string, string> = {}): Promise<Application> {
  const settings = { name: "Shop", environment: "test", log: { level: "info", requests: true } } as const;
  const application = await createApplication({
    environment: { APP_ENV: "test", ...environment },
    config: { app: { APP: { log: { level: "info", requests: true } } } },
    kernel: Kernel,
    routes: [
      Route.get("/admin", () => "the administration"),
      Route.get("/reset/@token", () => "a form"),
      Route.get("/search", ({ request }) => String(request.input("next"))),
      Route.post("/echo", ({ request }) => String(request.input("a"))),
    ],
    logger: createLogger(settings, { write: (text) => lines.push(JSON.parse(text)) }),
  });
  application.mount("/shop", (request) => new Response(new URL(request.url).pathname));
  onTestFinished(() => application.shutdown());
  return application;
}

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** The ways to pass `node:http` requests to an application. */
const LISTENERS = {
  "the application's own server": async (application: Application) =>
    (await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false })).port,
  "application.handler": (application: Application) => serve(application.handler),
  "application.handler, mounted by Express": (application: Application) =>
    serve((message, response) => {
      // Express removes the mount's path.
      Object.assign(message, { originalUrl: message.url, url: "/admin" });
      application.handler(message, response);
    }),
} as const;

const statusOf = (answer: string) => Number(answer.split(" ")[1]);
const paths = () => lines.filter(({ msg }) => msg === "request").map(({ path, status }) => [status, path]);

describe.each(Object.keys(LISTENERS) as (keyof typeof LISTENERS)[])("with %s", (name) => {
  const start = async (environment?: Record<string, string>) => LISTENERS[name](await shop(environment));

  test.each([
    ["/x\\..\\admin", "/x\\..\\admin"],
    ["/x/../admin", "/x/../admin"],
    ["/x/%2e%2E/admin", "/x/%2e%2E/admin"],
    ["/./admin", "/./admin"],
    ["/admin/.", "/admin/."],
    ["/admin#x", "/admin#…"],
    ["/search?a=1#b", "/search#…"],
    ["/x/..%2fadmin", "/x/..%2fadmin"],
    ["/x/..;v=1/admin", "/x/..…/admin"],
    ["/shop/../%61dmin", "/shop/../%61dmin"],
    ["http://shop.example/x/../admin?token=secret", "/x/../admin"],
    ["http://shop.example./x/../admin", "/x/../admin"],
    ["http://shop.example\\admin", null],
    ["/reset/./Ab3dEfGh1jKlMnOpQrStUv", "/reset/./…"],
    ["/reset/../swordfish", "/reset/../…"],
    ["/no-one/../\u0001", null],
  ])("S131 %j is refused before any middleware, and logged as it was sent", async (target, logged) => {
    const answer = await exchange(await start(), `GET ${target}`, "Host: shop.example", "Accept: text/html");
    expect(statusOf(answer)).toBe(400);
    expect(handled).toEqual([]);
    // Node.js itself refuses characters that no URL contains.
    if (logged === null) return;
    expect(answer).toContain("This request can&#39;t be read. Check the address, or start from the home page.");
    await expect.poll(paths).toEqual([[400, logged]]);
    expect(JSON.stringify(lines)).not.toMatch(/secret|swordfish|Ab3d/);
  });

  test("S131 a proxy's forwarding headers don't turn it into another target", async () => {
    const port = await start({ TRUSTED_PROXIES: "loopback" });
    const headers = ["Host: inside", "X-Forwarded-Host: shop.example", "X-Forwarded-Proto: https"];
    expect(statusOf(await exchange(port, "GET /x/../admin", ...headers))).toBe(400);
  });

  test("a query is left alone, and so is text that only looks similar", async () => {
    const application = await shop();
    const port = await (name === "application.handler, mounted by Express"
      ? LISTENERS["application.handler"]
      : LISTENERS[name])(application);
    for (const next of ["/a/../b", "..", "a\\b", "./"]) {
      const answer = await exchange(port, `GET /search?next=${next}`, "Host: shop.example");
      expect(answer.slice(answer.indexOf("\n\n") + 2)).toBe(next);
    }
    for (const target of ["/.well-known/x", "/...", "/a..", "/a;b", "//admin", "/%252e%252e/admin", "/a%2eb"]) {
      expect([target, statusOf(await exchange(port, `GET ${target}`, "Host: shop.example"))]).toEqual([target, 404]);
    }
  });

  test("S131 a response of 400 doesn't cost the connection, and HEAD gets no body", async () => {
    const socket = rawSocket(await start(), "HEAD /x/../admin HTTP/1.1\r\nHost: a\r\n\r\n");
    await expect.poll(socket.received).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\n\r\n$/);
    socket.socket.write("OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    await socket.closed;
  });

  test.each([
    "gzip, chunked",
    "GZIP, Chunked",
    "identity",
    "xchunked",
    "chunked;q=1",
    '"chunked"',
    ", chunked",
    "deflate\r\nTransfer-Encoding: chunked",
  ])("S131 a body with the transfer coding %j is refused with 501 (RFC 9112 §6.1)", async (coding) => {
    const head = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n";
    const body = "3\r\na=1\r\n0\r\n\r\n";
    const smuggled = "GET /admin HTTP/1.1\r\nHost: a\r\n\r\n";
    const { closed } = rawSocket(await start(), `${head}Transfer-Encoding: ${coding}\r\n\r\n${body}${smuggled}`);
    const answer = await closed;
    expect(answer).toMatch(/^HTTP\/1\.1 501 /);
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(handled).toEqual([]);
  });
});

test("S131 a chunked body is read, in upper or lower case, and TE doesn't affect the request's body", async () => {
  const application = await shop();
  const port = await LISTENERS["the application's own server"](application);
  for (const coding of ["chunked", "Chunked", "CHUNKED"]) {
    const head = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n";
    const fields = `TE: gzip, chunked\r\nTransfer-Encoding: ${coding}\r\nConnection: close\r\n\r\n`;
    expect(await rawSocket(port, `${head}${fields}3\r\na=1\r\n0\r\n\r\n`).closed).toMatch(
      /^HTTP\/1\.1 200 [\s\S]*\r\n\r\n1$/,
    );
  }
});

describe("a request that comes to fetch", () => {
  const withUrl = (url: string, headers: Record<string, string> = {}): Request =>
    // The URL is unresolved, as in Deno's requests.
    Object.defineProperty(new Request("http://shop.example/", { headers }), "url", { value: url });

  test.each(["/x/../admin", "/x\\..\\admin", "/x/%2e%2e/admin", "/ü"])(
    "S131 is refused if its URL is %s, behind a proxy too",
    async (target) => {
      for (const environment of [{}, { TRUSTED_PROXIES: "loopback" }]) {
        const application = await shop(environment as Record<string, string>);
        const request = withUrl(`http://shop.example${target}`, { "x-forwarded-proto": "https" });
        expect((await application.fetch(request, { address: "127.0.0.1" })).status).toBe(400);
        await expect(application.hosting.run(request, "127.0.0.1", () => "run")).rejects.toMatchObject({ status: 400 });
        expect((await application.errorResponse(request, new Error("other"))).status).toBe(400);
      }
      expect(handled).toEqual([]);
    },
  );

  test("a fragment, which a platform's request keeps and no client sends, is not part of the target", async () => {
    const application = await shop();
    const request = new Request("http://shop.example/admin?a=1#x");
    expect(await (await application.fetch(request)).text()).toBe("the administration");
  });

  test("S131 is accepted if a platform has resolved its URL, so that the original can't be seen", async () => {
    const application = await shop();
    const request = new Request("http://shop.example/x/../admin");
    expect(await (await application.fetch(request)).text()).toBe("the administration");
  });

  test("S131 is refused with 501 if its transfer coding is not only chunked", async () => {
    const application = await shop();
    const post = (coding: string) =>
      application.fetch(
        new Request("http://shop.example/echo", {
          method: "POST",
          headers: { "transfer-encoding": coding, "content-type": "application/x-www-form-urlencoded" },
          body: "a=1",
        }),
      );
    expect((await post("gzip, chunked")).status).toBe(501);
    expect((await post("chunked")).status).toBe(200);
  });
});
