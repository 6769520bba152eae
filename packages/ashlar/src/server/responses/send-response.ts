import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { discard, prepare } from "../../kernel/index.ts";
import type { PreparedResponse } from "../../node/index.ts";

/**
 * Sends a Fetch API `Response` through a `node:http` response, in handlers of Express or of `node:http` itself:
 *
 * ```ts
 * express.get("/orders", async (req, res) => {
 *   const visitor = await application.authenticate(req);
 *   if (visitor.user === null) return await sendResponse(res, await visitor.refuse());
 *   visitor.apply(res).end(`Orders of ${visitor.user.name}`);
 * });
 * ```
 *
 * Headers that were already set on `response` are sent too, unless `result` has them. The `Set-Cookie` headers of both
 * are sent.
 *
 * @returns once the response has been handed over
 * @throws the stream's error; `response.headersSent` shows whether part of it has been sent
 */
export async function sendResponse(response: ServerResponse, result: Response): Promise<void> {
  const prepared = prepare(result);
  const earlier = response.getHeader("set-cookie");
  for (const cookie of earlier === undefined ? [] : [earlier].flat())
    prepared.headers.push("set-cookie", String(cookie));
  const { status, headers, body } = prepared;
  if (response.req.method === "HEAD" || status === 204 || status === 304) {
    discard(body);
    response.writeHead(status, headers).end();
  } else if (typeof body === "string" || body instanceof Uint8Array || body === null || body === undefined) {
    response.writeHead(status, headers).end(body ?? "");
  } else {
    await sendStream(response, prepared);
  }
}

/** How long the headers wait for the first chunk, in milliseconds. */
const PATIENCE_MS = 250;

/**
 * Sends a streamed response chunk by chunk, as fast as the client reads. The headers wait for the first chunk, because
 * if the stream fails before it, another response can still be sent. They wait for at most a quarter of a second,
 * because a client that subscribes to events needs to know that it is connected.
 *
 * @throws the stream's error; `response.headersSent` shows whether sending had started
 */
export async function sendStream(response: ServerResponse, prepared: PreparedResponse): Promise<void> {
  const { body } = prepared;
  if (response.destroyed) discard(body);
  else if (body instanceof ReadableStream) await sendOfPlatform(response, prepared, body.getReader());
  else await sendOfNode(response, prepared, body as Readable);
}

type Reader = ReadableStreamDefaultReader<unknown>;

async function sendOfPlatform(response: ServerResponse, prepared: PreparedResponse, reader: Reader): Promise<void> {
  // Only this ends a pending read from a silent stream.
  response.once("close", () => reader.cancel().catch(() => {}));
  let { done, value } = await firstOf(reader.read(), response, prepared);
  if (response.destroyed) return;
  if (!done && typeof value !== "string" && !(value instanceof Uint8Array)) {
    throw new TypeError("A response stream must yield bytes or text, but this one yielded something else.");
  }
  writeHead(response, prepared);
  while (!done && !response.destroyed) {
    if (!response.write(value as Uint8Array)) await drained(response);
    ({ done, value } = await reader.read());
  }
  response.end();
}

async function sendOfNode(response: ServerResponse, prepared: PreparedResponse, body: Readable): Promise<void> {
  const release = () => void body.destroy();
  response.once("close", release);
  await firstOf(begun(body), response, prepared);
  if (response.destroyed) return;
  writeHead(response, prepared);
  response.off("close", release);
  await pipeline(body, response);
}

/** Waits for the first chunk, or sends the headers alone if it doesn't arrive soon. */
async function firstOf<T>(piece: Promise<T>, response: ServerResponse, prepared: PreparedResponse): Promise<T> {
  if (!(await isSoon(piece)) && !response.destroyed) {
    writeHead(response, prepared);
    response.flushHeaders();
  }
  return piece;
}

function isSoon(piece: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, PATIENCE_MS, false);
    piece.then(() => resolve(true), reject).finally(() => clearTimeout(timer));
  });
}

/** Waits until a stream has its first chunk or has ended without one. */
function begun(body: Readable): Promise<void> {
  if (body.errored) return Promise.reject(body.errored);
  if (body.readableEnded) return Promise.resolve();
  if (body.destroyed) return Promise.reject(closedEarly());
  return new Promise((resolve, reject) => {
    body.once("readable", resolve).once("error", reject);
    body.once("close", () => reject(closedEarly()));
  });
}

function closedEarly(): Error {
  return new Error("The stream was closed before its first chunk.");
}

function writeHead(response: ServerResponse, { status, statusText, headers }: PreparedResponse): void {
  if (response.headersSent) return;
  if (statusText) response.writeHead(status, statusText, headers);
  else response.writeHead(status, headers);
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}
