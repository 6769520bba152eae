import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { FastResponse } from "srvx";
import { afterEach, expect, test } from "vitest";
import { createLogger } from "./logger.ts";
import type { FetchFunction } from "./mounts.ts";
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

/** Serves `fetch`, sends raw text to it and gives what comes back until the connection ends. */
function exchange(fetch: FetchFunction, target = "/", method = "GET"): Promise<string> {
  const settings = { name: "x", environment: "test", log: { level: "info", requests: false } } as const;
  const logger = createLogger(settings, { write: (line) => void logged.push(String(JSON.parse(line).err?.message)) });
  const server = createServer(nodeHandler(fetch, false, logger)).listen(0);
  servers.push(server);
  const { port } = server.address() as { port: number };
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`${method} ${target} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`);
    });
    socket.on("data", (data) => (received += String(data)));
    socket.on("close", () => resolve(received)).on("error", () => {});
  });
}

const withoutDate = (text: string) => text.replace(/Date: .*\r\n/, "").replaceAll("\r\n", "\n");

test("text goes out with its length, and cookies each on their line", async () => {
  const headers: [string, string][] = [
    ["content-type", "text/plain"],
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
  ];
  expect(withoutDate(await exchange(() => new FastResponse("hé", { status: 201, headers })))).toBe(
    "HTTP/1.1 201 Created\ncontent-type: text/plain\nset-cookie: a=1\nset-cookie: b=2\ncontent-length: 3\nConnection: close\n\nhé",
  );
});

test("bytes, nothing, streams of both kinds and the platform's responses arrive whole", async () => {
  const bodyOf = async (fetch: FetchFunction) => (await exchange(fetch)).split("\r\n\r\n")[1];
  expect(await bodyOf(() => new FastResponse(new Uint8Array([97, 98])))).toBe("ab");
  expect(await bodyOf(() => new FastResponse(null, { status: 204 }))).toBe("");
  expect(await bodyOf(async () => new Response("platform"))).toContain("platform");
  expect(await bodyOf(() => Response.json({ a: 1 }))).toContain('{"a":1}');
  const stream = () => new Response(new Blob(["stream"]).stream());
  expect(await bodyOf(stream)).toContain("stream");
  expect(await bodyOf(() => new FastResponse(Readable.from(["node ", "stream"]) as never))).toContain("stream");
});

test("HEAD has no body, also where there is one to send", async () => {
  const text = await exchange(() => new FastResponse("abc"), "/", "HEAD");
  expect(text).toMatch(/content-length: 3\r\n(.*\r\n)*\r\n$/);
});

test.each([
  ["/a?b=c", "http://a.example/a?b=c"],
  ["http://b.example/x", "http://b.example/x"],
  ["*", "http://a.example/*"],
  ["//c.example/x", "http://a.example//c.example/x"],
])("the target %s is the URL %s", async (target, url) => {
  expect(await exchange((request) => new FastResponse(request.url), target)).toContain(`\r\n\r\n${url}`);
});

test.each(["nowhere", "ftp://a.example/", "javascript:alert(1)"])(
  "the target %s is refused (RFC 9112 §3.2)",
  async (target) => {
    expect(await exchange(() => expect.unreachable(), target)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  },
);

test("a fetch that throws or rejects is a 500 without a word, and is logged", async () => {
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

test("S46 a header that would break out is not sent", async () => {
  const text = await exchange(() => new FastResponse("x", { headers: [["x-a", "b\r\nset-cookie: stolen=1"]] }));
  expect(text).toMatch(/^HTTP\/1\.1 500 /);
  expect(text).not.toContain("stolen");
  expect(logged[0]).toContain("Invalid character in header content");
});

test("a stream that breaks off ends the connection, so that nobody takes the half for the whole", async () => {
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
});
