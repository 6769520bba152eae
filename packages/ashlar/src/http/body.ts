import type { IncomingMessage } from "node:http";
import { nodeExchange } from "../node/index.ts";
import { AshlarError } from "../support/index.ts";
import { mediaType } from "./body-text.ts";
import { message as sentence } from "./messages.ts";
import { parseMultipart } from "./multipart.ts";
import { isJsonType } from "./negotiation.ts";
import type { UploadedFile } from "./uploaded-file.ts";
import "./errors.ts";

/** Limits of a body. */
export interface BodyLimits {
  /** The largest body that is not multipart, and all text fields of one that is, in bytes, unless the route sets its own limit. */
  readonly maxBodyBytes: number;
  /** The largest multipart body, its files included, in bytes, unless the route sets its own limit. */
  readonly maxMultipartBytes: number;
  /** How many fields a form, or a query, may have. */
  readonly maxFields: number;
  /** How many files a multipart form may have. */
  readonly maxFiles: number;
  /** How deep JSON may nest. */
  readonly maxDepth: number;
  /** How many members and elements JSON may have, in all objects and lists together. */
  readonly maxJsonValues: number;
}

/** The default limits: 1 MiB, multipart too, 1000 fields, 20 files, depth 64, 10,000 values. */
export const DEFAULT_BODY_LIMITS: BodyLimits = Object.freeze({
  maxBodyBytes: 1024 * 1024,
  maxMultipartBytes: 1024 * 1024,
  maxFields: 1000,
  maxFiles: 20,
  maxDepth: 64,
  maxJsonValues: 10_000,
});

/** A body as it was read. Only multipart is already parsed; `type` is the complete `Content-Type`, as sent. */
export type RequestBody =
  | { readonly kind: "none" }
  /** It was left to the handler, which streams it. */
  | { readonly kind: "streamed" }
  | { readonly kind: "json" | "form" | "unsupported"; readonly bytes: Uint8Array; readonly type: string }
  | {
      readonly kind: "multipart";
      /** Of the complete body, in bytes. */
      readonly size: number;
      /** `null` if they were too many to keep in addition to the files. */
      readonly bytes: Uint8Array | null;
      readonly fields: readonly (readonly [name: string, value: string])[];
      readonly files: readonly (readonly [name: string, file: UploadedFile])[];
    };

/** The body of a request without one. */
export const NO_BODY: RequestBody = Object.freeze({ kind: "none" });

/** The body of a request whose handler streams it. */
export const STREAMED_BODY: RequestBody = Object.freeze({ kind: "streamed" });

/** The limits of a request for which no route sets any. */
const NO_LIMITS: readonly null[] = Object.freeze([null]);

type BodyKind = Exclude<RequestBody["kind"], "none" | "streamed">;

/**
 * Reports whether a request has a body, without touching it (RFC 9112 §6.3).
 */
export function hasBody(raw: Request): boolean {
  const message = nodeMessage(raw);
  if (message === undefined) return raw.body !== null;
  const { headers } = message;
  const length = headers["content-length"];
  if (length !== undefined) return length !== "0";
  if (message.httpVersionMajor === 1) return headers["transfer-encoding"] !== undefined;
  // HTTP/2 frames a body without a header for it.
  return message.method !== "GET" && message.method !== "HEAD";
}

/** Sends `100 Continue` to a client that waits for it. Called just before the body is read. */
export function inviteBody(raw: Request): void {
  const served = nodeExchange(raw);
  if (served?.awaitsContinue !== true) return;
  served.awaitsContinue = false;
  served.res?.writeContinue();
}

/**
 * Reads the body of a request, within limits of bytes. Afterwards `raw` has no body left.
 *
 * @param routeLimits the limits of the routes that the request may be for, in bytes; the largest counts, and for a route
 *   without one (`null`) the application's own
 * @param keepsBytes whether to keep the bytes of multipart too, however many they are; default: up to `maxBodyBytes`
 * @throws `E_PAYLOAD_TOO_LARGE` before a byte is read if `Content-Length` is too large, otherwise as soon as the limit is
 *   exceeded; `E_INVALID_BODY` if the client disconnected or a multipart body is malformed; `E_UNSUPPORTED_MEDIA_TYPE`
 *   if the body is compressed
 */
export async function readBody(
  raw: Request,
  limits: BodyLimits,
  routeLimits: readonly (number | null)[] = NO_LIMITS,
  keepsBytes = false,
): Promise<RequestBody> {
  if (!hasBody(raw)) return NO_BODY;
  const type = raw.headers.get("content-type") ?? "";
  const kind = bodyKind(type);
  const usual = kind === "multipart" ? limits.maxMultipartBytes : limits.maxBodyBytes;
  const maxBytes = Math.max(...routeLimits.map((limit) => limit ?? usual));
  if (Number(raw.headers.get("content-length")) > maxBytes) throw tooLarge(maxBytes);
  if (kind !== "unsupported") refuseEncoded(raw);
  inviteBody(raw);
  const message = nodeMessage(raw);
  const bytes = await (message === undefined ? readStream(raw, maxBytes) : readMessage(message, maxBytes));
  if (bytes.length === 0) return NO_BODY;
  if (kind !== "multipart") return { kind, bytes, type };
  // A route's higher or lower limit applies to its text fields too.
  const isUsual = routeLimits.every((limit) => limit === null);
  const form = await parseMultipart(bytes, type, isUsual ? limits : { ...limits, maxBodyBytes: maxBytes });
  const kept = keepsBytes || bytes.length <= limits.maxBodyBytes ? bytes : null;
  return { kind, size: bytes.length, bytes: kept, ...form };
}

