import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { HttpContext } from "../../http/index.ts";
import { type NodeExchange, nodeExchange } from "../../node/index.ts";
import type { RequestTrace } from "./running-code.ts";

/**
 * Why a client didn't receive the complete response: it disconnected, the response stream failed, or the server's
 * shutdown took too long.
 */
export type AbortReason = "client" | "error" | "shutdown";

/** Called for each request that has ended. */
export interface EndWatch {
  /**
   * @param startedAt when the request came in, by `performance.now()`
   * @param status the status of the response; `null` if nothing was sent
   * @param aborted why the client didn't receive the complete response; `null` if it did
   * @param bytes the length of the body that the client received; `null` if it is unknown
   */
  ended(
    context: HttpContext,
    startedAt: number,
    status: number | null,
    aborted: AbortReason | null,
    bytes: number | null,
  ): void;
}

/** The data that the server stores with a request, which srvx passes along. */
export interface ServedExchange extends NodeExchange {
  readonly res: ServerResponse;
  readonly trustProxy: string[] | false;
  /** The data about the request for unhandled errors. */
  readonly trace: RequestTrace;
  /** Whether the client waits for `100 Continue`, which `inviteBody` sends, before it sends its body. */
  awaitsContinue: boolean;
  /** Whether the request is refused because there are too many requests. */
  isRefused: boolean;
  /** The context in which the request was handled; `null` until there is one. */
  context: HttpContext | null;
  /** Notified when the request ends; `null` if it already has ended, or if it isn't watched. */
  watch: EndWatch | null;
  /** When the request came in, by `performance.now()`. */
  readonly startedAt: number;
  /**
   * The length of the response's body, as announced to the client; `null` if it wasn't announced, or if nothing was
   * sent.
   */
  bytes: number | null;
  /** The next and previous unfinished requests on the same connection. */
  later: ServedExchange | null;
  earlier: ServedExchange | null;
}

/** A connection, with its latest unfinished request. There may be several at once. */
interface ServedSocket extends Socket {
  [UNFINISHED]?: ServedExchange | null;
}

const UNFINISHED: unique symbol = Symbol("unfinished");

/**
 * Notifies a watch when a request has ended: when its response has been sent, or when its connection closes before
 * that.
 */
export function watchUntilEnded(exchange: ServedExchange, watch: EndWatch): void {
  exchange.watch = watch;
  const socket: ServedSocket = exchange.req.socket;
  const latest = socket[UNFINISHED] ?? null;
  if (latest !== null) latest.later = exchange;
  exchange.earlier = latest;
  socket[UNFINISHED] = exchange;
}

/**
 * Removes a request from its connection's list. Unlike a `Set`, a linked list costs next to nothing for a single
 * request.
 */
function removeUnfinished(exchange: ServedExchange): void {
  const { later, earlier } = exchange;
  if (later === null) (exchange.req.socket as ServedSocket)[UNFINISHED] = earlier;
  else later.earlier = earlier;
  if (earlier !== null) earlier.later = later;
  exchange.later = null;
  exchange.earlier = null;
}

/**
 * Counts a request and logs it, once.
 *
 * @param status the status of the response; `null` if nothing was sent
 * @param aborted why the client didn't receive the complete response; `null` if it did
 */
export function logResponse(exchange: ServedExchange, status: number | null, aborted: AbortReason | null): void {
  const { watch, context } = exchange;
  if (watch === null || context === null) return;
  exchange.watch = null;
  removeUnfinished(exchange);
  // If the response was cut off, only the system knows how much of it was sent.
  watch.ended(context, exchange.startedAt, status, aborted, aborted === null ? exchange.bytes : null);
}

/** Logs the requests that a connection is still handling, before a shutdown cuts it off. */
export function logCutOff(socket: Socket): void {
  logUnfinished(socket, () => "shutdown");
}

/**
 * Logs the requests whose connection closed before their responses had been sent. Doesn't wait for their handlers,
 * because a handler that waits for a hanging store or database may never finish.
 */
export function logAbandoned(socket: Socket): void {
  // If a request didn't arrive in time, Node.js has responded to it by itself before closing the connection.
  const isTooLate = (socket.errored as NodeJS.ErrnoException | null)?.code === "ERR_HTTP_REQUEST_TIMEOUT";
  // If nothing was sent, the only error is Node's own about a disconnected client.
  logUnfinished(socket, ({ res }) => (res.headersSent ? abortReason(res) : "client"), isTooLate);
}

/** Why the client didn't receive all of a finished response; `null` if it did. */
export function abortReason(response: ServerResponse): AbortReason | null {
  if (response.writableFinished) return null;
  return response.errored ? "error" : "client";
}

/** @param isTooLate whether an incomplete request was refused with 408 */
function logUnfinished(
  socket: ServedSocket,
  reason: (exchange: ServedExchange) => AbortReason | null,
  isTooLate = false,
): void {
  const unfinished: ServedExchange[] = [];
  for (let one = socket[UNFINISHED] ?? null; one !== null; one = one.earlier) unfinished.push(one);
  for (const exchange of unfinished.reverse()) {
    const { req, res } = exchange;
    if (isTooLate && !req.complete && !res.headersSent) logResponse(exchange, 408, null);
    else logResponse(exchange, res.headersSent ? res.statusCode : null, reason(exchange));
  }
}

/**
 * The data that the server keeps with a request; `undefined` for a request that was passed to `fetch` without a server.
 */
export function servedExchange(raw: Request): ServedExchange | undefined {
  return nodeExchange(raw) as ServedExchange | undefined;
}

/**
 * Reports whether a request is `OPTIONS *`, which is about the server and has no path (RFC 9110 §9.3.7). Its URL is that
 * of the path `/*`, which is a different request.
 */
export function asksAboutServer(raw: Request): boolean {
  return raw.method === "OPTIONS" && servedExchange(raw)?.req.url === "*";
}
