import { isNodeResponse, nodeExchange } from "../../node/index.ts";
import { FastResponse } from "../responses/fast-response.ts";
import { byteStream } from "./byte-stream.ts";

/**
 * Closes something as soon as the response to a request is out, or its client has disconnected: what a request opened does
 * not outlive it, whether or not its response is the one that was sent.
 *
 * @param raw the request; one that did not come through a `node:http` server has no known end
 */
export function closeWithResponse(raw: Request, close: () => unknown): void {
  const response = nodeExchange(raw)?.res;
  if (response === undefined) return;
  if (response.destroyed || response.writableFinished) close();
  else response.once("close", close);
}

/**
 * Ends what a request holds once its response is out, also at a host whose end of a response is not known otherwise: there, the
 * response's body is watched.
 *
 * @param isNeededByBody whether the response's body may read what is held
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

/** Does the same for the body of a response that an application made itself. */
export function closeBodyWithResponse(raw: Request, response: Response): void {
  // The framework's own are closed by what created them.
  if (isNodeResponse(response)) return;
  const { body } = response;
  if (!(body instanceof ReadableStream)) return;
  // A locked one, such as that of a response which has been cloned since then, refuses: its reader closes it.
  closeWithResponse(raw, () => void body.cancel().catch(ignore));
}

function ignore(): void {}
