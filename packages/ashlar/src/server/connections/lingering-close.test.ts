import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerOptions } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { FastResponse } from "srvx";
import { expect, onTestFinished, test, vi } from "vitest";
import { createLogger } from "../../boot/log/create-logger.ts";
import { TrustedProxies } from "../../http/index.ts";
import { nodeHandler } from "../handlers/node-handler.ts";
import { lingerIfUnread } from "./lingering-close.ts";

const KIBIBYTE = 1024;
const PATIENCE = { lingerMs: 5000, maxBytes: 100 * KIBIBYTE };

interface Connection {
  /** The client's side of the connection, which stays open when the server's side ends. */
  readonly client: Socket;
  readonly received: () => string;
  /** Resolves when the server's side has ended. */
  readonly ended: Promise<unknown>;
  /** The server's side of the connection. */
  readonly socket: Socket;
}

/** Connects to a new server with this listener. */
async function connection(listener: RequestListener, options: ServerOptions = {}): Promise<Connection> {
  const server = createServer(options, listener).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const client = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
  client.on("error", () => {});
  onTestFinished(() => void client.destroy());
  let received = "";
  client.on("data", (data) => (received += String(data)));
  const [socket] = (await once(server, "connection")) as [Socket];
  return { client, received: () => received, ended: once(client, "end"), socket };
}

/** Responds to every request immediately, without reading its body. */
function refusing(messages: IncomingMessage[] = []): RequestListener {
  return (message, response) => {
    messages.push(message);
    lingerIfUnread(message, response, false, PATIENCE);
    response.writeHead(413, { "content-length": 0 }).end();
  };
}

/** The listener of the framework's server, which records each request it handles. */
function served(handled: string[]): RequestListener {
  const settings = { name: "x", environment: "test", log: { level: "silent", requests: false } } as const;
  const fetch = (request: Request) => {
    handled.push(`${request.method} ${new URL(request.url).pathname}`);
    return new FastResponse("answer");
  };
  const rescue = () => new FastResponse(null, { status: 500 });
  const handler = nodeHandler({ fetch, rescue }, new TrustedProxies(), createLogger(settings));
  return (message, response) => handler(message, response);
}

function head(bytes: number, host = "a"): string {
  return `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${bytes}\r\n\r\n`;
}

