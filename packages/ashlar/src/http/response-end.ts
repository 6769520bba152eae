import { isNodeResponse, nodeExchange } from "../node/index.ts";

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

/** Does the same for the body of a response that an application made itself. */
export function closeBodyWithResponse(raw: Request, response: Response): void {
  // The framework's own are closed by what created them.
  if (isNodeResponse(response)) return;
  const { body } = response;
  if (!(body instanceof ReadableStream)) return;
  closeWithResponse(raw, () => {
    // A locked body is closed by its reader; a response cloned since then has another body now.
    if (!body.locked && response.body === body) body.cancel().catch(ignore);
  });
}

function ignore(): void {}
