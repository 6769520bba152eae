import { type PreparedResponse, preparedByNode } from "../../node/index.ts";

/** Takes a response apart to be sent. One made by srvx is empty afterwards. */
export function prepare(response: Response): PreparedResponse {
  return preparedByNode(response) ?? prepareOfPlatform(response);
}

function prepareOfPlatform({ status, statusText, headers, body }: Response): PreparedResponse {
  return { status, statusText, headers: [...headers].flat(), body };
}

/** Cancels a body that will not be read, which releases what it holds open. */
export function discard(body: unknown): void {
  if (body instanceof ReadableStream) body.cancel().catch(() => {});
  else if (typeof body === "object" && body !== null && "destroy" in body) (body as { destroy(): void }).destroy();
}
