import { Readable } from "node:stream";
import { type ByteSource, byteStream, closeWithResponse } from "../../http/index.ts";
import { prepare } from "../../kernel/index.ts";
import type { PreparedResponse } from "../../node/index.ts";
import type { MaybePromise } from "../../support/index.ts";

/**
 * The maximum size of a file that is read all at once, in bytes. It uses no more memory than one chunk of a larger
 * file.
 */
const MAX_WHOLE_BYTES = 65_536;

/** A response with a file's body that doesn't keep the file open. */
export interface FileResponse {
  readonly status: number;
  readonly headers: Map<string, string>;
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream | null;
}

/**
 * Replaces the open file in an srvx response. Middleware may discard a response without closing it. A file that is left
 * open would leak a descriptor, or even end the process, because Node treats a `FileHandle` that is garbage-collected
 * while open as an uncaught error. A small file is read here. A larger one is closed, and opened again when its first
 * chunk is requested.
 *
 * @param again returns another response to the same request
 * @throws if a small file changes while it is read
 */
export async function withoutOpenFile(
  raw: Request,
  response: Response,
  again: () => MaybePromise<Response>,
): Promise<FileResponse> {
  const { status, headers, body } = plainResponse(response);
  if (!(body instanceof Readable)) return { status, headers, body: null };
  const length = Number(headers.get("content-length"));
  if (length <= MAX_WHOLE_BYTES) return { status, headers, body: await readWhole(body, length) };
  body.destroy();
  const { stream, close } = byteStream(new ReopenedFile(again, status, headers));
  closeWithResponse(raw, close);
  return { status, headers, body: stream };
}

interface PlainResponse {
  readonly status: number;
  readonly headers: Map<string, string>;
  readonly body: unknown;
}

function plainResponse(response: Response): PlainResponse {
  const { status, headers: list, body }: PreparedResponse = prepare(response);
  const headers = new Map<string, string>();
  for (let index = 0; index < list.length; index += 2) headers.set(list[index]!, list[index + 1]!);
  return { status, headers, body };
}

async function readWhole(body: Readable, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = Buffer.concat(await body.toArray());
  if (bytes.length !== length) throw changed();
  return bytes;
}

/** The chunks of a file, which is opened again, and must not have changed. */
class ReopenedFile implements ByteSource {
  readonly #again: () => MaybePromise<Response>;
  readonly #status: number;
  readonly #tag: string | undefined;
  #file: Promise<Readable> | null = null;
  #pieces: AsyncIterator<Uint8Array<ArrayBuffer>> | null = null;

  constructor(again: () => MaybePromise<Response>, status: number, headers: ReadonlyMap<string, string>) {
    this.#again = again;
    this.#status = status;
    this.#tag = headers.get("etag");
  }

  async read(): Promise<Uint8Array<ArrayBuffer> | null> {
    this.#file ??= this.#find();
    const file = await this.#file;
    this.#pieces ??= file[Symbol.asyncIterator]();
    const { done, value } = await this.#pieces.next();
    return done ? null : value;
  }

  async close(): Promise<void> {
    (await this.#file)?.destroy();
  }

  async #find(): Promise<Readable> {
    const { status, headers, body } = plainResponse(await this.#again());
    if (body instanceof Readable) {
      // The ETag depends on the file's size and modification time, and is the same for a range.
      if (status === this.#status && headers.get("etag") === this.#tag) return body;
      body.destroy();
    }
    throw changed();
  }
}

function changed(): Error {
  return new Error("The file changed while it was being sent.");
}
