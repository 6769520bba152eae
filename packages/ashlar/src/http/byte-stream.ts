import { open, stat } from "node:fs/promises";
import { AshlarError } from "../support/index.ts";

/** How much of a file is read at once, in bytes. */
const CHUNK_BYTES = 65_536;

/** Anything that gives bytes or text piece by piece: a stream of the platform, a `Readable`, an async generator. */
export type StreamSource = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string>;

/** A file that can be sent, with the length it had when it was looked at. */
export interface FileBytes {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly length: number;
}

/** Text becomes bytes, bytes stay what they are. */
async function* encoded(source: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const piece of source) yield typeof piece === "string" ? encoder.encode(piece) : piece;
}

/** A source of any kind as a stream of bytes. Cancelling it ends the source. */
export function toByteStream(source: StreamSource): ReadableStream<Uint8Array> {
  return source instanceof ReadableStream ? source : ReadableStream.from(encoded(source));
}

/**
 * A file as a stream. It is opened when the first piece is asked for, so that an answer nobody reads (to a HEAD request,
 * to a client that is gone) leaves no open file behind.
 *
 * @param path where the file is
 * @throws `E_NOT_FOUND` where there is no such file
 */
export async function readFileBytes(path: string): Promise<FileBytes> {
  const found = await stat(path).catch((error: unknown) => {
    throw new AshlarError("E_NOT_FOUND", undefined, { cause: error });
  });
  if (!found.isFile()) throw new AshlarError("E_NOT_FOUND", undefined, { cause: new Error(`${path} is not a file.`) });
  return { stream: fileStream(path, found.size), length: found.size };
}

/** The first `length` bytes of a file; the stream breaks off where the file has become shorter. */
function fileStream(path: string, length: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let handle: Awaited<ReturnType<typeof open>> | null = null;
  let position = 0;
  return new ReadableStream(
    {
      async pull(controller) {
        if (position === length) {
          await handle?.close();
          return controller.close();
        }
        handle ??= await open(path);
        const wanted = new Uint8Array(Math.min(CHUNK_BYTES, length - position));
        const { bytesRead } = await handle.read(wanted, 0, wanted.length, position);
        if (bytesRead === 0) {
          await handle.close();
          throw new Error(`${path} became shorter while it was sent.`);
        }
        position += bytesRead;
        controller.enqueue(bytesRead === wanted.length ? wanted : wanted.subarray(0, bytesRead));
      },
      async cancel() {
        await handle?.close();
      },
    },
    { highWaterMark: 0 },
  );
}
