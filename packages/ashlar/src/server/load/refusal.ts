import { NO_ORIGIN_HEADERS, type OriginHeaders } from "../../http/index.ts";
import { type BusyPages, busyPageFor } from "../../kernel/index.ts";

/** The parts of a request that decide how it is refused. */
export interface RefusedRequest {
  readonly method: string | undefined;
  readonly accept: string | undefined;
  /** The request's `Accept-Language`. */
  readonly language: string | undefined;
  readonly origin: string | undefined;
  /** The request's `Access-Control-Request-Method`. */
  readonly requestedMethod: string | undefined;
}

/** The response to a request refused by an overloaded server. */
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

const TEXT_REFUSAL = refusal(SENTENCE, { "content-type": "text/plain; charset=utf-8" });
const JSON_REFUSAL = refusal(PROBLEM, { "content-type": "application/problem+json" });

function refusal(body: string, more: Readonly<Record<string, string>>): Refusal {
  const headers = {
    "retry-after": "1",
    ...more,
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  return { status: 503, headers, body };
}

/** The responses to requests refused by an overloaded server, prepared in advance. */
export class Refusals {
  readonly #origins: OriginHeaders;
  readonly #pages: BusyPages | null;
  readonly #made = new Map<string, Refusal>();

  /** @param pages the pages for visitors; `null` for a line of text */
  constructor(origins: OriginHeaders, pages: BusyPages | null) {
    this.#origins = origins;
    this.#pages = pages;
    for (const { opened, sent } of Object.values(pages?.pages ?? {})) {
      for (const page of [opened, sent]) this.#made.set(page, refusal(page, pages!.headers));
    }
  }

  /**
   * The response to a request: a page, a problem document if the client accepts JSON, or text.
   *
   * Preflight requests from trusted origins are permitted, which costs just as little. Otherwise, the browser wouldn't
   * send the actual request, and the page couldn't find out that the server is busy and when to try again.
   */
  of(request: RefusedRequest): Refusal {
    const { method, origin = null, requestedMethod = null } = request;
    const plain = this.#plain(request);
    if (this.#origins === NO_ORIGIN_HEADERS) return plain;
    const preflight = this.#origins.ofPreflight({ method, origin, requestedMethod });
    if (preflight !== null) return { status: 204, headers: preflight, body: "" };
    return { ...plain, headers: { ...plain.headers, ...this.#origins.of(origin) } };
  }

  #plain({ method, accept = "", language }: RefusedRequest): Refusal {
    if (this.#pages !== null && accept.includes("text/html")) {
      const { opened, sent } = busyPageFor(this.#pages, language);
      return this.#made.get(method === "GET" || method === "HEAD" ? opened : sent)!;
    }
    return accept.includes("json") ? JSON_REFUSAL : TEXT_REFUSAL;
  }
}
