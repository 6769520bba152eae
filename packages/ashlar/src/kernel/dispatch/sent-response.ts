import { FastResponse } from "../../http/index.ts";
import { type PreparedResponse, preparedByNode } from "../../node/index.ts";

/** Takes a response apart to be sent. A response made by srvx is empty afterwards. */
export function prepare(response: Response): PreparedResponse {
  return preparedByNode(response) ?? prepareOfPlatform(response);
}

function prepareOfPlatform({ status, statusText, headers, body }: Response): PreparedResponse {
  return { status, statusText, headers: [...headers].flat(), body };
}

/** Cancels a body that will not be read, which closes its files and connections. */
export function discard(body: unknown): void {
  if (body instanceof ReadableStream) body.cancel().catch(() => {});
  else if (typeof body === "object" && body !== null && "destroy" in body) (body as { destroy(): void }).destroy();
}

/** The response to HEAD has the same headers as the one to GET, and no body (RFC 9110 §9.3.2). */
export function withoutBody(response: Response): Response {
  const prepared = prepare(response);
  discard(prepared.body);
  const headers: [string, string][] = [];
  for (let index = 0; index < prepared.headers.length; index += 2) {
    headers.push([prepared.headers[index]!, prepared.headers[index + 1]!]);
  }
  return new FastResponse(null, { status: prepared.status, headers });
}
