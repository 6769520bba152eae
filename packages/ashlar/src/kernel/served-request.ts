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

/** A connection, with the latest request on it whose response is not out yet. */
interface ServedSocket extends Socket {
  [UNANSWERED]?: ServedParts | null;
}

const UNANSWERED: unique symbol = Symbol("unanswered");

/** Records on the connection that a request is being handled, so that {@link logCutOff} finds it. */
export function beginAnswer(parts: ServedParts): void {
  (parts.req.socket as ServedSocket)[UNANSWERED] = parts;
}

/**
 * Logs a request, once.
 *
 * @param status the status of the response; `null` if there was none
 * @param aborted why the client did not get the complete response; `null` if it did
 */
export function logAnswer(parts: ServedParts, status: number | null, aborted: AbortReason | null): void {
  const socket: ServedSocket = parts.req.socket;
  if (socket[UNANSWERED] === parts) socket[UNANSWERED] = null;
  const { log, context } = parts;
  if (log === null || context === null) return;
  parts.log = null;
  log.write(context, status, parts.startedAt, aborted);
}

/** Logs the request that a connection is still handling, before a shutdown cuts it off. */
export function logCutOff(socket: Socket): void {
  const parts = (socket as ServedSocket)[UNANSWERED];
  if (parts) logAnswer(parts, parts.res.headersSent ? parts.res.statusCode : null, "shutdown");
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
