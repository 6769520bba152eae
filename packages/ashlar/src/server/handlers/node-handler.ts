import type { IncomingMessage, ServerResponse } from "node:http";
import { NodeRequest } from "srvx/node";
import { addRequestId, REQUEST_ID_HEADER, type TrustedProxies } from "../../http/index.ts";
import {
  abortReason,
  discard,
  type FetchFunction,
  isGone,
  type Logger,
  logResponse,
  ProxyList,
  prepare,
  type RequestTrace,
  type RunningApplication,
  requestTraces,
  responseHandedOver,
  type ServedExchange,
  servedExchange,
  whenEnded,
} from "../../kernel/index.ts";
import type { PreparedResponse } from "../../node/index.ts";
import { isPromise, type MaybePromise } from "../../support/index.ts";
import { isLingering, lingerIfUnread } from "../connections/lingering-close.ts";
import { hostCheck, isKnownCoding, isRequestTarget } from "../requests/request-host.ts";
import { HeldRefusals } from "../responses/held-refusals.ts";
import { type FinishedResponse, ResponseBatch } from "../responses/response-batch.ts";
import { sendStream } from "../responses/send-response.ts";

/** Handles the requests of a server. */
export interface RequestHandler {
  /** Responds to a request. */
  readonly fetch: FetchFunction;
  /** Responds again to a request whose streamed response failed before its first byte. Never rejects. */
  readonly rescue: (request: Request, error: unknown) => MaybePromise<Response>;
  /** The application that handles the requests. */
  readonly application?: RunningApplication;
}

/**
 * Handles a `node:http` request.
 *
 * @param waits whether the client waits for `100 Continue` before it sends its body, which Node reports with the event
 * `checkContinue`
 */
export type NodeListener = (message: IncomingMessage, response: ServerResponse, waits?: boolean) => void;

/**
 * Creates a `node:http` listener that uses srvx's requests and responses.
 *
 * A response in one piece, as most are, is written together with its headers in a single call, which is the cheapest
 * way. Quick handlers' responses are sent together; see {@link ResponseBatch}.
 */
export function nodeHandler(
  handler: RequestHandler,
  proxies: TrustedProxies,
  logger: Logger,
  held: HeldRefusals = new HeldRefusals(0),
): NodeListener {
  const { fetch, rescue, application = null } = handler;
  const trusted = proxies.isEmpty ? false : new ProxyList(proxies);
  const hasValidHost = hostCheck(trusted !== false);

  function fail(response: ServerResponse, error: unknown): void {
    logger.error({ err: error }, "The response could not be sent.");
    if (response.headersSent) response.destroy();
    else refuse(response, 500);
  }

  function broken(exchange: ServedExchange, response: ServerResponse, error: unknown): void {
    fail(response, error);
    logResponse(exchange, 500, null);
    responseHandedOver(exchange.trace, response, false);
  }

  function send([response, result, request]: FinishedResponse): void {
    const served = request === null ? undefined : servedExchange(request);
    const trace = served?.trace;
    let isStream = false;
    try {
      const { req: message } = response;
      if (!message.complete) lingerIfUnread(message, response, served?.awaitsContinue ?? false);
      const prepared = prepare(result);
      if (trace !== undefined && trace.id !== null) addRequestId(prepared.headers, trace.id);
      isStream = !isOnePiece(prepared.body) && hasContent(prepared, response);
      if (isStream) startStream(response, prepared, request, served);
      else sendWhole(response, prepared, served);
    } catch (error) {
      fail(response, error);
      if (served !== undefined) logResponse(served, 500, null);
    }
    if (trace !== undefined) responseHandedOver(trace, response, isStream);
  }

  function startStream(
    response: ServerResponse,
    prepared: PreparedResponse,
    request: Request | null,
    served: ServedExchange | undefined,
  ): void {
    if (served === undefined) {
      sendPieces(response, prepared, request);
      return;
    }
    served.bytes = announcedLength(prepared.headers);
    logStream(served, response, prepared.status);
    // This turn belongs to the trace of the request that started it, but a stream's source has to run in the trace of
    // its own request.
    requestTraces.run(served.trace, sendPieces, response, prepared, request);
  }

  function sendPieces(response: ServerResponse, prepared: PreparedResponse, request: Request | null): void {
    sendStream(response, prepared).catch((error) => breakOff(response, request, error));
  }

  function breakOff(response: ServerResponse, request: Request | null, error: unknown): void {
    // The client has disconnected, which has also ended the stream. This isn't a failure.
    if (response.destroyed && !response.errored) return;
    if (!response.headersSent) {
      if (request === null) fail(response, error);
      else respondAgain(response, request, error).catch((second) => fail(response, second));
      return;
    }
    logger.error({ err: error }, "The response was cut off.");
    const served = request === null ? undefined : servedExchange(request);
    if (served !== undefined) logResponse(served, response.statusCode, "error");
    response.destroy();
  }

  async function respondAgain(response: ServerResponse, request: Request, error: unknown): Promise<void> {
    const result = await rescue(request, error);
    if (response.destroyed) return;
    const id = servedExchange(request)?.trace.id ?? null;
    if (id !== null) response.setHeader(REQUEST_ID_HEADER, id);
    send([response, result, null]);
  }

  const batch = new ResponseBatch(send);

  function finished(response: ServerResponse, result: Response, request: Request, exchange: ServedExchange): void {
    if (exchange.isRefused) held.add(() => batch.add([response, result, request]));
    else batch.add([response, result, request]);
  }

  return (message, response, waits = false) => {
    // An earlier response on this connection has announced that it will close.
    if (isLingering(message.socket)) return;
    const isKnown = isKnownCoding(message.headers["transfer-encoding"]);
    if (!isKnown || !isRequestTarget(message) || !hasValidHost(message)) {
      lingerIfUnread(message, response, waits);
      refuse(response, isKnown ? 400 : 501);
      return;
    }
    const trace: RequestTrace = { id: null, logger, application, isHandedOver: false, waiting: null };
    const exchange: ServedExchange = {
      req: message,
      res: response,
      trustProxy: trusted,
      trace,
      awaitsContinue: waits,
      isRefused: false,
      context: null,
      watch: null,
      startedAt: batch.begin(),
      bytes: null,
      later: null,
      earlier: null,
    };
    const request = new NodeRequest(exchange);
    try {
      const result = requestTraces.run(trace, fetch, request);
      if (isPromise(result)) {
        result.then(
          (settled) => finished(response, settled, request, exchange),
          (error) => broken(exchange, response, error),
        );
      } else finished(response, result as Response, request, exchange);
    } catch (error) {
      broken(exchange, response, error);
    }
  };
}

