import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { FastResponse } from "srvx";
import { afterEach, expect, test } from "vitest";
import { createLogger } from "../../boot/log/create-logger.ts";
import { TrustedProxies } from "../../http/index.ts";
import type { FetchFunction } from "../../kernel/dispatch/mounts.ts";
import { nodeHandler } from "./node-handler.ts";

const servers: Server[] = [];
const logged: string[] = [];

afterEach(() => {
  logged.length = 0;
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const rescue = (_request: Request, error: unknown) => new FastResponse(`rescued: ${error}`, { status: 500 });

/** Serves `fetch`, sends it a raw request, and returns everything received until the connection ends. */
function exchange(fetch: FetchFunction, target = "/", method = "GET", host = "a.example"): Promise<string> {
  const settings = { name: "x", environment: "test", log: { level: "info", requests: false } } as const;
  const logger = createLogger(settings, { write: (line) => void logged.push(String(JSON.parse(line).err?.message)) });
  const server = createServer(nodeHandler({ fetch, rescue }, new TrustedProxies(), logger)).listen(0);
  servers.push(server);
  const { port } = server.address() as { port: number };
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    });
    socket.on("data", (data) => (received += String(data)));
    socket.on("close", () => resolve(received)).on("error", () => {});
  });
}

const withoutDate = (text: string) => text.replace(/Date: .*\r\n/, "").replaceAll("\r\n", "\n");

test("text is sent with its length, and each cookie on its own line", async () => {
  const headers: [string, string][] = [
    ["content-type", "text/plain"],
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
  ];
  expect(withoutDate(await exchange(() => new FastResponse("hé", { status: 201, headers })))).toBe(
    "HTTP/1.1 201 Created\ncontent-type: text/plain\nset-cookie: a=1\nset-cookie: b=2\ncontent-length: 3\nConnection: close\n\nhé",
  );
});

test("bytes, empty bodies, both kinds of streams and standard responses arrive complete", async () => {
  const bodyOf = async (fetch: FetchFunction) => (await exchange(fetch)).split("\r\n\r\n")[1];
  expect(await bodyOf(() => new FastResponse(new Uint8Array([97, 98])))).toBe("ab");
  expect(await bodyOf(() => new FastResponse(null, { status: 204 }))).toBe("");
  expect(await bodyOf(async () => new Response("platform"))).toContain("platform");
  expect(await bodyOf(() => Response.json({ a: 1 }))).toContain('{"a":1}');
  const stream = () => new Response(new Blob(["stream"]).stream());
  expect(await bodyOf(stream)).toContain("stream");
  expect(await bodyOf(() => new FastResponse(Readable.from(["node ", "stream"]) as never))).toContain("stream");
});

test("HEAD has no body, even if the response has one", async () => {
  const text = await exchange(() => new FastResponse("abc"), "/", "HEAD");
  expect(text).toMatch(/content-length: 3\r\n(.*\r\n)*\r\n$/);
});

test.each([
  ["/a?b=c", "http://a.example/a?b=c"],
  ["http://b.example/x", "http://b.example/x"],
  ["*", "http://a.example/*"],
  ["//c.example/x", "http://a.example//c.example/x"],
])("the target %s becomes the URL %s", async (target, url) => {
  expect(await exchange((request) => new FastResponse(request.url), target)).toContain(`\r\n\r\n${url}`);
});

