import type { IncomingHttpHeaders } from "node:http";
import type { LookupFunction } from "node:net";
import { type FetchLimits, limitedRequest } from "../outgoing/index.ts";

/** An issuer's response. */
export interface FetchedJwks {
  /** The parsed document, of any shape. */
  readonly document: unknown;
  /** How long the response may be cached, in seconds; `null` if the issuer doesn't specify it. */
  readonly maxAgeSeconds: number | null;
}

/** The keys of large providers take 20 KB. */
export const FETCH_LIMITS: FetchLimits = { timeoutMs: 5000, maxBytes: 256 * 1024 };

const ACCEPT = "application/jwk-set+json, application/json";
/** `application/json`, and types whose syntax is JSON (RFC 6839 §3.1), such as `application/jwk-set+json`. */
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Fetches a JWK Set, with one GET. Redirects are not followed, because anyone who can make the issuer's server redirect
 * could otherwise supply the keys.
 *
 * @param url the set's URL: `https:`, or `http:` if the caller has allowed it
 * @param signal aborts the request
 * @param ca the authorities that the server's certificate must come from, in PEM; `null` for those of Node.js
 * @param lookup resolves the server's name; `null` for that of Node.js
 * @throws an `Error` with the reason; its message contains nothing from the response but the status and the type
 */
export async function fetchJwks(
  url: URL,
  signal: AbortSignal,
  ca: string | null = null,
  limits: FetchLimits = FETCH_LIMITS,
  lookup: LookupFunction | null = null,
): Promise<FetchedJwks> {
  const request = { headers: { accept: ACCEPT }, signal, ca, lookup, check: requireJson };
  const { headers, body } = await limitedRequest(url, request, limits);
  return { document: parse(textOf(body)), maxAgeSeconds: maxAgeOf(headers["cache-control"]) };
}

function requireJson(status: number, headers: IncomingHttpHeaders): void {
  const problem =
    status !== 200
      ? `The status of the response is ${status}.`
      : (headers["content-encoding"] ?? "identity") !== "identity"
        ? "The response is compressed."
        : JSON_TYPE.test(headers["content-type"] ?? "")
          ? null
          : "The response is not JSON by its Content-Type.";
  if (problem !== null) throw new Error(problem);
}

function textOf(body: Buffer): string {
  try {
    return UTF8.decode(body);
  } catch {
    throw new Error("The response is not UTF-8 text.");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message would quote the text.
    throw new Error("The response is not JSON.");
  }
}

function maxAgeOf(cacheControl: string | undefined): number | null {
  const found = /(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])/i.exec(cacheControl ?? "");
  return found === null ? null : Number(found[1]);
}
