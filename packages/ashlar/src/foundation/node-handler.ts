import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { NodeRequest, sendNodeResponse } from "srvx/node";
import type { Logger } from "./logger.ts";
import type { FetchFunction } from "./mounts.ts";
import type { ServerSettings } from "./server-settings.ts";

/** A response of srvx, as it gives itself to `node:http`: the headers as a flat list of names and values. */
interface PreparedResponse {
  readonly status: number;
  readonly headers: string[];
  readonly body: unknown;
}

type Preparable = Response & { _toNodeResponse?(): PreparedResponse };

/**
 * Makes a listener for `node:http` of `fetch`, with the requests and responses of srvx.
 *
 * An answer that is one piece is written with its headers in one call, which is what most of them are and what costs
 * least; srvx sends all others. They are written at the end of the turn of the event loop in which they were made.
 */
export function nodeHandler(
  fetch: FetchFunction,
  trustProxy: ServerSettings["trustProxy"],
  logger: Logger,
): RequestListener {
  const trusted = typeof trustProxy === "object" ? [...trustProxy] : trustProxy;

  let knownHost = "";

  function fail(response: ServerResponse, error: unknown): void {
    logger.error({ err: error }, "The answer could not be sent.");
    if (response.headersSent) response.destroy();
    else refuse(response, 500);
  }

  /** RFC 9112 §3.2. The host that came last is nearly always the one that comes next. */
  function hasValidHost({ headers: { host } }: IncomingMessage): boolean {
    if (host === undefined || host === "" || host === knownHost) return true;
    if (!HOST.test(host) || !URL.canParse(`http://${host}/`)) return false;
    knownHost = host;
    return true;
  }

  function send(response: ServerResponse, answer: Preparable): void {
    try {
      const prepared = answer._toNodeResponse?.();
      if (prepared !== undefined && isOnePiece(prepared.body)) {
        response.writeHead(prepared.status, withLength(prepared, response)).end(prepared.body);
        return;
      }
      const rest = prepared === undefined ? answer : ({ _toNodeResponse: () => prepared } as unknown as Response);
      sendNodeResponse(response, rest).then(
        () => {
          if (response.errored) logger.error({ err: response.errored }, "The answer broke off.");
        },
        (error) => fail(response, error),
      );
    } catch (error) {
      fail(response, error);
    }
  }

  const waiting: [response: ServerResponse, answer: Preparable][] = [];

  function sendAll(): void {
    for (const [response, answer] of waiting.splice(0)) send(response, answer);
  }

  /** Answers of one turn of the event loop go out together: the system then wakes their receiver once, not for each. */
  function enqueue(response: ServerResponse, answer: Preparable): void {
    if (waiting.push([response, answer]) === 1) setImmediate(sendAll);
  }

  return (message, response) => {
    if (!isRequestTarget(message) || !hasValidHost(message)) {
      refuse(response, 400);
      return;
    }
    const request = new NodeRequest({ req: message, res: response, trustProxy: trusted });
    try {
      const answer = fetch(request);
      if (answer instanceof Promise) {
        answer.then(
          (result) => enqueue(response, result),
          (error) => fail(response, error),
        );
      } else enqueue(response, answer as Response);
    } catch (error) {
      fail(response, error);
    }
  };
}

/** A name or an IPv4 address, or an IPv6 address in brackets; and a port (RFC 9110 §7.2). */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: "close", "content-length": 0 }).end();
}

/** Nothing has the length 0, where it might have had another; `node:http` would send it in chunks, of which there is none. */
function withLength({ status, headers, body }: PreparedResponse, { req }: ServerResponse): string[] {
  const isLengthOpen =
    (body === null || body === undefined) && req.method !== "HEAD" && status !== 204 && status !== 304;
  if (!isLengthOpen || headers.some((text, index) => index % 2 === 0 && text === "content-length")) {
    return headers;
  }
  return [...headers, "content-length", "0"];
}

function isOnePiece(body: unknown): body is string | Uint8Array | null | undefined {
  return typeof body === "string" || body === undefined || body === null || body instanceof Uint8Array;
}

/** RFC 9112 §3.2: a path, a whole URL, or the asterisk of OPTIONS. */
function isRequestTarget({ url = "" }: IncomingMessage): boolean {
  if (url.charCodeAt(0) === 47 || url === "*") return true;
  const target = URL.parse(url);
  return target !== null && (target.protocol === "http:" || target.protocol === "https:") && target.host !== "";
}