/** Sends a response's headers, and its body, if any, in one piece. */
function sendWhole(response: ServerResponse, prepared: PreparedResponse, served: ServedExchange | undefined): void {
  const { body, status } = prepared;
  const isWhole = isOnePiece(body);
  if (!isWhole) discard(body);
  const headers = isWhole ? withLength(prepared, response) : prepared.headers;
  response.writeHead(status, headers);
  if (served !== undefined) {
    served.bytes = isWhole && hasContent(prepared, response) ? announcedLength(headers) : 0;
    logResponse(served, status, isGone(response) ? "client" : null);
  }
  response.end(isWhole ? body : null);
}

/**
 * Logs a request with a streamed response once the stream has ended, because only then is it known how much the client
 * received.
 */
function logStream(served: ServedExchange, response: ServerResponse, status: number): void {
  if (isGone(response)) logResponse(served, status, "client");
  else whenEnded(response, () => logResponse(served, response.statusCode, abortReason(response)));
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: "close", "content-length": 0 }).end();
}

/**
 * The headers. If a body is allowed but missing, they include a length of 0. Otherwise, `node:http` would send an empty
 * chunked body.
 */
function withLength(prepared: PreparedResponse, response: ServerResponse): string[] {
  const { headers, body } = prepared;
  const isLengthOpen = (body === null || body === undefined) && hasContent(prepared, response);
  if (!isLengthOpen || headers.some((text, index) => index % 2 === 0 && text === "content-length")) {
    return headers;
  }
  return [...headers, "content-length", "0"];
}

/** The value of `Content-Length` in the headers; `null` if it is missing. */
function announcedLength(headers: readonly string[]): number | null {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === "content-length") return Number(headers[index + 1]);
  }
  return null;
}

/**
 * Whether a response may have a body. Responses to HEAD, and those with status 204 and 304, end with their headers (RFC
 * 9110 §6.4.1).
 */
function hasContent({ status }: PreparedResponse, { req }: ServerResponse): boolean {
  return req.method !== "HEAD" && status !== 204 && status !== 304;
}

function isOnePiece(body: unknown): body is string | Uint8Array | null | undefined {
  return typeof body === "string" || body === undefined || body === null || body instanceof Uint8Array;
}
