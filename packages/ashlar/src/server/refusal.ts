import { NO_ORIGIN_HEADERS, type OriginHeaders } from "../http/index.ts";

/** What of a request decides how it is refused. */
export interface RefusedRequest {
  readonly method: string | undefined;
  readonly accept: string | undefined;
  readonly origin: string | undefined;
  /** `Access-Control-Request-Method`. */
  readonly requestedMethod: string | undefined;
}

/** The response to a request that an overloaded server refuses. */
export interface Refusal {
  readonly status: 204 | 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const SENTENCE = "The server is too busy; try again in a moment.";
const PROBLEM = JSON.stringify({
  type: "about:blank",
  title: "Service unavailable",
  status: 503,
  detail: SENTENCE,
  code: "E_OVERLOADED",
});

const TEXT_REFUSAL = refusal(SENTENCE, "text/plain; charset=utf-8");
const JSON_REFUSAL = refusal(PROBLEM, "application/problem+json");

function refusal(body: string, type: string): Refusal {
  const headers = {
    "retry-after": "1",
    "content-type": type,
    "content-length": String(body.length),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  return { status: 503, headers, body };
}

/**
 * The response to a request that an overloaded server refuses: text, or a problem document for those that accept JSON.
 *
 * Preflight requests of trusted origins get their permission, which costs as little: without it, the browser would not send
 * the request that follows, and its page could not read that the server is busy, nor when to try again.
 */
export function refusalOf(request: RefusedRequest, origins: OriginHeaders): Refusal {
  const { method, accept, origin = null, requestedMethod = null } = request;
  const plain = (accept?.includes("json") ?? false) ? JSON_REFUSAL : TEXT_REFUSAL;
  if (origins === NO_ORIGIN_HEADERS) return plain;
  const preflight = origins.ofPreflight({ method, origin, requestedMethod });
  if (preflight !== null) return { status: 204, headers: preflight, body: "" };
  return { ...plain, headers: { ...plain.headers, ...origins.of(origin) } };
}
