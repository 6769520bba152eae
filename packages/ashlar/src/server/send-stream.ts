import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { discard } from "../kernel/index.ts";
import type { PreparedResponse } from "../node/index.ts";

/** How long the headers wait for the first piece, in milliseconds. */
const PATIENCE_MS = 250;

/**
 * Sends an answer whose body is a stream, piece by piece, as fast as its receiver takes them. The headers wait for the
 * first piece: where the stream fails before it, nothing has been sent, and another answer can be. They wait a quarter of
 * a second and no longer, because who asks for events wants to know that they will come, however late.
 *
 * @throws what the stream failed with; `response.headersSent` tells whether it had begun
 */
export async function sendStream(response: ServerResponse, prepared: PreparedResponse): Promise<void> {
  const { body } = prepared;
  if (response.destroyed) discard(body);
  else if (body instanceof ReadableStream) await sendOfPlatform(response, prepared, body.getReader());
  else await sendOfNode(response, prepared, body as Readable);
}

type Reader = ReadableStreamDefaultReader<unknown>;

async function sendOfPlatform(response: ServerResponse, prepared: PreparedResponse, reader: Reader): Promise<void> {
  // A read that waits for a silent stream ends by this alone.
  response.once("close", () => reader.cancel().catch(() => {}));
  let { done, value } = await firstOf(reader.read(), response, prepared);
  if (response.destroyed) return;
  if (!done && typeof value !== "string" && !(value instanceof Uint8Array)) {
    throw new TypeError("A stream that is answered gives bytes or text, and this one gives something else.");
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

/** Waits for the first piece, and sends the headers without it where it does not come soon. */
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

/** Waits until a stream has its first piece, or has ended without one. */
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
  return new Error("The stream was closed before it gave anything.");
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
