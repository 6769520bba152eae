import { randomBytes } from "node:crypto";
import { nodeExchange } from "../../node/index.ts";
import type { TrustedProxies } from "../addresses/client-address.ts";
import { peerAddress } from "../addresses/client-address.ts";

/** The header that a request's id arrives in, and is returned in. */
export const REQUEST_ID_HEADER = "x-request-id";

/** UUIDs, and what proxies and tracers write: no white space, quotes or control characters, which a log could take apart. */
const USABLE = /^[\w.:+/=-]{1,128}$/;

/**
 * Returns the id that a request was sent with, in `X-Request-Id`; `null` without a usable one: 1 to 128 letters, digits
 * and `_ . : + / = -`.
 *
 * With trusted proxies, only theirs are used: any other peer is a client, which could make its requests look like
 * someone else's in the log.
 */
export function sentRequestId(raw: Request, proxies: TrustedProxies): string | null {
  const served = nodeExchange(raw);
  const sent = served === undefined ? raw.headers.get(REQUEST_ID_HEADER) : served.req.headers[REQUEST_ID_HEADER];
  if (typeof sent !== "string" || !USABLE.test(sent)) return null;
  return mayBringIds(raw, proxies) ? sent : null;
}

/** Reports whether the ids in a request's headers are trusted: its own, and its trace's. */
export function mayBringIds(raw: Request, proxies: TrustedProxies): boolean {
  return proxies.isEmpty || proxies.trusts(peerAddress(raw));
}

/** Returns a request's id: the id it was sent with, or else a random UUID. */
export function requestIdOf(raw: Request, proxies: TrustedProxies): string {
  return sentRequestId(raw, proxies) ?? randomUuid();
}

/**
 * How many UUIDs are made at once: because asking the system for random bytes, and formatting them, is the costly part.
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
