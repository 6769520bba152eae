import { isNodeResponse, nodeParts } from "../node/index.ts";

/**
 * Has something closed as soon as the answer to a request is out, or its client has gone away: what a request opened
 * does not outlive it, whether or not its answer is the one that was sent.
 *
 * @param raw the request; one that did not come through a server of `node:http` has no end that could be known
 */
export function closeWithAnswer(raw: Request, close: () => unknown): void {
  const response = nodeParts(raw)?.res;
  if (response === undefined) return;
  if (response.destroyed || response.writableFinished) close();
  else response.once("close", close);
}

/** The same for the body of a response that an application made itself. */
export function closeBodyWithAnswer(raw: Request, response: Response): void {
  // The framework's own are closed by what they were made of.
  if (isNodeResponse(response)) return;
  const { body } = response;
  if (!(body instanceof ReadableStream)) return;
  closeWithAnswer(raw, () => {
    // What is locked is read by someone, and closed by them; what was cloned since has another body now.
    if (!body.locked && response.body === body) body.cancel().catch(ignore);
  });
}

function ignore(): void {}
