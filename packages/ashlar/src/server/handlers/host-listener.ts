import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TrustedProxies } from "../../http/index.ts";
import { type Logger, logAbandoned } from "../../kernel/index.ts";
import { AshlarError } from "../../support/index.ts";
import { requestedUrl } from "../requests/host-request.ts";
import { nodeHandler, type RequestHandler } from "./node-handler.ts";

/** Responds to a request to another framework's `node:http` server. */
export type HostListener = (message: IncomingMessage, response: ServerResponse) => void;

/**
 * Creates a listener for another framework's `node:http` server, such as Express's or Fastify's. It uses the target,
 * the header fields and the address as received over the socket, whatever the other framework has changed.
 */
export function hostListener(handler: RequestHandler, proxies: TrustedProxies, logger: Logger): HostListener {
  const listener = nodeHandler(handler, proxies, logger);
  const known = new WeakSet<Socket>();
  return (message, response) => {
    if (message.httpVersionMajor > 1) {
      const remedy = "Pass such requests to application.fetch(request, { address }).";
      throw new AshlarError("E_INTERNAL", `application.handler takes requests of HTTP/1.1. ${remedy}`);
    }
    const { socket } = message;
    if (!known.has(socket)) {
      known.add(socket);
      // Once the address has been read, Node remembers it after a disconnect.
      void socket.remoteAddress;
      socket.once("close", () => logAbandoned(socket));
    }
    message.url = requestedUrl(message);
    joinRepeated(message);
    listener(message, response);
  };
}

/**
 * Joins repeated header fields, as the framework's own server does (`joinDuplicateHeaders`).
 *
 * Security: if a field that may appear only once is repeated, such as `Host` or `Authorization`, Node keeps the first
 * value by default. A proxy may have checked another value. Joined, the values match nothing.
 */
function joinRepeated({ headers, rawHeaders }: IncomingMessage): void {
  const seen = new Map<string, string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    const value = rawHeaders[index + 1]!;
    const earlier = seen.get(name);
    seen.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
    // Node joins all other fields itself, and cookies with a semicolon.
    if (earlier !== undefined && ONCE.has(name)) headers[name] = seen.get(name);
  }
}

/** The request header fields for which Node keeps only the first value. */
const ONCE: ReadonlySet<string> = new Set([
  "authorization",
  "content-length",
  "content-type",
  "from",
  "host",
  "if-modified-since",
  "if-unmodified-since",
  "max-forwards",
  "proxy-authorization",
  "referer",
  "user-agent",
]);
