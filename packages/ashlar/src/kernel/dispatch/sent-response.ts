import { FastResponse, type HttpContext, REQUEST_ID_HEADER, sentRequestId } from "../../http/index.ts";
import { type PreparedResponse, preparedByNode } from "../../node/index.ts";

/** Takes a response apart to be sent. One made by srvx is empty afterwards. */
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

/** RFC 9110 §9.3.2: the response to HEAD has the same headers as GET, and no body. */
export function withoutBody(response: Response): Response {
  const prepared = prepare(response);
  discard(prepared.body);
  const headers: [string, string][] = [];
  for (let index = 0; index < prepared.headers.length; index += 2) {
    headers.push([prepared.headers[index]!, prepared.headers[index + 1]!]);
  }
  return new FastResponse(null, { status: prepared.status, headers });
}

/**
 * Adds the request's id to the headers of a response that is about to be written, unless the application has set it.
 *
 * @param headers names, in lower case, and values in turn
 */
export function addRequestId(headers: string[], id: string): void {
  for (let index = 0; index < headers.length; index += 2) if (headers[index] === REQUEST_ID_HEADER) return;
  headers.push(REQUEST_ID_HEADER, id);
}

/**
 * Returns the response to a request that came without the framework's server, with its id if the request brought one: the
 * host knows the request by it. It is a copy, because a handler may return the same response again.
 */
export function returningSentId({ request, services }: HttpContext, response: Response): Response {
  const { id } = request;
  if (sentRequestId(request.raw, services.proxies) !== id || response.headers.has(REQUEST_ID_HEADER)) return response;
  const headers = new Headers(response.headers);
  headers.set(REQUEST_ID_HEADER, id);
  const { status, statusText, body } = response;
  return new FastResponse(body, { status, statusText, headers });
}
