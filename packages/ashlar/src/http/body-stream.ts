import type { IncomingMessage } from "node:http";
import { AshlarError } from "../support/index.ts";
import { alreadyRead, clientGone, hasBody, inviteBody, nodeMessage, tooLarge } from "./body.ts";
import { closeWithResponse } from "./response-end.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What a body is read from, chunk by chunk. */
interface BodySource {
  /** Returns the next chunk; `null` at the end of a complete body. */
  read(): Promise<Bytes | null>;
  /** Reads no further. */
  close(): void;
}

/**
 * Returns the body of a request as a stream that reads from the client only what its reader asks for, and counts it. The
 * rest is left to the server once the response is out.
 *
 * @param maxBytes may be `Infinity`
 * @throws `E_INTERNAL` if something else has read it
 */
export function bodyStream(raw: Request, maxBytes: number): ReadableStream<Bytes> {
  if (!hasBody(raw)) return streamOf({ read: () => Promise.resolve(null), close: ignore }, 0);
  const message = nodeMessage(raw);
  const source = message === undefined ? new StreamedBody(raw) : new MessageBody(message);
  inviteBody(raw);
  closeWithResponse(raw, () => source.close());
  return streamOf(source, maxBytes);
}

function streamOf(source: BodySource, maxBytes: number): ReadableStream<Bytes> {
  let left = maxBytes;
  const pull = async (controller: ReadableStreamDefaultController<Bytes>): Promise<void> => {
    const chunk = await source.read();
    if (chunk === null) return controller.close();
    left -= chunk.byteLength;
    if (left >= 0) return controller.enqueue(chunk);
    source.close();
    throw tooLarge(maxBytes);
  };
  // Nothing is read ahead: what the reader has not asked for stays with the client.
  return new ReadableStream({ pull, cancel: () => source.close() }, { highWaterMark: 0 });
}

/**
 * Refuses a body by its announced length, before any of it is read.
 *
 * @throws `E_PAYLOAD_TOO_LARGE`
 */
export function refuseAnnounced(raw: Request, maxBytes: number): void {
  if (Number(raw.headers.get("content-length")) > maxBytes) throw tooLarge(maxBytes);
}

const CHANGES = ["readable", "end", "close"] as const;

/**
 * Reads a message of `node:http`. No listener for data stays attached between two reads or after the last one, so that the
 * server can skip what the handler leaves unread.
 */
class MessageBody implements BodySource {
  readonly #message: IncomingMessage;
  #isClosed = false;
  #changed: (() => void) | null = null;

  constructor(message: IncomingMessage) {
    if (message.readableEnded || (message.destroyed && message.complete)) throw alreadyRead();
    this.#message = message;
    // Each read reports an error; without a listener, one that comes between two reads would end the process.
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
    // A turn later: the platform's own form bodies fail, uncatchably, if canceled during a chunk.
    setImmediate(() => this.#reader.cancel().catch(ignore));
  }
}

/** Security: the rest must not look like the end of a complete body. */
function responseSent(): AshlarError {
  return new AshlarError(
    "E_INTERNAL",
    "The response was sent before the body was read. Read it first, and await that.",
  );
}

/** The bytes of a body that is still to be streamed can't be had in another way. */
export function streamedBody(wanted: string): AshlarError {
  return new AshlarError(
    "E_INTERNAL",
    `${wanted} is not available: the route leaves its body to the handler (streamsBody), which reads it with request.bodyStream().`,
  );
}

/** The route reads its body before the handler runs. */
export function notStreamed(): AshlarError {
  return new AshlarError(
    "E_INTERNAL",
    "The body of this route is read before its handler runs. Add .streamsBody() to the route to stream it.",
  );
}

function ignore(): void {}
