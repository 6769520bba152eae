import { FastResponse } from "../../http/index.ts";
import { type PreparedResponse, preparedByNode } from "../../node/index.ts";

/** Takes a response apart for sending. If srvx created it, it is empty afterwards. */
export function prepare(response: Response): PreparedResponse {
  return preparedByNode(response) ?? prepareOfPlatform(response);
}

function prepareOfPlatform({ status, statusText, headers, body }: Response): PreparedResponse {
  return { status, statusText, headers: [...headers].flat(), body };
}

/** Cancels a body that won't be read, to close its files and connections. */
export function discard(body: unknown): void {
  if (body instanceof ReadableStream) body.cancel().catch(() => {});
  else if (typeof body === "object" && body !== null && "destroy" in body) (body as { destroy(): void }).destroy();
}

/** The response to HEAD has the same headers as the one to GET, but no body (RFC 9110 §9.3.2). */
export function withoutBody(response: Response): Response {
  const prepared = prepare(response);
  discard(prepared.body);
  const headers: [string, string][] = [];
  for (let index = 0; index < prepared.headers.length; index += 2) {
    headers.push([prepared.headers[index]!, prepared.headers[index + 1]!]);
  }
  return new FastResponse(null, { status: prepared.status, headers });
}
