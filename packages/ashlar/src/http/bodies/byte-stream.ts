import { type FileHandle, open, stat } from "node:fs/promises";
import { AshlarError } from "../../support/index.ts";
import "../errors.ts";

/** How many bytes of a file are read at once. */
const CHUNK_BYTES = 65_536;

/** Anything that yields bytes or text in chunks: a web stream, a `Readable`, an async generator. */
export type StreamSource = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string>;

/** The source of a {@link ByteStream}. It opens its resources at the first `read`. */
export interface ByteSource {
  /** Returns the next chunk; `null` at the end. */
  read(): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Closes its resources, even if nothing was read yet. Called once. */
  close(): unknown;
}

/** A stream, and a function that ends it at its source, even while its reader is locked. */
export interface ByteStream {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Closes the source. Never throws or rejects. Further reads find the stream ended. */
  readonly close: () => Promise<void>;
}

/** A file to send, as it was when it was checked. */
export interface FileBytes {
  readonly length: number;
  readonly modifiedMs: number;
  /** Its bytes from `start` up to, but not including, `end`. */
  readonly read: (start: number, end: number) => ByteStream;
}

/**
 * Closes a stream's source when the stream is garbage-collected. Without this, a stream that was partly read and
 * dropped would keep its file open forever, or end the process, because Node treats a `FileHandle` that is
 * garbage-collected while open as an uncaught error.
 */
const dropped = new FinalizationRegistry<() => Promise<void>>((close) => close());

/**
 * Turns a source into a stream that doesn't read ahead, so that a response that is replaced, that answers HEAD, or
 * whose client has disconnected opens nothing. The source is closed at its end, when it fails, and when the stream is
 * canceled or dropped.
 */
export function byteStream(source: ByteSource): ByteStream {
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => {
    closing ??= closed(source);
    return closing;
  };
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> => {
    let piece: Uint8Array<ArrayBuffer> | null;
    try {
      piece = closing === null ? await source.read() : null;
    } catch (error) {
      await close();
      throw error;
    }
    if (piece !== null) return controller.enqueue(piece);
    await close();
    controller.close();
  };
  // Neither of these functions may refer to the stream, because the registry holds them, and would keep the stream
  // alive.
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({ pull, cancel: close }, { highWaterMark: 0 });
  dropped.register(stream, close, source);
  return { stream, close };
}

async function closed(source: ByteSource): Promise<void> {
  dropped.unregister(source);
  try {
    await source.close();
  } catch {
    // Everything has been read, or is no longer needed.
  }
}

/** Turns any kind of source into a stream of bytes. Canceling it ends the source. */
export function toByteStream(source: StreamSource): ByteStream {
  if (!(source instanceof ReadableStream)) return byteStream(new Pieces(source));
  // If a reader has locked the stream, that reader closes it, and canceling it here fails.
  return { stream: source as ByteStream["stream"], close: () => source.cancel().catch(ignore) };
}

/** The members of Node's own streams that other iterables don't have. */
interface Destroyable {
  destroy?(): unknown;
  on?(event: "error", listener: () => void): unknown;
}

/** Yields the chunks of an iterable: text becomes bytes, bytes stay as they are. */
class Pieces implements ByteSource {
  readonly #source: AsyncIterable<Uint8Array | string> & Destroyable;
  readonly #encoder = new TextEncoder();
  #iterator: AsyncIterator<Uint8Array | string> | null = null;

  constructor(source: AsyncIterable<Uint8Array | string>) {
    this.#source = source;
    // A `Readable` may fail before it is read, which would end the process without a listener. The iterator reports the
    // error again.
    if (typeof this.#source.destroy === "function") this.#source.on?.("error", ignore);
  }

  async read(): Promise<Uint8Array<ArrayBuffer> | null> {
    this.#iterator ??= this.#source[Symbol.asyncIterator]();
    const { done, value } = await this.#iterator.next();
    if (done) return null;
    return typeof value === "string" ? this.#encoder.encode(value) : (value as Uint8Array<ArrayBuffer>);
  }

  close(): unknown {
    // An iterator that was never started ends without notifying its source.
    if (typeof this.#source.destroy === "function") return this.#source.destroy();
    return (this.#iterator ?? this.#source[Symbol.asyncIterator]()).return?.();
  }
}

/**
 * Prepares a file to be read as a stream. It is opened when the first chunk is read.
 *
 * @param path the file's path
 * @throws `E_NOT_FOUND` if the file doesn't exist
 */
export async function readFileBytes(path: string): Promise<FileBytes> {
  const found = await stat(path).catch((error: unknown) => {
    throw new AshlarError("E_NOT_FOUND", undefined, { cause: error });
  });
  if (!found.isFile()) throw new AshlarError("E_NOT_FOUND", undefined, { cause: new Error(`${path} is not a file.`) });
  return {
    length: found.size,
    modifiedMs: found.mtimeMs,
    read: (start, end) => byteStream(new FilePieces(path, start, end)),
  };
}

/** Reads the bytes of a file from one position to another; fails if the file has become shorter. */
class FilePieces implements ByteSource {
  readonly #path: string;
  readonly #end: number;
  #handle: Promise<FileHandle> | null = null;
  #position: number;

  constructor(path: string, start: number, end: number) {
    this.#path = path;
    this.#position = start;
    this.#end = end;
  }

  async read(): Promise<Uint8Array<ArrayBuffer> | null> {
    if (this.#position >= this.#end) return null;
    this.#handle ??= open(this.#path);
    const handle = await this.#handle;
    const wanted = new Uint8Array(Math.min(CHUNK_BYTES, this.#end - this.#position));
    const { bytesRead } = await handle.read(wanted, 0, wanted.length, this.#position);
    if (bytesRead === 0) throw new Error(`${this.#path} became shorter while it was being sent.`);
    this.#position += bytesRead;
    return bytesRead === wanted.length ? wanted : wanted.subarray(0, bytesRead);
  }

  async close(): Promise<void> {
    await (await this.#handle)?.close();
  }
}

function ignore(): void {}
