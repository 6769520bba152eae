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

/** Another framework's request: a Fetch API request, or a `node:http` one, as in Express and Fastify. */
export type HostRequest = Request | IncomingMessage;

/** The methods that a `Request` cannot have (Fetch §2.2.1). */
const FORBIDDEN_METHODS: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

const hasValidHost = hostCheck(false);

/**
 * Copies a request's method, URL, headers and address, but not its body, which the host reads.
 *
 * @param address the socket's address, if the request doesn't contain it
 * @throws `E_BAD_REQUEST` if the host, or the target of a `node:http` request, is invalid; `E_METHOD_NOT_ALLOWED` for
 * CONNECT and TRACE
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
 * Security: the URL is concatenated rather than resolved, because in `new URL("//evil.example/", base)`, a request's
 * path would become another host.
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
  // The host of an absolute target takes precedence over the header (RFC 9112 §3.2.2).
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
 * Security: uses the fields as they were sent. If a field that may appear only once is repeated, `headers` has only the
 * first value, and a proxy may have checked another one. Joined, the values match nothing.
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
