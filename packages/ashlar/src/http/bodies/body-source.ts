import type { IncomingMessage } from "node:http";
import { nodeExchange } from "../../node/index.ts";
import { AshlarError } from "../../support/index.ts";
import { message as sentence } from "../messages.ts";
import "../errors.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

/** The source of a body, read chunk by chunk. */
export interface BodySource {
  /** Returns the next chunk; `null` at the end of a complete body. */
  read(): Promise<Bytes | null>;
  /** Stops reading. */
  close(): void;
}

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

/** Sends `100 Continue` if the client waits for it. Called just before the body is read. */
export function inviteBody(raw: Request): void {
  const served = nodeExchange(raw);
  if (served?.awaitsContinue !== true) return;
  served.awaitsContinue = false;
  served.res?.writeContinue();
}

/** The announced length of a body, in bytes; `null` if the client announced none. */
export function announcedLength(raw: Request): number | null {
  const length = Number(raw.headers.get("content-length") ?? Number.NaN);
  // Other hosts may pass on any value.
  return Number.isSafeInteger(length) && length >= 0 ? length : null;
}

/**
 * Refuses a body by its announced length, before any of it is read.
 *
 * @throws `E_PAYLOAD_TOO_LARGE`
 */
export function refuseAnnounced(raw: Request, maxBytes: number): void {
  if (Number(raw.headers.get("content-length")) > maxBytes) throw tooLarge(maxBytes);
}

/**
 * Returns the `node:http` message behind a request that srvx created. Reading it directly is fastest, and the only way
 * to get a body sent with GET.
 */
export function nodeMessage(raw: Request): IncomingMessage | undefined {
  return nodeExchange(raw)?.req;
}

/**
 * Returns the source of a request's body, which takes data from the client only as it is read.
 *
 * @throws `E_INTERNAL` if something else has read it
 */
export function bodySource(raw: Request): BodySource {
  const message = nodeMessage(raw);
  return message === undefined ? new StreamedBody(raw) : new MessageBody(message);
}

const CHANGES = ["readable", "end", "close"] as const;

/**
 * Reads a `node:http` message. No data listener stays attached between reads or after the last one, so that the server
 * can skip data that the handler leaves unread.
 */
class MessageBody implements BodySource {
  readonly #message: IncomingMessage;
  #isClosed = false;
  #changed: (() => void) | null = null;

  constructor(message: IncomingMessage) {
    if (message.readableEnded || (message.destroyed && message.complete)) throw alreadyRead();
    this.#message = message;
    // Reads report errors themselves, but without a listener, an error between two reads would end the process.
    message.on("error", ignore);
  }

  async read(): Promise<Bytes | null> {
    const message = this.#message;
    for (;;) {
      if (!message.complete && (message.errored !== null || message.destroyed)) throw clientGone(message.errored);
      if (this.#isClosed) throw responseSent();
      const chunk: Bytes | null = message.read();
      if (chunk !== null) return chunk;
      if (message.readableEnded) return null;
      await this.#change();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = () => {
        this.#changed = null;
        for (const name of CHANGES) this.#message.off(name, changed);
        resolve();
      };
      const changed = this.#changed;
      for (const name of CHANGES) this.#message.on(name, changed);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#changed?.();
  }
}

/** Reads the body of a platform's request. */
class StreamedBody implements BodySource {
  readonly #reader: ReadableStreamDefaultReader<Bytes>;

  constructor(raw: Request) {
    if (raw.bodyUsed || raw.body === null || raw.body.locked) throw alreadyRead();
    this.#reader = raw.body.getReader() as ReadableStreamDefaultReader<Bytes>;
  }

  async read(): Promise<Bytes | null> {
    const { done, value } = await this.#reader.read().catch((error: unknown) => {
      throw clientGone(error);
    });
    return done ? null : value;
  }

  close(): void {
    // Waits a turn, because the platform's own form bodies fail with an uncatchable error if canceled during a chunk.
    setImmediate(() => this.#reader.cancel().catch(ignore));
  }
}

// Doesn't wait for the rest of the body: the connection ends with the response (RFC 9110 §15.5.14).
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

/** Security: the rest must not look like the end of a complete body. */
function responseSent(): AshlarError {
  return new AshlarError(
    "E_INTERNAL",
    "The response was sent before the body was read. Read it first, and await that.",
  );
}

function ignore(): void {}

/** The initial size of the buffer for data that doesn't arrive in one piece, in bytes. */
const FIRST_BYTES = 1024;

/**
 * Collects bytes that arrive in pieces into one array.
 *
 * Security: the pieces are copied, because the client chooses their size. A million pieces of one byte each would take
 * hundreds of times as much memory as they contain.
 */
export class CollectedBytes {
  /** The only piece so far, as it arrived. */
  #first: Uint8Array | null = null;
  #buffer: Buffer | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The bytes that have been added. Nothing may be added afterwards. */
  get bytes(): Uint8Array<ArrayBuffer> {
    if (this.#buffer !== null) return this.#buffer.subarray(0, this.#size) as Uint8Array<ArrayBuffer>;
    return (this.#first ?? new Uint8Array()) as Uint8Array<ArrayBuffer>;
  }

  add(piece: Uint8Array): void {
    const size = this.#size + piece.length;
    if (this.#size === 0) this.#first = piece;
    else this.#roomFor(size).set(piece, this.#size);
    this.#size = size;
  }

  /** A buffer with all the bytes, and room for more. */
  #roomFor(size: number): Buffer {
    const current = this.#buffer ?? this.#first!;
    if (this.#buffer !== null && size <= this.#buffer.length) return this.#buffer;
    const larger = Buffer.allocUnsafeSlow(Math.max(size, 2 * current.length, FIRST_BYTES));
    larger.set(current);
    this.#first = null;
    this.#buffer = larger;
    return larger;
  }
}
