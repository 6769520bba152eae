import type { IncomingMessage } from "node:http";
import { AshlarError } from "../../support/index.ts";
import { isJsonType, mediaType } from "../headers/media-types.ts";
import { message as sentence } from "../messages.ts";
import {
  alreadyRead,
  announcedLength,
  type BodySource,
  type Bytes,
  bodySource,
  CollectedBytes,
  clientGone,
  hasBody,
  inviteBody,
  nodeMessage,
  refuseAnnounced,
  tooLarge,
} from "./body-source.ts";
import type { HeldBody } from "./held-bodies.ts";
import { type Fields, FormParts, type MultipartForm, readForm, readLeadingFields } from "./multipart.ts";
import "../errors.ts";

/** Limits of a body. */
export interface BodyLimits {
  /**
   * The largest body that isn't multipart, unless the route sets its own limit; also the limit for all text fields of a
   * multipart body together.
   */
  readonly maxBodyBytes: number;
  /** The largest multipart body, its files included, in bytes, unless the route sets its own limit. */
  readonly maxMultipartBytes: number;
  /** How many fields a form, or a query, may have. */
  readonly maxFields: number;
  /** How many files a multipart form may have. */
  readonly maxFiles: number;
  /** How deeply JSON may be nested. */
  readonly maxDepth: number;
  /** How many members and elements JSON may have, in all objects and lists together. */
  readonly maxJsonValues: number;
  /** How many bytes of a form's files are kept in memory. The rest is written to disk. */
  readonly maxFormMemoryBytes: number;
  /** The memory that the bodies of all requests may take at the same time, in bytes. */
  readonly maxMemoryBytes: number;
  /** The disk space that the files of all requests may take at the same time, in bytes. */
  readonly maxDiskBytes: number;
}

/**
 * The default limits: 1 MiB per body, multipart or not; 1000 fields, 20 files, depth 64, and 10,000 values; 1 MiB of a
 * form's files in memory; and for all bodies together, 256 MiB in memory and 8 GiB on disk.
 */
export const DEFAULT_BODY_LIMITS: BodyLimits = Object.freeze({
  maxBodyBytes: 1024 * 1024,
  maxMultipartBytes: 1024 * 1024,
  maxFields: 1000,
  maxFiles: 20,
  maxDepth: 64,
  maxJsonValues: 10_000,
  maxFormMemoryBytes: 1024 * 1024,
  maxMemoryBytes: 256 * 1024 ** 2,
  maxDiskBytes: 8 * 1024 ** 3,
});

/** A body that was read. Only multipart is already parsed; `type` is the complete `Content-Type`, as sent. */
export type RequestBody =
  | { readonly kind: "none" }
  /** The body is left to the handler, which streams it. */
  | { readonly kind: "streamed" }
  /** Only the form's fields before its first file were read; the handler streams the rest. */
  | { readonly kind: "parts"; readonly fields: Fields; readonly rest: FormParts }
  | { readonly kind: "json" | "form" | "unsupported"; readonly bytes: Uint8Array; readonly type: string }
  | {
      readonly kind: "multipart";
      /** The length of the complete body, in bytes. */
      readonly size: number;
      /** `null` if there were too many to keep in addition to the files. */
      readonly bytes: Uint8Array | null;
      readonly fields: MultipartForm["fields"];
      readonly files: MultipartForm["files"];
    };

/** Stands for a missing body. */
export const NO_BODY: RequestBody = Object.freeze({ kind: "none" });

/** The body of a request whose handler streams it. */
export const STREAMED_BODY: RequestBody = Object.freeze({ kind: "streamed" });

/** The limits of a request whose route doesn't set any. */
const NO_LIMITS: readonly null[] = Object.freeze([null]);

type BodyKind = Exclude<RequestBody["kind"], "none" | "streamed" | "parts">;

/** How to read a body. */
export interface BodyReading {
  /**
   * The limits, in bytes, of the routes that the request may be for. The largest one applies, and `null` stands for the
   * application's own limit, which is the default.
   */
  readonly routeLimits?: readonly (number | null)[];
  /**
   * Whether to keep the bytes of a multipart body too, however many there are; by default, they are kept up to
   * `maxBodyBytes`.
   */
  readonly keepsBytes?: boolean;
  /** Whether to leave a form's files, and everything after them, to the handler; default: `false`. */
  readonly leavesFiles?: boolean;
}

