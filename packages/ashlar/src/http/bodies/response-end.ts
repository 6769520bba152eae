import { isNodeResponse, nodeExchange } from "../../node/index.ts";
import { FastResponse } from "../responses/fast-response.ts";
import { byteStream } from "./byte-stream.ts";

/**
 * Closes something as soon as the response to a request has been sent, or its client has disconnected. Nothing that a
 * request opened outlives it, even if another response was sent instead.
 *
 * @param raw the request; nothing happens for a request that didn't come through a `node:http` server, because its end
 * is unknown
 */
export function closeWithResponse(raw: Request, close: () => unknown): void {
  const response = nodeExchange(raw)?.res;
  if (response === undefined) return;
  if (response.destroyed || response.writableFinished) close();
  else response.once("close", close);
}

/**
 * Releases a request's resources once its response has been sent. If the host doesn't report that, watches the
 * response's body instead.
 *
 * @param isNeededByBody whether the response's body may read from these resources
 * @returns the response to send
 */
export function endWithResponse(
  raw: Request,
  response: Response,
  isNeededByBody: boolean,
  end: () => Promise<void>,
): Response {
  if (nodeExchange(raw)?.res !== undefined) {
    closeWithResponse(raw, end);
    return response;
  }
  const { body } = response;
  if (!isNeededByBody || body === null) {
    void end();
    return response;
  }
  const reader = body.getReader() as ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  const { stream } = byteStream({
    read: async () => (await reader.read()).value ?? null,
    close: () => Promise.all([reader.cancel(), end()]),
  });
  const { status, statusText, headers } = response;
  return new FastResponse(stream, { status, statusText, headers });
}

/** Closes the body of a response that the application created itself when the response has been sent. */
export function closeBodyWithResponse(raw: Request, response: Response): void {
  // The framework's own streams are closed by the code that created them.
  if (isNodeResponse(response)) return;
  const { body } = response;
  if (!(body instanceof ReadableStream)) return;
  // A locked stream, such as the body of a cloned response, can't be canceled here. Its reader closes it.
  closeWithResponse(raw, () => void body.cancel().catch(ignore));
}

function ignore(): void {}
