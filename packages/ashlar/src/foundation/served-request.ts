import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpContext } from "../http/index.ts";
import type { RequestTrace } from "./request-trace.ts";

/** What the server keeps with a request. srvx carries it along as `runtime.node`. */
export interface ServedParts {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly trustProxy: string[] | false;
  /** What is known of the request by errors that nothing handles. */
  readonly trace: RequestTrace;
  /** Whether the client waits to be told that its body is wanted, which `inviteBody` does. */
  awaitsContinue: boolean;
  /** The context the request was answered in; `null` until there is one. */
  context: HttpContext | null;
}

/** What the server keeps with a request; `undefined` for one that came to `fetch` without a server. */
export function servedParts(raw: Request): ServedParts | undefined {
  return (raw as Request & { readonly runtime?: { readonly node?: ServedParts } }).runtime?.node;
}

/**
 * Tells whether a request is `OPTIONS *`, which asks about the server and leads to no path (RFC 9110 §9.3.7). Its URL is
 * that of the path `/*`, which is another request.
 */
export function asksAboutServer(raw: Request): boolean {
  return raw.method === "OPTIONS" && servedParts(raw)?.req.url === "*";
}