/**
 * Reads a request's body, within the limits. Afterwards, `raw` has no body left, unless its files are left to the
 * handler.
 *
 * @param held receives the kept parts of the body. The caller has to release it, even after an error.
 * @throws `E_PAYLOAD_TOO_LARGE` before a byte is read if `Content-Length` is too large, otherwise as soon as the limit is
 *   exceeded; `E_INVALID_BODY` if the client disconnected or a multipart body is malformed; `E_UNSUPPORTED_MEDIA_TYPE`
 *   if the body is compressed; `E_OVERLOADED` if there is no room for it, before a byte is read if its length is known;
 *   `E_DISK_FULL`
 */
export async function readBody(
  raw: Request,
  limits: BodyLimits,
  held: HeldBody,
  { routeLimits = NO_LIMITS, keepsBytes = false, leavesFiles = false }: BodyReading = {},
): Promise<RequestBody> {
  if (!hasBody(raw)) return NO_BODY;
  const type = raw.headers.get("content-type") ?? "";
  const kind = bodyKind(type);
  const isForm = kind === "multipart";
  // If a route streams a form's files, its limit applies only to forms, because other bodies are read into memory.
  const maxBytes = largestOf(leavesFiles && !isForm ? NO_LIMITS : routeLimits, limits, isForm);
  refuseAnnounced(raw, maxBytes);
  refuseEncoded(raw, kind);
  if (isForm && leavesFiles) return leaveFiles(raw, type, limits, held, maxBytes);
  held.reserve(announcedLength(raw) ?? 0, isForm);
  inviteBody(raw);
  if (isForm) {
    const maxKeptBytes = keepsBytes ? Number.POSITIVE_INFINITY : limits.maxBodyBytes;
    return readMultipart(raw, type, limits, held, { maxBytes, maxKeptBytes });
  }
  const bytes = await readBytes(raw, maxBytes, held);
  held.complete();
  return bytes.length === 0 ? NO_BODY : { kind, bytes, type };
}

/** The largest of several routes' limits, in bytes; `null` stands for the application's own. */
function largestOf(routeLimits: readonly (number | null)[], limits: BodyLimits, isForm: boolean): number {
  const usual = isForm ? limits.maxMultipartBytes : limits.maxBodyBytes;
  return Math.max(...routeLimits.map((limit) => limit ?? usual));
}

async function readMultipart(
  raw: Request,
  type: string,
  limits: BodyLimits,
  held: HeldBody,
  bounds: { readonly maxBytes: number; readonly maxKeptBytes: number },
): Promise<RequestBody> {
  const source = new CountedSource(bodySource(raw), bounds, held);
  try {
    const first = await source.read();
    if (first === null) return NO_BODY;
    const form = await readForm(new FormParts(startingWith(first, source), type, limits, held), held);
    held.complete();
    return { kind: "multipart", size: source.size, bytes: source.kept, ...form };
  } catch (error) {
    source.close();
    throw error;
  }
}

async function leaveFiles(
  raw: Request,
  type: string,
  limits: BodyLimits,
  held: HeldBody,
  maxBytes: number,
): Promise<RequestBody> {
  inviteBody(raw);
  const source = new CountedSource(bodySource(raw), { maxBytes, maxKeptBytes: 0 }, held);
  try {
    const rest = new FormParts(source, type, limits, held);
    return { kind: "parts", fields: await readLeadingFields(rest), rest };
  } catch (error) {
    source.close();
    throw error;
  }
}

/** An empty body counts as missing, whatever its type is. */
function startingWith(first: Bytes, source: BodySource): BodySource {
  let pending: Bytes | null = first;
  const read = async (): Promise<Bytes | null> => {
    const chunk = pending ?? (await source.read());
    pending = null;
    return chunk;
  };
  return { read, close: () => source.close() };
}

/** Counts the bytes of a body against its limit, and keeps them as long as there are few. */
class CountedSource implements BodySource {
  readonly #source: BodySource;
  readonly #bounds: { readonly maxBytes: number; readonly maxKeptBytes: number };
  readonly #held: HeldBody;
  #kept: CollectedBytes | null = new CollectedBytes();
  #size = 0;

  constructor(
    source: BodySource,
    bounds: { readonly maxBytes: number; readonly maxKeptBytes: number },
    held: HeldBody,
  ) {
    this.#source = source;
    this.#bounds = bounds;
    this.#held = held;
  }

