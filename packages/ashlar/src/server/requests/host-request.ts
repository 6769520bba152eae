import type { IncomingMessage } from "node:http";
import {
  ambiguousTarget,
  isAddress,
  isAmbiguousTarget,
  markForwarded,
  peerAddress,
  sentTarget,
  setPeerAddress,
} from "../../http/index.ts";
import { parsedUrl } from "../../node/index.ts";
import { AshlarError } from "../../support/index.ts";
import { hasPossibleHost, hostCheck, isRequestTarget } from "./request-host.ts";

/** A request of another framework: of the Fetch API, or of `node:http`, as in Express and Fastify. */
export type HostRequest = Request | IncomingMessage;

/** The methods that a `Request` cannot have (Fetch §2.2.1). */
const FORBIDDEN_METHODS: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

const hasValidHost = hostCheck(false);

/**
 * Copies method, URL, headers and address of a request, without its body, which the host reads.
 *
 * @param address the address of the socket, if the request doesn't know it
 * @throws `E_BAD_REQUEST` if a request has no valid host, or one of `node:http` no valid target; `E_METHOD_NOT_ALLOWED` for
 *   CONNECT and TRACE
 */
export function withoutItsBody(request: HostRequest, address?: string): Request {
  const { method = "GET" } = request;
  if (FORBIDDEN_METHODS.has(method.toUpperCase())) throw new AshlarError("E_METHOD_NOT_ALLOWED");
  const copy = isMessage(request) ? ofMessage(request, method) : ofRequest(request);
  const peer = isAddress(address) ? address : isMessage(request) ? request.socket.remoteAddress : peerAddress(request);
  if (isAddress(peer)) setPeerAddress(copy, peer);
  return copy;
}

function isMessage(request: HostRequest): request is IncomingMessage {
  return "rawHeaders" in request;
}

function ofRequest(request: Request): Request {
  if (!hasPossibleHost(request)) throw new AshlarError("E_BAD_REQUEST");
  if (isAmbiguousTarget(sentTarget(request))) throw ambiguousTarget();
  const { method, url, headers } = request;
  const copy = new Request(url, { method, headers });
  // A request from a server that uses srvx has the requested host in its URL.
  return parsedUrl(request) === undefined ? copy : markForwarded(copy);
}

/**
 * Security: the URL is put together, not resolved: in `new URL("//evil.example/", base)`, the path of a request would be
 * another host.
 */
function ofMessage(message: IncomingMessage, method: string): Request {
  const headers = headersOf(message);
  const parts = { url: requestedUrl(message), headers: { host: headers.get("host") ?? authorityOf(message) } };
  if (!isRequestTarget(parts) || !hasValidHost(parts)) throw new AshlarError("E_BAD_REQUEST");
  if (isAmbiguousTarget(parts.url)) throw ambiguousTarget();
  const { url } = parts;
  const origin = `${"encrypted" in message.socket ? "https" : "http"}://${parts.headers.host || "localhost"}`;
  const target = url === "*" ? "/*" : url;
  const parsed = URL.parse(target.startsWith("/") ? `${origin}${target}` : target);
  if (parsed === null) throw new AshlarError("E_BAD_REQUEST");
  // The host of an absolute target counts, not that of the header (RFC 9112 §3.2.2).
  return markForwarded(new Request(parsed, { method, headers }));
}

/** The target of a request as the client sent it. Express removes the path that a middleware is mounted at from `url`. */
export function requestedUrl(message: IncomingMessage): string {
  const { originalUrl, url = "/" } = message as IncomingMessage & { readonly originalUrl?: unknown };
  return typeof originalUrl === "string" ? originalUrl : url;
}

/** The host of an HTTP/2 request (RFC 9113 §8.3.1). */
function authorityOf({ headers }: IncomingMessage): string | undefined {
  const authority = headers[":authority"];
  return typeof authority === "string" ? authority : undefined;
}

/**
 * Security: from the fields as they were sent. Of a field that may appear once, `headers` has the first, and a proxy may
 * have looked at another: combined, they match nothing.
 */
function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  const cookies: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.startsWith(":")) continue;
    if (name.toLowerCase() === "cookie") cookies.push(rawHeaders[index + 1]!);
    else headers.append(name, rawHeaders[index + 1]!);
  }
  if (cookies.length > 0) headers.set("cookie", cookies.join("; "));
  return headers;
}
