import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { HttpContext } from "../http/index.ts";
import { type NodeParts, nodeParts } from "../node/index.ts";
import type { AbortReason, RequestLog } from "./request-log.ts";
import type { RequestTrace } from "./request-trace.ts";

/** What the server keeps with a request, and srvx passes along. */
export interface ServedParts extends NodeParts {
  readonly res: ServerResponse;
  readonly trustProxy: string[] | false;
  /** What unhandled errors need to know about the request. */
  readonly trace: RequestTrace;
  /** Whether the client waits for `100 Continue` before it sends its body; `inviteBody` sends it. */
  awaitsContinue: boolean;
  /** The context in which the request was handled; `null` until there is one. */
  context: HttpContext | null;
  /** Where the request is still to be logged; `null` if it is not logged, or has been. */
  log: RequestLog | null;
  /** When the request came in, by `performance.now()`; only known if it is logged. */
  startedAt: number;
}

/** A connection, with the requests on it whose responses are not out yet: several if the client sends them at once. */
interface ServedSocket extends Socket {
  [UNFINISHED]?: Set<ServedParts>;
}

const UNFINISHED: unique symbol = Symbol("unfinished");

/** Records on the connection that a request is being handled, so that its line is written if the connection ends. */
export function trackRequest(parts: ServedParts): void {
  const socket: ServedSocket = parts.req.socket;
  socket[UNFINISHED] ??= new Set();
  socket[UNFINISHED].add(parts);
}

/**
 * Logs a request, once.
 *
 * @param status the status of the response; `null` if there was none
 * @param aborted why the client did not get the complete response; `null` if it did
 */
export function logResponse(parts: ServedParts, status: number | null, aborted: AbortReason | null): void {
  (parts.req.socket as ServedSocket)[UNFINISHED]?.delete(parts);
  const { log, context } = parts;
  if (log === null || context === null) return;
  parts.log = null;
  log.write(context, status, parts.startedAt, aborted);
}

/** Logs the requests that a connection is still handling, before a shutdown cuts it off. */
export function logCutOff(socket: Socket): void {
  logUnfinished(socket, () => "shutdown");
}

/**
 * Logs the requests whose connection has closed before their responses were out. This does not wait for their handlers:
 * one that waits for a store or a database that hangs may never finish.
 */
export function logAbandoned(socket: Socket): void {
  // If nothing was sent, the only error is Node's own about a disconnected client.
  logUnfinished(socket, ({ res }) => (res.headersSent ? abortReason(res) : "client"));
}

/** Why the client did not get all of a response that is over; `null` if it did. */
export function abortReason(response: ServerResponse): AbortReason | null {
  if (response.writableFinished) return null;
  return response.errored ? "error" : "client";
}

function logUnfinished(socket: ServedSocket, reason: (parts: ServedParts) => AbortReason | null): void {
  for (const parts of socket[UNFINISHED] ?? []) {
    logResponse(parts, parts.res.headersSent ? parts.res.statusCode : null, reason(parts));
  }
}

/** What the server keeps with a request; `undefined` for one that came to `fetch` without a server. */
export function servedParts(raw: Request): ServedParts | undefined {
  return nodeParts(raw) as ServedParts | undefined;
}

/**
 * Reports whether a request is `OPTIONS *`, which is about the server and has no path (RFC 9110 §9.3.7). Its URL is that
 * of the path `/*`, which is a different request.
 */
export function asksAboutServer(raw: Request): boolean {
  return raw.method === "OPTIONS" && servedParts(raw)?.req.url === "*";
}
