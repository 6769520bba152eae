import { randomUUID } from "node:crypto";
import { nodeExchange } from "../node/index.ts";
import { peerAddress } from "./peer-address.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";

/** The header that a request's id arrives in, and is returned in. */
export const REQUEST_ID_HEADER = "x-request-id";

/** UUIDs, and what proxies and tracers write: no white space, quotes or control characters, which a log could take apart. */
const USABLE = /^[\w.:+/=-]{1,128}$/;

/**
 * Returns the id that a request was sent with, in `X-Request-Id`; `null` if it has none that is usable: 1 to 128 letters,
 * digits and `_ . : + / = -`.
 *
 * With trusted proxies, only theirs count: any other peer is a client, which could make its requests look like someone
 * else's in the log.
 */
export function sentRequestId(raw: Request, proxies: TrustedProxies): string | null {
  const served = nodeExchange(raw);
  const sent = served === undefined ? raw.headers.get(REQUEST_ID_HEADER) : served.req.headers[REQUEST_ID_HEADER];
  if (typeof sent !== "string" || !USABLE.test(sent)) return null;
  return mayBringIds(raw, proxies) ? sent : null;
}

/** Reports whether the ids that a request was sent with count: its own, and that of the trace it belongs to. */
export function mayBringIds(raw: Request, proxies: TrustedProxies): boolean {
  return proxies.isEmpty || proxies.trusts(peerAddress(raw));
}

/** Returns the id of a request: the one it was sent with, or else a random UUID. */
export function requestIdOf(raw: Request, proxies: TrustedProxies): string {
  return sentRequestId(raw, proxies) ?? randomUUID();
}
