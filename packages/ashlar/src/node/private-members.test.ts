import { globSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, createServer as createNetServer, type Socket } from "node:net";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Node, parseSync, Visitor } from "oxc-parser";
import { FastResponse } from "srvx";
import { NodeRequest } from "srvx/node";
import { expect, onTestFinished, test } from "vitest";
import {
  isNodeResponse,
  nodeExchange,
  parsedUrl,
  plainTarget,
  preparedByNode,
  stopReading,
  takenBytes,
  unfinishedResponse,
} from "./private-members.ts";

const SOURCE = join(import.meta.dirname, "..");

/** A request to a `node:http` server, as srvx creates it. */
async function served(path: string): Promise<{ request: Request; req: IncomingMessage; res: ServerResponse }> {
  const { promise, resolve } = Promise.withResolvers<{ request: Request; req: IncomingMessage; res: ServerResponse }>();
  const server = createServer((req, res) => resolve({ request: new NodeRequest({ req, res }), req, res }));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as { port: number };
  fetch(`http://127.0.0.1:${port}${path}`).catch(() => {});
  return await promise;
}

/** Request targets with each character that a client may send, at each place in a path and in a query. */
const TARGETS = ["/", "/a/b?c=d", "/?", "/a?", "/.a", "/a.b", "/./b", "/a/../b", "/a/..", "/a?b=/../c"].concat(
  Array.from({ length: 127 - 33 }, (_, index) => String.fromCharCode(33 + index)).flatMap((one) => [
    `/a${one}b`,
    `/${one}`.replace("//", "/"),
    `/a/${one}/b`,
    `/a?b${one}c`,
    `/%2${one}/b`,
  ]),
);

test("a target classified as plain equals a URL parser's result", async () => {
  const { req, res } = (await served("/")) as { req: IncomingMessage & { url: string }; res: ServerResponse };
  const plain = TARGETS.filter((url) => {
    req.url = url;
    const request = new NodeRequest({ req, res });
    const target = plainTarget(request);
    if (target === null) return false;
    const { pathname, search } = new URL(`http://localhost${target}`);
    expect(target).toBe(pathname + (target.endsWith("?") ? "?" : search));
    expect(parsedUrl(request)!.pathname).toBe(pathname);
    return true;
  });
  // Targets with letters, digits and most punctuation, but not with escapes, dots after a slash, or characters that a
  // parser escapes.
  expect(plain).toEqual(
    expect.arrayContaining(["/", "/a/b?c=d", "/a?", "/a.b", "/a-b", "/a~b", "/a?b=c", "/azb", "/a9b"]),
  );
  for (const one of ["/.a", "/./b", "/a/../b", "/a/..", "/a%b", "/a?b'c", "/a\\b", "/a#b", '/a"b', "/a?b=/../c"]) {
    expect(plain).not.toContain(one);
  }
});

test("a request from srvx has the message and the response of node:http, and its parsed URL", async () => {
  const { request, req, res } = await served("/orders/7%20a?from=x%20y");
  expect(nodeExchange(request)?.req).toBe(req);
  expect(nodeExchange(request)?.res).toBe(res);
  expect(parsedUrl(request)).toMatchObject({ pathname: "/orders/7%20a", search: "?from=x%20y" });
});

test("srvx keeps the object with the message, the response and the server's additions", async () => {
  const { req, res } = await served("/");
  const trace = { id: "a" };
  const exchange = { req, res, trace, awaitsContinue: true };
  expect(nodeExchange(new NodeRequest(exchange))).toBe(exchange);
});

test("a standard Request has none of them", () => {
  const request = new Request("http://localhost/a?b=c");
  expect([nodeExchange(request), parsedUrl(request)]).toEqual([undefined, undefined]);
});

test("srvx prepares its own responses for node:http, with the length of the body, but not a standard Response", () => {
  const response = new FastResponse("äb", { status: 201, headers: { "x-a": "1" } });
  expect(isNodeResponse(response)).toBe(true);
  const { status, headers, body } = preparedByNode(response)!;
  expect([status, body]).toEqual([201, "äb"]);
  const pairs = Array.from({ length: headers.length / 2 }, (_, index) => headers.slice(index * 2, index * 2 + 2));
  expect(Object.fromEntries(pairs)).toMatchObject({ "x-a": "1", "content-length": "3" });
  expect(isNodeResponse(new Response("a"))).toBe(false);
  expect(preparedByNode(new Response("a"))).toBe(null);
});

test("takenBytes counts the bytes that the system has accepted, without those still waiting in the socket", async () => {
  const { promise, resolve } = Promise.withResolvers<Socket>();
  const server = createNetServer(resolve);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const client = connect((server.address() as { port: number }).port, "127.0.0.1").pause();
  const socket = await promise;
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  await new Promise<void>((done) => socket.write("hello", () => done()));
  expect(takenBytes(socket)).toBe(5);
  // More than the system buffers if the other end doesn't read.
  socket.write(Buffer.alloc(64 * 1024 * 1024));
  await expect.poll(() => takenBytes(socket)).toBeGreaterThan(5);
  expect(takenBytes(socket)).toBeLessThan(64 * 1024 * 1024);
  socket.destroy();
  await expect.poll(() => takenBytes(socket)).toBe(null);
});

test("stopReading leaves everything that arrives afterwards in the system", async () => {
  const { promise, resolve } = Promise.withResolvers<Socket>();
  const server = createNetServer(resolve);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const client = connect((server.address() as { port: number }).port, "127.0.0.1");
  const socket = await promise;
  onTestFinished(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  const read = new Promise<string>((done) => {
    socket.once("data", (data) => {
      stopReading(socket);
      done(String(data));
    });
  });
  client.write("first");
  expect(await read).toBe("first");
  await new Promise<void>((done) => client.write("second", () => done()));
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  expect(socket.bytesRead).toBe("first".length);
});

test("unfinishedResponse returns the response that the server is about to send, and null between requests", async () => {
  const { res } = await served("/");
  const socket = res.socket!;
  expect(unfinishedResponse(socket)).toBe(res);
  await new Promise<void>((done) => res.end("a", () => done()));
  await expect.poll(() => unfinishedResponse(socket)).toBe(null);
});

/** The places in the source that use a member beginning with an underscore, or srvx's reference to Node. */
function undocumentedIn(file: string): string[] {
  const text = readFileSync(join(SOURCE, file), "utf8");
  const found: string[] = [];
  const look = (name: Node): void => {
    const says = name.type === "Identifier" ? name.name : name.type === "Literal" ? name.value : null;
    if (typeof says === "string" && /^_[a-zA-Z]/.test(says)) found.push(`${file}: ${says}`);
  };
  new Visitor({
    MemberExpression: ({ property }) => look(property),
    Property: ({ key }) => look(key),
    TSPropertySignature: ({ key }) => look(key),
    TSMethodSignature: ({ key }) => look(key),
    BinaryExpression: ({ left, operator }) => operator === "in" && look(left),
  }).visit(parseSync(file, text).program);
  if (/\bruntime\?*\.node\b/.test(text)) found.push(`${file}: runtime.node`);
  return found;
}

test("no other source touches undocumented members", () => {
  const sources = globSync("**/*.ts", { cwd: SOURCE }).filter((file) => !file.endsWith(".test.ts"));
  const found = sources.map((file) => file.replaceAll("\\", "/")).flatMap(undocumentedIn);
  const [own, others] = [true, false].map((is) => found.filter((at) => at.startsWith("node/") === is));
  expect(others).toEqual([]);
  expect(own).toContain("node/private-members.ts: _url");
});
