import { FastResponse, type HttpContext, REQUEST_ID_HEADER, sentRequestId } from "../../http/index.ts";

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
