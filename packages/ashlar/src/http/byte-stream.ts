import { type FileHandle, open, stat } from "node:fs/promises";
import { AshlarError } from "../support/index.ts";

/** How much of a file is read at once, in bytes. */
const CHUNK_BYTES = 65_536;

/** Anything that gives bytes or text piece by piece: a stream of the platform, a `Readable`, an async generator. */
export type StreamSource = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string>;

/** What a {@link ByteStream} is read from. It opens what it needs at its first `read`. */
export interface ByteSource {
  /** The next piece; `null` at the end. */
  read(): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Closes what is open, be it that nothing was read yet. Called once. */
  close(): unknown;
}

/** A stream, and what ends it at its source, even while someone else holds its reader. */
export interface ByteStream {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Closes the source. It neither throws nor rejects; further reads find the stream ended. */
  readonly close: () => Promise<void>;
}

/** A file that can be sent, as it was when it was looked at. */
export interface FileBytes {
  readonly length: number;
  readonly modifiedMs: number;
  /** Its bytes from one to another, which is not among them. */
  readonly read: (start: number, end: number) => ByteStream;
}

/**
 * The sources of streams that are referred to by no one. Without this, a stream that was read in part and dropped would
 * keep its file open for good, or end the process: Node takes a `FileHandle` that is collected while open for an
 * uncaught error.
 */
const dropped = new FinalizationRegistry<() => Promise<void>>((close) => close());

/**
 * A source as a stream that reads nothing before it is asked to, so that an answer that is replaced, sent to HEAD or to
 * a client that is gone has opened nothing. The source is closed at its end, when it fails, when the stream is
 * cancelled, and when the stream is dropped.
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
  // Neither of these functions may refer to the stream: the registry holds them, and would hold it.
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({ pull, cancel: close }, { highWaterMark: 0 });
  dropped.register(stream, close, source);
  return { stream, close };
}

async function closed(source: ByteSource): Promise<void> {
  dropped.unregister(source);
  try {
    await source.close();
  } catch {
    // What was to be read has been read, or is not wanted any more.
  }
}

/** A source of any kind as a stream of bytes. Cancelling it ends the source. */
export function toByteStream(source: StreamSource): ByteStream {
  if (!(source instanceof ReadableStream)) return byteStream(new Pieces(source));
  // One that is being read elsewhere is closed by its reader, and refuses to be cancelled here.
  return { stream: source as ByteStream["stream"], close: () => source.cancel().catch(ignore) };
}

/** What Node's own streams have beside being iterable. */
interface Destroyable {
  destroy?(): unknown;
  on?(event: "error", listener: () => void): unknown;
}

/** The pieces of something iterable: text becomes bytes, bytes stay what they are. */
class Pieces implements ByteSource {
  readonly #source: AsyncIterable<Uint8Array | string> & Destroyable;
  readonly #encoder = new TextEncoder();
  #iterator: AsyncIterator<Uint8Array | string> | null = null;

  constructor(source: AsyncIterable<Uint8Array | string>) {
    this.#source = source;
    // A `Readable` may fail while nobody reads it yet. Unheard, that ends the process; the iterator tells of it again.
    if (typeof this.#source.destroy === "function") this.#source.on?.("error", ignore);
  }

  async read(): Promise<Uint8Array<ArrayBuffer> | null> {
    this.#iterator ??= this.#source[Symbol.asyncIterator]();
    const { done, value } = await this.#iterator.next();
    if (done) return null;
    return typeof value === "string" ? this.#encoder.encode(value) : (value as Uint8Array<ArrayBuffer>);
  }

  close(): unknown {
    // An iterator that was not begun ends without a word to what is behind it.
    if (typeof this.#source.destroy === "function") return this.#source.destroy();
    return (this.#iterator ?? this.#source[Symbol.asyncIterator]()).return?.();
  }
}

/**
 * A file to be read as a stream. It is opened when the first piece is asked for.
 *
 * @param path where the file is
 * @throws `E_NOT_FOUND` where there is no such file
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

/** The bytes of a file from one to another; they break off if the file has become shorter. */
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
    if (bytesRead === 0) throw new Error(`${this.#path} became shorter while it was sent.`);
    this.#position += bytesRead;
    return bytesRead === wanted.length ? wanted : wanted.subarray(0, bytesRead);
  }

  async close(): Promise<void> {
    await (await this.#handle)?.close();
  }
}

function ignore(): void {}
