import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { HttpContext } from "../http/index.ts";
import { type NodeParts, nodeParts } from "../node/index.ts";
import type { AbortReason, RequestLog } from "./request-log.ts";
import type { RequestTrace } from "./request-trace.ts";

/** What the server keeps with a request, and srvx carries along. */
export interface ServedParts extends NodeParts {
  readonly res: ServerResponse;
  readonly trustProxy: string[] | false;
  /** What is known of the request by errors that nothing handles. */
  readonly trace: RequestTrace;
  /** Whether the client waits to be told that its body is wanted, which `inviteBody` does. */
  awaitsContinue: boolean;
  /** The context the request was answered in; `null` until there is one. */
  context: HttpContext | null;
  /** Where the request has yet to leave its line; `null` if it leaves none, or has left it. */
  log: RequestLog | null;
  /** When the request came in, by `performance.now()`; only known if it is logged. */
  startedAt: number;
}

/** A connection, with the request that was last begun on it and whose answer is not out yet. */
interface ServedSocket extends Socket {
  [UNANSWERED]?: ServedParts | null;
}

const UNANSWERED: unique symbol = Symbol("unanswered");

/** Notes at its connection that a request is being answered, so that {@link logCutOff} finds it. */
export function beginAnswer(parts: ServedParts): void {
  (parts.req.socket as ServedSocket)[UNANSWERED] = parts;
}

/**
 * Leaves the line of a request in the log, once.
 *
 * @param status what was answered; `null` if nothing was
 * @param aborted why the client did not get the whole answer, if it did not
 */
export function logAnswer(parts: ServedParts, status: number | null, aborted: AbortReason | null): void {
  const socket: ServedSocket = parts.req.socket;
  if (socket[UNANSWERED] === parts) socket[UNANSWERED] = null;
  const { log, context } = parts;
  if (log === null || context === null) return;
  parts.log = null;
  log.write(context, status, parts.startedAt, aborted);
}

/** Leaves the line of the request that a connection is still answering, before a shutdown cuts it off. */
export function logCutOff(socket: Socket): void {
  const parts = (socket as ServedSocket)[UNANSWERED];
  if (parts) logAnswer(parts, parts.res.headersSent ? parts.res.statusCode : null, "shutdown");
}

/** What the server keeps with a request; `undefined` for one that came to `fetch` without a server. */
export function servedParts(raw: Request): ServedParts | undefined {
  return nodeParts(raw) as ServedParts | undefined;
}

/**
 * Tells whether a request is `OPTIONS *`, which asks about the server and leads to no path (RFC 9110 §9.3.7). Its URL is
 * that of the path `/*`, which is another request.
 */
export function asksAboutServer(raw: Request): boolean {
  return raw.method === "OPTIONS" && servedParts(raw)?.req.url === "*";
}
