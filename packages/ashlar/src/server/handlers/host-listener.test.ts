import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { rawSocket } from "../../../test/support/raw-socket.ts";
import { type Application, createApplication, createLogger } from "../../boot/index.ts";
import { type HttpContext, peerAddress } from "../../http/index.ts";
import { Route } from "../../routing/index.ts";
import { sendResponse, withoutItsBody } from "../index.ts";

const seen = ({ request }: HttpContext) => ({
  url: request.raw.url,
  host: request.getHost(),
  address: request.clientAddress,
  token: request.bearerToken(),
  cookie: request.cookie("a"),
});

async function shop(environment: Record<string, string> = {}): Promise<Application> {
  const settings = { name: "Shop", environment: "test", log: { level: "error", requests: false } } as const;
  const application = await createApplication({
    environment: { APP_ENV: "test", ...environment },
    routes: [Route.get("/seen", seen), Route.post("/seen", ({ request }) => [request.all()])],
    logger: createLogger(settings, { write: () => {} }),
  });
  onTestFinished(() => application.shutdown());
  return application;
}

/** Serves a listener with Node's defaults, like other frameworks; returns the port. */
async function listening(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Sends raw request text, and returns the response's status and body. */
async function ask(port: number, ...lines: readonly string[]): Promise<readonly [number, unknown]> {
  const text = [...lines, "Connection: close", "", ""].join("\r\n");
  const answer = await rawSocket(port, text).closed;
  const body = answer.slice(answer.indexOf("\r\n\r\n") + 4);
  return [Number(answer.split(" ")[1]), body.startsWith("{") ? JSON.parse(body) : body];
}

const NO_ONE = { token: null, cookie: null };

test("S109 the address is the socket's, whatever the caller sends or the other framework says", async () => {
  const { handler } = await shop();
  const port = await listening((message, response) => {
    // Express adds these with "trust proxy".
    Object.assign(message, { ip: "6.6.6.6", ips: ["6.6.6.6"] });
    handler(message, response);
  });
  const forged = ["X-Forwarded-For: 6.6.6.6", "Forwarded: for=6.6.6.6", "X-Real-IP: 6.6.6.6", "X-Forwarded-Host: evil"];
  expect(await ask(port, "GET /seen HTTP/1.1", "Host: shop.example", ...forged)).toEqual([
    200,
    { url: "http://shop.example/seen", host: "shop.example", address: "127.0.0.1", ...NO_ONE },
  ]);
});

test("S109 behind a trusted proxy, address, scheme and host are those that it reports", async () => {
  const { handler } = await shop({ TRUSTED_PROXIES: "loopback" });
  const port = await listening(handler);
  const forwarded = [
    "X-Forwarded-For: 6.6.6.6, 203.0.113.7",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Host: shop.example",
  ];
  expect(await ask(port, "GET /seen HTTP/1.1", "Host: inside", ...forwarded)).toEqual([
    200,
    { url: "https://shop.example/seen", host: "shop.example", address: "203.0.113.7", ...NO_ONE },
  ]);
});

test("S109 a field that was sent twice is ignored", async () => {
  const { handler } = await shop();
  const port = await listening((message, response) => {
    // By then, frameworks have read the headers.
    void message.headers.authorization;
    handler(message, response);
  });
  expect((await ask(port, "GET /seen HTTP/1.1", "Host: a.example", "Host: b.example"))[0]).toBe(400);
  const twice = ["Authorization: Bearer one", "Authorization: Bearer two", "Cookie: b=1", "Cookie: a=2"];
  expect(await ask(port, "GET /seen HTTP/1.1", "Host: a.example", ...twice)).toEqual([
    200,
    { url: "http://a.example/seen", host: "a.example", address: "127.0.0.1", token: null, cookie: "2" },
  ]);
});

test("S109 a malformed target or host is refused", async () => {
  const { handler } = await shop();
  const port = await listening(handler);
  for (const target of ["seen", "ftp://a.example/seen", "http://:80/seen"]) {
    expect((await ask(port, `GET ${target} HTTP/1.1`, "Host: a.example"))[0]).toBe(400);
  }
  for (const host of ["a.example/evil", "a b", "user@a.example", "a.example:x"]) {
    expect((await ask(port, "GET /seen HTTP/1.1", `Host: ${host}`))[0]).toBe(400);
  }
  expect((await ask(port, "GET //evil.example/seen HTTP/1.1", "Host: a.example"))[0]).toBe(404);
});

test("the path is the requested one, even if Express has removed a part of it", async () => {
  const { handler } = await shop();
  const port = await listening((message, response) => {
    Object.assign(message, { originalUrl: message.url, url: "/" });
    handler(message, response);
  });
  expect((await ask(port, "GET /seen?a=1 HTTP/1.1", "Host: a.example"))[1]).toMatchObject({
    url: "http://a.example/seen?a=1",
  });
});

test("a body that was already read is an error, and nothing hangs", async () => {
  const { handler } = await shop();
  const port = await listening(async (message, response) => {
    for await (const _ of message);
    handler(message, response);
  });
  const response = await fetch(`http://127.0.0.1:${port}/seen`, {
    method: "POST",
    body: new URLSearchParams({ a: "1" }),
  });
  expect(response.status).toBe(500);
});

test("headers that the other framework has set stay", async () => {
  const { handler } = await shop();
  const port = await listening((message, response) => {
    response.setHeader("x-powered-by", "Express").setHeader("set-cookie", "own=1");
    handler(message, response);
  });
  const response = await fetch(`http://127.0.0.1:${port}/seen`);
  expect([response.status, response.headers.get("x-powered-by"), response.headers.getSetCookie()]).toEqual([
    200,
    "Express",
    ["own=1"],
  ]);
});

/** The properties of the copy, without the body, of a request that another framework responds to. */
async function copied(
  lines: readonly string[],
  prepare: (message: IncomingMessage) => void = () => {},
): Promise<unknown> {
  const port = await listening((message, response) => {
    prepare(message);
    try {
      const { method, url, headers, body } = withoutItsBody(message);
      response.end(JSON.stringify({ method, url, body, headers: Object.fromEntries(headers) }));
    } catch (error) {
      response.writeHead((error as { status: number }).status).end();
    }
  });
  const [status, body] = await ask(port, ...lines);
  return status === 200 ? body : status;
}

test("S109 the URL of a node:http request can't lead to another host", async () => {
  const urlOf = async (target: string, host = "a.example:8080") =>
    ((await copied([`GET ${target} HTTP/1.1`, `Host: ${host}`])) as { url?: string }).url ?? "refused";
  expect(await urlOf("/orders?a=1")).toBe("http://a.example:8080/orders?a=1");
  expect(await urlOf("//evil.example/orders")).toBe("http://a.example:8080//evil.example/orders");
  expect(await urlOf("/\\evil.example/")).toBe("refused");
  expect(await urlOf("http://b.example/orders")).toBe("http://b.example/orders");
  expect(await urlOf("http://user:secret@b.example/")).toBe("refused");
  expect(await urlOf("ftp://b.example/")).toBe("refused");
  expect(await urlOf("/", "a.example/evil")).toBe("refused");
  expect(await urlOf("/", "user@a.example")).toBe("refused");
  expect(await urlOf("/", "shop.example.")).toBe("http://shop.example/");
  expect(await copied(["GET / HTTP/1.1", "Host: a.example", "Host: b.example"])).toBe(400);
  expect(await copied(["TRACE / HTTP/1.1", "Host: a.example"])).toBe(405);
});

test("S53 a copy has the address of its socket, whatever its host passes instead of an address", async () => {
  const addresses: unknown[] = [];
  const port = await listening((message, response) => {
    for (const passed of ["", {}, null, undefined, "203.0.113.5"] as string[]) {
      addresses.push(peerAddress(withoutItsBody(message, passed)));
    }
    response.end("{}");
  });
  await ask(port, "GET / HTTP/1.1", "Host: a.example");
  expect(addresses).toEqual([...Array(4).fill("127.0.0.1"), "203.0.113.5"]);
});

test("a method that a copy can't have is refused, in upper or lower case", () => {
  for (const method of ["CONNECT", "trace", "Track"]) {
    const message = { method, url: "/", rawHeaders: ["Host", "a.example"], headers: {}, socket: {} };
    expect(() => withoutItsBody(message as unknown as IncomingMessage)).toThrow(
      expect.objectContaining({ code: "E_METHOD_NOT_ALLOWED", status: 405 }),
    );
  }
});

test("S118 the Host header of a Fetch request can't choose its path", () => {
  const sent = (host: string) => new Request("http://shop.example/orders", { headers: { host } });
  expect(withoutItsBody(sent("shop.example:8080")).headers.get("host")).toBe("shop.example:8080");
  for (const host of ["shop.example/login?", "shop.example#", "user@shop.example", "a b", "shop.example\\"]) {
    expect(() => withoutItsBody(sent(host))).toThrow(expect.objectContaining({ code: "E_BAD_REQUEST", status: 400 }));
  }
});

test("S118 on any host, the requested host is read as on the application's own server, even behind a proxy", async () => {
  const application = await shop({ TRUSTED_PROXIES: "loopback" });
  const [status, hosts] = await ask(
    await listening((message, response) => {
      const found = application.hosting.run(message, undefined, ({ request }) => [
        request.getHost(),
        request.isSecure(),
      ]);
      void found.then((value) => response.end(`{"hosted":${JSON.stringify(value)}}`));
    }),
    ...["GET http://shop.example/seen HTTP/1.1", "Host: evil.example", "X-Forwarded-Proto: https"],
  );
  expect([status, hosts]).toEqual([200, { hosted: ["shop.example", true] }]);
  const own = await ask(
    await listening(application.handler),
    ...["GET http://shop.example/seen HTTP/1.1", "Host: evil.example", "X-Forwarded-Proto: https"],
  );
  expect(own).toMatchObject([200, { host: "shop.example", url: "https://shop.example/seen" }]);
});

test("S109 a copy of a node:http request has every field that was sent, and no body", async () => {
  const lines = ["POST / HTTP/1.1", "Host: a.example", "Content-Length: 0", "Cookie: a=1", "Cookie: b=2"];
  const twice = ["Authorization: Bearer one", "Authorization: Bearer two"];
  expect(await copied([...lines, ...twice])).toEqual({
    method: "POST",
    url: "http://a.example/",
    body: null,
    headers: expect.objectContaining({ cookie: "a=1; b=2", authorization: "Bearer one, Bearer two" }),
  });
});

test("a Response is sent as it is, with the headers that were set before", async () => {
  const stream = () => new Blob(["stre", "am"]).stream();
  const port = await listening((message, response) => {
    response.setHeader("x-own", "yes").setHeader("set-cookie", ["own=1", "other=2"]);
    const headers = { "set-cookie": "a=1" };
    const made =
      message.url === "/stream" ? new Response(stream(), { headers }) : new Response("text", { status: 201, headers });
    void sendResponse(response, message.url === "/none" ? new Response(null, { status: 204 }) : made);
  });
  for (const [path, status, text, cookies] of [
    ["/", 201, "text", ["a=1", "own=1", "other=2"]],
    ["/stream", 200, "stream", ["a=1", "own=1", "other=2"]],
    ["/none", 204, "", ["own=1", "other=2"]],
  ] as const) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    expect([response.status, await response.text(), response.headers.get("x-own")]).toEqual([status, text, "yes"]);
    expect(response.headers.getSetCookie()).toEqual(cookies);
  }
  expect((await fetch(`http://127.0.0.1:${port}/`, { method: "HEAD" })).status).toBe(201);
});