/** Waits as long as a slow machine needs, without advancing fake timers. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn();
}

function holdTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

test("S61 a client that keeps sending after its response is disconnected when the time is up", async () => {
  holdTimers();
  const { client, received, ended, socket } = await connection(refusing());
  client.write(head(1_000_000));
  await ended;
  expect(received()).toMatch(/^HTTP\/1\.1 413 [\s\S]*Connection: close\r\n/);
  client.write("still here");
  await until(() => socket.bytesRead === head(1_000_000).length + 10);
  vi.advanceTimersByTime(4999);
  expect(socket.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(socket.destroyed).toBe(true);
});

test("S61 at most the limit is read of the data that a client sends after its response", async () => {
  holdTimers();
  const messages: IncomingMessage[] = [];
  const { client, ended, socket } = await connection(refusing(messages));
  client.write(head(64 * KIBIBYTE * KIBIBYTE));
  await ended;
  client.write("x".repeat(PATIENCE.maxBytes));
  await until(() => socket.bytesRead > PATIENCE.maxBytes);
  expect(messages[0]!.isPaused()).toBe(false);
  client.write("x".repeat(32 * KIBIBYTE * KIBIBYTE));
  await until(() => messages[0]!.isPaused());
  expect(socket.bytesRead).toBeLessThan(2 * KIBIBYTE * KIBIBYTE);
  expect(socket.destroyed).toBe(false);
});

test("S61 a connection is closed as soon as the rest of the body has arrived, and leaves no timer", async () => {
  holdTimers();
  const { client, ended, socket } = await connection(refusing());
  client.write(head(70_000));
  await ended;
  expect(vi.getTimerCount()).toBe(1);
  const closed = once(socket, "close");
  client.write("x".repeat(70_000));
  await closed;
  expect(vi.getTimerCount()).toBe(0);
});

test("S61 a connection whose client wasn't asked to send its body lingers, however short the body is", async () => {
  holdTimers();
  const { client, received, socket } = await connection((message, response) => {
    lingerIfUnread(message, response, true, PATIENCE);
    response.writeHead(413, { "content-length": 0 }).end();
  });
  client.write(head(10));
  await until(() => received().endsWith("\r\n\r\n"));
  expect(received()).toMatch(/^HTTP\/1\.1 413 [\s\S]*Connection: close\r\n/);
  expect(socket.destroyed).toBe(false);
  const closed = once(socket, "close");
  client.write("x".repeat(10));
  await closed;
  expect(vi.getTimerCount()).toBe(0);
});

test("a connection whose body ended while the response was written is closed with the response", async () => {
  holdTimers();
  const { client, ended, socket } = await connection(async (message, response) => {
    lingerIfUnread(message, response, false, PATIENCE);
    response.write("first");
    await message.resume().toArray();
    response.end("last");
  });
  const closed = once(socket, "close");
  client.write(head(70_000) + "x".repeat(70_000));
  await Promise.all([ended, closed]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a connection that was lost before the response was sent leaves no timer", async () => {
  holdTimers();
  const { client, socket } = await connection((message, response) => {
    lingerIfUnread(message, response, false, PATIENCE);
    message.socket.destroy();
  });
  client.write(head(70_000));
  await once(socket, "close");
  socket.destroySoon();
  expect(vi.getTimerCount()).toBe(0);
});

test("the timer of a lingering connection does not keep the process alive", async () => {
  const started = vi.spyOn(globalThis, "setTimeout");
  onTestFinished(() => started.mockRestore());
  const { client, ended } = await connection(refusing());
  client.write(head(70_000));
  await ended;
  const index = started.mock.calls.findIndex(([, ms]) => ms === PATIENCE.lingerMs);
  expect(started.mock.results[index]!.value.hasRef()).toBe(false);
});

test("a connection whose body was read to the end is kept alive", async () => {
  const messages: IncomingMessage[] = [];
  const { client, received } = await connection(async (message, response) => {
    messages.push(message);
    await message.resume().toArray();
    lingerIfUnread(message, response, false, PATIENCE);
    response.writeHead(200, { "content-length": 0 }).end();
  });
  for (const count of [1, 2]) {
    client.write(head(70_000) + "x".repeat(70_000));
    await expect.poll(() => received().match(/HTTP\/1\.1 200/g)).toHaveLength(count);
  }
  expect(received()).not.toMatch(/Connection: close/i);
});

test("S61 up to 65,536 bytes of an unread body are skipped, and the connection is kept alive", async () => {
  const handled: string[] = [];
  const kept = await connection(served(handled));
  kept.client.write(head(65_536));
  await expect.poll(kept.received).toMatch(/answer$/);
  kept.client.write(`${"x".repeat(65_536)}GET /next HTTP/1.1\r\nHost: a\r\n\r\n`);
  await expect.poll(kept.received).toMatch(/answer[\s\S]*answer$/);
  expect(kept.received()).not.toMatch(/Connection: close/i);
  expect(handled).toEqual(["POST /", "GET /next"]);
  const closing = await connection(served([]));
  closing.client.write(head(65_537));
  await closing.ended;
  expect(closing.received()).toMatch(/^HTTP\/1\.1 200 [\s\S]*Connection: close\r\n/);
});

test("S61 an unread body of unknown length is not skipped: the connection closes after the response", async () => {
  const handled: string[] = [];
  const { client, received, ended, socket } = await connection(served(handled));
  const closed = once(socket, "close");
  client.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
  await ended;
  expect(received()).toMatch(/^HTTP\/1\.1 200 [\s\S]*Connection: close\r\n/);
  client.write("0\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  await closed;
  expect(handled).toEqual(["POST /"]);
});

test("S61 a length next to a transfer coding doesn't count, for a server that accepts both", async () => {
  const handled: string[] = [];
  const { client, received, ended, socket } = await connection(served(handled), { insecureHTTPParser: true });
  const closed = once(socket, "close");
  client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
  await ended;
  expect(received()).toMatch(/^HTTP\/1\.1 200 [\s\S]*Connection: close\r\n/);
  client.write("0\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  await closed;
  expect(handled).toEqual(["POST /"]);
});

test("the connection of a request without a body is kept alive, although Node has not seen the request's end", async () => {
  const complete: boolean[] = [];
  const { client, received } = await connection((message, response) => {
    complete.push(message.complete);
    lingerIfUnread(message, response, false, PATIENCE);
    response.writeHead(413, { "content-length": 0 }).end();
  });
  for (const count of [1, 2]) {
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await expect.poll(() => received().match(/HTTP\/1\.1 413/g)).toHaveLength(count);
  }
  expect(received()).not.toMatch(/Connection: close/i);
  expect(complete).toEqual([false, false]);
});

test("S61 nothing that follows an unread body on its connection is handled as a request", async () => {
  const handled: string[] = [];
  const { client, received, ended, socket } = await connection(served(handled));
  const closed = once(socket, "close");
  client.write(head(70_000));
  await ended;
  client.write(`${"x".repeat(70_000)}GET /next HTTP/1.1\r\nHost: a\r\n\r\n`);
  await closed;
  expect(handled).toEqual(["POST /"]);
  expect(received().match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200"]);
});

test("S61 a client whose host is refused gets the response even after sending its whole body", async () => {
  const handled: string[] = [];
  const { client, received, ended } = await connection(served(handled));
  client.pause();
  client.write(head(16 * KIBIBYTE * KIBIBYTE, "a b"));
  await new Promise<void>((resolve) => client.write("x".repeat(16 * KIBIBYTE * KIBIBYTE), () => resolve()));
  client.resume();
  await ended;
  expect(received()).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(handled).toEqual([]);
});
