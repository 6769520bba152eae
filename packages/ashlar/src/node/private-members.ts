// What is used of the objects of srvx and Node beyond what they document. It is touched nowhere else: srvx is pinned to one
// version for it, and a test for each of these members fails when it is gone.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** What a server of `node:http` keeps with a request. Other hosts than the framework's own server have less of it. */
export interface NodeParts {
  readonly req: IncomingMessage;
  readonly res?: ServerResponse;
  /** Whether the client waits to be told that its body is wanted (`Expect: 100-continue`, RFC 9110 §10.1.1). */
  awaitsContinue?: boolean;
  /** What the request is known by in the log. */
  readonly trace?: { id: string | null };
}

/** An answer as it goes to a socket: the headers as a flat list of names and values. */
export interface PreparedResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: string[];
  readonly body: unknown;
}

interface NodeRequest extends Request {
  readonly runtime?: { readonly node?: NodeParts };
  readonly _url?: { readonly pathname: string; readonly search: string };
}

interface NodeResponse extends Response {
  readonly _toNodeResponse?: () => PreparedResponse;
}

interface CountingSocket extends Socket {
  readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
}

/** What a server of `node:http` keeps with a request; `undefined` for one that came to `fetch` in another way. */
export function nodeParts(raw: Request): NodeParts | undefined {
  return (raw as NodeRequest).runtime?.node;
}

/** The URL of a request that srvx made, in parts, so that it need not be parsed again; `undefined` for any other. */
export function parsedUrl(raw: Request): { readonly pathname: string; readonly search: string } | undefined {
  return (raw as NodeRequest)._url;
}

/** Tells whether srvx made a response. To ask one for its body costs it its shortcut to the socket. */
export function isNodeResponse(response: Response): boolean {
  return "_toNodeResponse" in response;
}

/** A response that srvx made, as it goes to a socket; it has nothing left afterwards. `null` for any other. */
export function preparedByNode(response: Response): PreparedResponse | null {
  return (response as NodeResponse)._toNodeResponse?.() ?? null;
}

/**
 * How many of the bytes that were written to a socket the system has taken.
 *
 * @returns `null` if it is closed
 */
export function takenBytes(socket: Socket): number | null {
  const handle = (socket as CountingSocket)._handle;
  return handle ? handle.bytesWritten - handle.writeQueueSize : null;
}