/**
 * Refuses a body that was read for several routes and turns out to be for one with a lower limit.
 *
 * @param routeLimit that route's limit, in bytes; `null` if it has none
 * @throws `E_PAYLOAD_TOO_LARGE`
 */
export function refuseTooLarge(body: RequestBody, limits: BodyLimits, routeLimit: number | null): void {
  if (body.kind === "none" || body.kind === "streamed") return;
  const isMultipart = body.kind === "multipart";
  const maxBytes = routeLimit ?? (isMultipart ? limits.maxMultipartBytes : limits.maxBodyBytes);
  if ((isMultipart ? body.size : body.bytes.length) > maxBytes) throw tooLarge(maxBytes);
  if (!isMultipart) return;
  const fieldBytes = body.fields.reduce((sum, [, value]) => sum + Buffer.byteLength(value), 0);
  const maxFieldBytes = routeLimit ?? limits.maxBodyBytes;
  if (fieldBytes > maxFieldBytes) throw tooLarge(maxFieldBytes);
}

function bodyKind(contentType: string): BodyKind {
  const type = mediaType(contentType);
  if (isJsonType(contentType)) return "json";
  if (type === "application/x-www-form-urlencoded") return "form";
  return type === "multipart/form-data" ? "multipart" : "unsupported";
}

/** RFC 9110 §15.5.16: an unsupported coding gets a 415, with the supported ones. */
function refuseEncoded(raw: Request): void {
  const encoding = raw.headers.get("content-encoding");
  if (encoding === null || encoding.toLowerCase() === "identity") return;
  throw new AshlarError("E_UNSUPPORTED_MEDIA_TYPE", sentence("body.compressed"), {
    headers: { "accept-encoding": "identity" },
  });
}

/**
 * Returns the `node:http` message behind a request that srvx made. Reading it directly is fastest, and the only way to a
 * body sent with GET.
 */
export function nodeMessage(raw: Request): IncomingMessage | undefined {
  return nodeExchange(raw)?.req;
}

// Don't wait for the rest of the body: the connection ends with the response (RFC 9110 §15.5.14).
export function tooLarge(maxBytes: number): AshlarError {
  return new AshlarError("E_PAYLOAD_TOO_LARGE", sentence("body.tooLarge", { max: maxBytes }), {
    headers: { connection: "close" },
  });
}

export function clientGone(cause: unknown): AshlarError {
  return new AshlarError("E_INVALID_BODY", sentence("body.cutOff"), { cause });
}

export function alreadyRead(): AshlarError {
  return new AshlarError(
    "E_INTERNAL",
    "The body of the request was read before the application could read it. Put application.handler before the body parsers " +
      "of the framework around it, such as express.json(), and pass application.fetch a request whose body is unread.",
  );
}

async function readStream(raw: Request, maxBytes: number): Promise<Uint8Array> {
  if (raw.bodyUsed || raw.body === null) throw alreadyRead();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = raw.body.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw clientGone(error);
    });
    if (done) return join(chunks);
    size += value.byteLength;
    if (size > maxBytes) {
      // A turn later: the platform's own form bodies fail, uncatchably, if canceled during a chunk.
      setImmediate(() => reader.cancel().catch(ignore));
      throw tooLarge(maxBytes);
    }
    chunks.push(value);
  }
}

function readMessage(message: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  if (message.errored !== null || (message.destroyed && !message.complete)) {
    return Promise.reject(clientGone(message.errored));
  }
  if (message.readableEnded || message.destroyed) return Promise.reject(alreadyRead());
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    const settle = (error: AshlarError | null): void => {
      message.off("data", onData).off("end", onEnd).off("close", onClose);
      if (error === null) resolve(join(chunks));
      else reject(error);
    };
    const onData = (chunk: Uint8Array): void => {
      size += chunk.length;
      chunks.push(chunk);
      if (size <= maxBytes) return;
      message.pause();
      settle(tooLarge(maxBytes));
    };
    const onEnd = (): void => settle(null);
    const onClose = (): void => settle(clientGone(message.errored));
    message.on("data", onData).once("end", onEnd).once("close", onClose).on("error", ignore);
  });
}

/** `close`, which follows an error, reports it; without a listener, an error of a stream ends the process. */
function ignore(): void {}

function join(chunks: readonly Uint8Array[]): Uint8Array {
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}