  get size(): number {
    return this.#size;
  }

  /** The bytes; `null` if there were too many. */
  get kept(): Uint8Array | null {
    return this.#kept?.bytes ?? null;
  }

  async read(): Promise<Bytes | null> {
    const chunk = await this.#source.read();
    if (chunk === null) return null;
    const before = this.#size;
    this.#size += chunk.length;
    const { maxBytes, maxKeptBytes } = this.#bounds;
    if (this.#size > maxBytes) {
      this.close();
      throw tooLarge(maxBytes);
    }
    if (this.#kept === null) return chunk;
    if (this.#size > maxKeptBytes) {
      this.#kept = null;
      this.#held.giveMemory(before);
    } else {
      this.#held.takeMemory(chunk.length);
      this.#kept.add(chunk);
    }
    return chunk;
  }

  close(): void {
    this.#source.close();
  }
}

/**
 * Refuses a body that was read for several routes, if its actual route has a lower limit.
 *
 * @param routeLimit that route's limit, in bytes; `null` if it has none
 * @throws `E_PAYLOAD_TOO_LARGE`
 */
export function refuseTooLarge(body: RequestBody, limits: BodyLimits, routeLimit: number | null): void {
  if (body.kind === "none" || body.kind === "streamed" || body.kind === "parts") return;
  const isMultipart = body.kind === "multipart";
  const maxBytes = routeLimit ?? (isMultipart ? limits.maxMultipartBytes : limits.maxBodyBytes);
  if ((isMultipart ? body.size : body.bytes.length) > maxBytes) throw tooLarge(maxBytes);
}

function bodyKind(contentType: string): BodyKind {
  const type = mediaType(contentType);
  if (isJsonType(contentType)) return "json";
  if (type === "application/x-www-form-urlencoded") return "form";
  return type === "multipart/form-data" ? "multipart" : "unsupported";
}

/** Refuses an unsupported coding with 415, and lists the supported ones (RFC 9110 §15.5.16). */
function refuseEncoded(raw: Request, kind: BodyKind): void {
  const encoding = kind === "unsupported" ? null : raw.headers.get("content-encoding");
  if (encoding === null || encoding.toLowerCase() === "identity") return;
  throw new AshlarError("E_UNSUPPORTED_MEDIA_TYPE", sentence("body.compressed"), {
    headers: { "accept-encoding": "identity" },
  });
}

function readBytes(raw: Request, maxBytes: number, held: HeldBody): Promise<Uint8Array> {
  const message = nodeMessage(raw);
  return message === undefined ? readStream(raw, maxBytes, held) : readMessage(message, maxBytes, held);
}

async function readStream(raw: Request, maxBytes: number, held: HeldBody): Promise<Uint8Array> {
  const source = bodySource(raw);
  const collected = new CollectedBytes();
  try {
    for (let chunk = await source.read(); chunk !== null; chunk = await source.read()) {
      keep(chunk, collected, maxBytes, held);
    }
  } catch (error) {
    source.close();
    throw error;
  }
  return collected.bytes;
}

function readMessage(message: IncomingMessage, maxBytes: number, held: HeldBody): Promise<Uint8Array> {
  if (message.errored !== null || (message.destroyed && !message.complete)) {
    return Promise.reject(clientGone(message.errored));
  }
  if (message.readableEnded || message.destroyed) return Promise.reject(alreadyRead());
  return new Promise((resolve, reject) => {
    const collected = new CollectedBytes();
    const settle = (error: unknown): void => {
      message.off("data", onData).off("end", onEnd).off("close", onClose);
      if (error === null) resolve(collected.bytes);
      else reject(error);
    };
    const onData = (chunk: Uint8Array): void => {
      try {
        keep(chunk, collected, maxBytes, held);
      } catch (error) {
        message.pause();
        settle(error);
      }
    };
    const onEnd = (): void => settle(null);
    const onClose = (): void => settle(clientGone(message.errored));
    message.on("data", onData).once("end", onEnd).once("close", onClose).on("error", ignore);
  });
}

function keep(chunk: Uint8Array, collected: CollectedBytes, maxBytes: number, held: HeldBody): void {
  if (collected.size + chunk.length > maxBytes) throw tooLarge(maxBytes);
  held.takeMemory(chunk.length);
  collected.add(chunk);
}

/** The `close` event after the error reports it. Without a listener, a stream's error would end the process. */
function ignore(): void {}
