import type { IncomingMessage, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import type { OriginHeaders } from "../http/index.ts";
import type { Logger } from "../kernel/index.ts";
import { lingerIfUnread } from "./lingering-close.ts";
import { LoopDelay } from "./loop-delay.ts";
import type { NodeListener } from "./node-handler.ts";

const RETRY_AFTER_SECONDS = "1";
/** After this time without a refusal, the next one is logged again. */
const EPISODE_MS = 10_000;
const SENTENCE = "The server is too busy; try again in a moment.";
const PROBLEM = JSON.stringify({
  type: "about:blank",
  title: "Service unavailable",
  status: 503,
  detail: SENTENCE,
  code: "E_OVERLOADED",
});

/** Which requests are refused. */
export interface Shedding {
  /** How late the event loop may be, in milliseconds; see {@link LoopDelay}. */
  readonly maxMs: number;
  /** Paths by which others find out whether the process is alive: a busy one must not be taken for a dead one. */
  readonly neverRefused: readonly string[];
  /** What pages of other origins may read. */
  readonly origins: OriginHeaders;
  /** Is told of each request that is refused. */
  readonly refused: () => void;
}

/** A listener that refuses requests while the event loop is overloaded, and how to end it. */
export interface SheddingListener {
  readonly listener: NodeListener;
  readonly stop: () => void;
}

/**
 * Makes a listener refuse requests with 503 and `Retry-After` while the event loop is overloaded, before anything else
 * looks at them: a refusal costs a fraction of a response, so those that are accepted are answered in time. Each episode is
 * logged once, and the refused requests are not.
 *
 * Preflight requests of trusted origins get their permission here, which costs as little: without it, the browser would not
 * send the request that follows, and its page could not read that the server is busy, nor when to try again.
 */
export function sheddingListener(
  listener: NodeListener,
  { maxMs, neverRefused, origins, refused }: Shedding,
  logger: Logger,
): SheddingListener {
  const delay = new LoopDelay(maxMs);
  let refusedAt = Number.NEGATIVE_INFINITY;
  const shedding: NodeListener = (message, response, waits = false) => {
    if (delay.accepts() || neverRefused.includes(pathOf(message))) {
      listener(message, response, waits);
      return;
    }
    const { origin = null, "access-control-request-method": requestedMethod = null } = message.headers;
    const preflight = origins.ofPreflight({ method: message.method, origin, requestedMethod });
    if (preflight !== null) {
      lingerIfUnread(message, response, waits);
      response.writeHead(204, preflight).end();
      return;
    }
    const at = performance.now();
    if (at - refusedAt > EPISODE_MS) {
      const delayMs = Math.round(delay.currentMs);
      const problem = `The event loop is ${delayMs} ms late, more than maxLoopDelayMs (${maxMs}).`;
      logger.warn({ delayMs }, `${problem} Requests are refused with 503 until it catches up.`);
    }
    refusedAt = at;
    refused();
    lingerIfUnread(message, response, waits);
    refuse(message, response, origins.of(origin));
  };
  return { listener: shedding, stop: () => delay.stop() };
}

function pathOf({ url = "" }: IncomingMessage): string {
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

function refuse({ headers }: IncomingMessage, response: ServerResponse, more: Readonly<Record<string, string>>): void {
  const isProblem = headers.accept?.includes("json") ?? false;
  const body = isProblem ? PROBLEM : SENTENCE;
  response
    .writeHead(503, {
      "retry-after": RETRY_AFTER_SECONDS,
      "content-type": isProblem ? "application/problem+json" : "text/plain; charset=utf-8",
      "content-length": body.length,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...more,
    })
    .end(body);
}
