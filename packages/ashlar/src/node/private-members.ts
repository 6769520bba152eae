// The members of srvx and Node objects that the framework uses, although they are undocumented. Only this file uses
// them. srvx is pinned to one version because of them, and tests fail if one of them disappears.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Data that a `node:http` server keeps with a request. Servers other than the framework's own provide less of it. */
export interface NodeExchange {
  readonly req: IncomingMessage;
  readonly res?: ServerResponse;
  /** Whether the client waits for `100 Continue` before it sends its body (RFC 9110 §10.1.1). */
  awaitsContinue?: boolean;
  /** Identifies the request in the log. */
  readonly trace?: { id: string | null };
}

/** A response as sent to a socket: the headers are a flat list of names and values. */
export interface PreparedResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: string[];
  readonly body: unknown;
}

interface NodeRequest extends Request {
  readonly runtime?: { readonly node?: NodeExchange };
  readonly _url?: { readonly pathname: string; readonly search: string };
}

interface NodeResponse extends Response {
  readonly _toNodeResponse?: () => PreparedResponse;
}

interface CountingSocket extends Socket {
  readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
}

interface ReadingSocket extends Socket {
  readonly _handle?: { readStop(): void } | null;
}

interface BusySocket extends Socket {
  readonly _httpMessage?: ServerResponse | null;
}

interface BlockingStream extends NodeJS.WriteStream {
  readonly _handle?: { setBlocking?(isBlocking: boolean): void } | null;
}

/**
 * The data that a `node:http` server keeps with a request; `undefined` for a request that was passed to `fetch` in
 * another way.
 */
export function nodeExchange(raw: Request): NodeExchange | undefined {
  return (raw as NodeRequest).runtime?.node;
}

/** The URL that srvx has already parsed for its request; `undefined` for other requests. */
export function parsedUrl(raw: Request): { readonly pathname: string; readonly search: string } | undefined {
  return (raw as NodeRequest)._url;
}

/**
 * Characters that a URL parser may change in a path or a query (URL Standard), and places where a segment `.` or `..`
 * can begin. Escapes need a parser, and so do apostrophes, which are escaped in queries only.
 */
const NOT_PLAIN = /[^!$&(-;=?-Z_a-z~]|\/\./;

/**
 * The target of a request created by srvx, if it is a path, with or without a query, that no URL parser would change;
 * otherwise `null`. Most targets are like that, so most requests don't need a `URL`.
 */
export function plainTarget(raw: Request): string | null {
  const target = nodeExchange(raw)?.req?.url;
  return target !== undefined && target.charCodeAt(0) === 47 && !NOT_PLAIN.test(target) ? target : null;
}

/**
 * Returns what srvx needs of a request to serve a file: the method, the headers, and the file's path instead of the
 * URL's. srvx decodes the path as a URL, which would leave escapes of `#`, `?`, `&` and others as they are.
 *
 * @param path the path within the folder, with a leading slash, not encoded
 */
export function requestForFile({ method, headers }: Request, path: string): Request {
  return { method, headers, _url: { pathname: path.replaceAll("%", "%25"), search: "" } } as unknown as Request;
}

/**
 * Reports whether a response was created by srvx. After its body has been read, srvx can't take its shortcut to the
 * socket.
 */
export function isNodeResponse(response: Response): boolean {
  return "_toNodeResponse" in response;
}

/**
 * A response created by srvx, in the form in which it is sent to a socket; `null` for other responses. The response is
 * empty afterwards.
 */
export function preparedByNode(response: Response): PreparedResponse | null {
  return (response as NodeResponse)._toNodeResponse?.() ?? null;
}

/**
 * The number of bytes written to a socket that the system has accepted.
 *
 * @returns `null` if it is closed
 */
export function takenBytes(socket: Socket): number | null {
  const handle = (socket as CountingSocket)._handle;
  return handle ? handle.bytesWritten - handle.writeQueueSize : null;
}

/**
 * Stops reading from a socket for good. `pause()` alone would continue to read until the buffer is full, and the process
 * that the socket is handed to would miss that data.
 */
export function stopReading(socket: Socket): void {
  socket.pause();
  (socket as ReadingSocket)._handle?.readStop();
}

/** The response that a `node:http` server hasn't finished on a socket; `null` between requests. */
export function unfinishedResponse(socket: Socket): ServerResponse | null {
  return (socket as BusySocket)._httpMessage ?? null;
}

/**
 * Makes writing to standard output or standard error fail with `EAGAIN` instead of waiting if it is a pipe or a socket
 * whose reader is slow. Node guarantees this only for its own streams, which lose no data when it happens.
 */
export function unblockStandardStream(stream: NodeJS.WriteStream): void {
  const { isTTY, _handle } = stream as BlockingStream;
  if (!isTTY) _handle?.setBlocking?.(false);
}