test.each(["nowhere", "ftp://a.example/", "javascript:alert(1)"])(
  "the target %s is refused (RFC 9112 §3.2)",
  async (target) => {
    expect(await exchange(() => expect.unreachable(), target)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  },
);

test.each(["a:99999", "[::::]", "999.999.999.999", "1.2.3.4.5", "a b", "a,b", "a/b", "x@a", "a?b", "ü.example"])(
  "the host %s is refused (RFC 9112 §3.2)",
  async (host) => {
    for (const target of ["/", "/<>", "http://b.example/"]) {
      const text = await exchange(() => expect.unreachable(), target, "GET", host);
      expect(withoutDate(text)).toBe("HTTP/1.1 400 Bad Request\nconnection: close\ncontent-length: 0\n\n");
    }
    expect(logged).toEqual([]);
  },
);

test.each(["a.example", "a_b.example:8080", "127.0.0.1:3000", "[::1]:3000", "[2001:db8::1]", "a.example.", ""])(
  "the host %j is accepted",
  async (host) => {
    expect(await exchange(() => new FastResponse("ok"), "/<>", "GET", host)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  },
);

test("S14 a host with a colon but no port is accepted as the host without the colon (RFC 3986 §3.2.3)", async () => {
  const text = await exchange((request) => new FastResponse(request.url), "/a", "GET", "example.com:");
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(new URL(text.split("\r\n\r\n")[1]!).href).toBe("http://example.com/a");
});

test("a response without content has a content-length of 0", async () => {
  const headers: [string, string][] = [["location", "/x"]];
  const redirect = await exchange(() => new FastResponse(null, { status: 302, headers }));
  expect(withoutDate(redirect)).toBe("HTTP/1.1 302 Found\nlocation: /x\ncontent-length: 0\nConnection: close\n\n");
  const head = await exchange(() => new FastResponse(null, { headers: [["Content-Length", "5"]] }), "/", "HEAD");
  expect(withoutDate(head)).toBe("HTTP/1.1 200 OK\ncontent-length: 5\nConnection: close\n\n");
  for (const status of [204, 304]) {
    expect(await exchange(() => new FastResponse(null, { status }))).not.toMatch(/content-length/i);
  }
});

test("a fetch that throws or rejects is a 500 without a message, and is logged", async () => {
  const thrown = await exchange(() => {
    throw new Error("thrown s3cret");
  });
  const rejected = await exchange(() => Promise.reject(new Error("rejected s3cret")));
  for (const text of [thrown, rejected]) {
    expect(text).toMatch(/^HTTP\/1\.1 500 Internal Server Error\r\n/);
    expect(text).not.toContain("s3cret");
  }
  expect(logged).toEqual(["thrown s3cret", "rejected s3cret"]);
});

test("S46 a header with a line break is not sent", async () => {
  const text = await exchange(() => new FastResponse("x", { headers: [["x-a", "b\r\nset-cookie: stolen=1"]] }));
  expect(text).toMatch(/^HTTP\/1\.1 500 /);
  expect(text).not.toContain("stolen");
  expect(logged[0]).toContain("Invalid character in header content");
});

test("a stream that breaks off ends the connection, so that clients notice that it is incomplete", async () => {
  let pulls = 0;
  const stream = new ReadableStream({
    pull(controller) {
      pulls++;
      if (pulls === 1) controller.enqueue(new TextEncoder().encode("half"));
      else controller.error(new Error("broken"));
    },
  });
  const text = await exchange(() => new Response(stream));
  expect(text).not.toMatch(/\r\n0\r\n\r\n$/);
  expect(text.startsWith("HTTP/1.1 200 OK") || text === "").toBe(true);
  await expect.poll(() => logged).toEqual(["broken"]);
});

test("a stream that fails before its first byte is replaced by an error response", async () => {
  const stream = () => new ReadableStream({ start: (controller) => controller.error(new Error("early")) });
  expect(withoutDate(await exchange(() => new Response(stream())))).toBe(
    "HTTP/1.1 500 Internal Server Error\ncontent-type: text/plain; charset=UTF-8\ncontent-length: 21\nConnection: close\n\nrescued: Error: early",
  );
  expect(logged).toEqual([]);
});

test("a client that disconnects during a stream cancels it, and is not logged", async () => {
  let cancelled = false;
  const stream = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
    cancel: () => {
      cancelled = true;
    },
  });
  const settings = { name: "x", environment: "test", log: { level: "info", requests: false } } as const;
  const logger = createLogger(settings, { write: (line) => void logged.push(line) });
  const server = createServer(
    nodeHandler({ fetch: () => new Response(stream), rescue }, new TrustedProxies(), logger),
  ).listen(0);
  servers.push(server);
  const socket = connect((server.address() as { port: number }).port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
  socket.once("data", () => socket.destroy());
  await expect.poll(() => cancelled).toBe(true);
  expect(logged).toEqual([]);
});
