import { randomBytes } from "node:crypto";
import { nodeExchange } from "../../node/index.ts";
import { peerAddress, type TrustedProxies } from "../addresses/client-address.ts";
import { FastResponse } from "../responses/fast-response.ts";
import type { HttpContext } from "./context.ts";

/** The header that a request's id arrives in, and is returned in. */
export const REQUEST_ID_HEADER = "x-request-id";

/**
 * The ids of proxies and tracers, such as UUIDs. They must not contain white space, quotes or control characters, which
 * could break up a log line.
 */
const USABLE = /^[\w.:+/=-]{1,128}$/;

/**
 * Returns the id that a request was sent with, in `X-Request-Id`; `null` without a usable one: 1 to 128 letters, digits
 * and `_ . : + / = -`.
 *
 * With trusted proxies, only their ids are used. Any other peer is a client, which could make its requests look like
 * another client's in the log.
 */
export function sentRequestId(raw: Request, proxies: TrustedProxies): string | null {
  const served = nodeExchange(raw);
  const sent = served === undefined ? raw.headers.get(REQUEST_ID_HEADER) : served.req.headers[REQUEST_ID_HEADER];
  if (typeof sent !== "string" || !USABLE.test(sent)) return null;
  return mayBringIds(raw, proxies) ? sent : null;
}

/** Reports whether the ids in a request's headers, its own and its trace's, are trusted. */
export function mayBringIds(raw: Request, proxies: TrustedProxies): boolean {
  return proxies.isEmpty || proxies.trusts(peerAddress(raw));
}

/** Returns a request's id: the id it was sent with, or else a random UUID. */
export function requestIdOf(raw: Request, proxies: TrustedProxies): string {
  return sentRequestId(raw, proxies) ?? randomUuid();
}

/**
 * How many UUIDs are created at once, because getting random bytes from the system and formatting them is the costly
 * part.
 */
const AT_ONCE = 256;
const DIGITS = 32;

let digits = "";
let used = 0;

/** A random UUID (RFC 9562 §5.4), for a fraction of what `crypto.randomUUID` costs. */
function randomUuid(): string {
  if (used === digits.length) {
    digits = randomBytes((AT_ONCE * DIGITS) / 2).toString("hex");
    used = 0;
  }
  const own = digits.slice(used, used + DIGITS);
  used += DIGITS;
  return `${own.slice(0, 8)}-${own.slice(8, 12)}-4${own.slice(13, 16)}-8${own.slice(17, 20)}-${own.slice(20)}`;
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
 * Adds a request's id to its response if the request was sent with that id and didn't come through the framework's
 * server, because the host knows the request by it. The response is copied, because a handler may return it again.
 */
export function returningSentId({ request, services }: HttpContext, response: Response): Response {
  const { id } = request;
  if (sentRequestId(request.raw, services.proxies) !== id || response.headers.has(REQUEST_ID_HEADER)) return response;
  const headers = new Headers(response.headers);
  headers.set(REQUEST_ID_HEADER, id);
  const { status, statusText, body } = response;
  return new FastResponse(body, { status, statusText, headers });
}
