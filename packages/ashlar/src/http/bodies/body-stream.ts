import { AshlarError } from "../../support/index.ts";
import { type BodySource, type Bytes, bodySource, hasBody, inviteBody, tooLarge } from "./body-source.ts";
import { closeWithResponse } from "./response-end.ts";

/**
 * Returns the body of a request as a stream that reads from the client only as its reader asks for data, and counts the
 * bytes. The rest is left to the server once the response is out.
 *
 * @param maxBytes may be `Infinity`
 * @throws `E_INTERNAL` if something else has read it
 */
export function bodyStream(raw: Request, maxBytes: number): ReadableStream<Bytes> {
  if (!hasBody(raw)) return streamOf({ read: () => Promise.resolve(null), close: ignore }, 0);
  const source = bodySource(raw);
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
  // Nothing is read ahead: data that the reader has not asked for stays with the client.
  return new ReadableStream({ pull, cancel: () => source.close() }, { highWaterMark: 0 });
}

/** The bytes of a body that is still to be streamed can't be read in another way. */
export function streamedBody(wanted: string): AshlarError {
  return new AshlarError(
    "E_INTERNAL",
    `${wanted} is not available: the route leaves its body to the handler (streamsBody), which reads it with request.bodyStream().`,
  );
}

/** The files of a form that are still to come can't be read in another way. */
export function streamedParts(wanted: string): AshlarError {
  return new AshlarError(
    "E_INTERNAL",
    `${wanted} is not available: the route leaves the files of a form to the handler (streamsFiles), which reads them with request.parts().`,
  );
}

/** The route reads its body before the handler runs. */
export function notStreamed(wanted: string, declaration: string): AshlarError {
  return new AshlarError(
    "E_INTERNAL",
    `${wanted} is not available: the body of this route is read before its handler runs. Add .${declaration} to the route to stream it.`,
  );
}

function ignore(): void {}
