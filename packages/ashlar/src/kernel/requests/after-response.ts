import { AsyncLocalStorage } from "node:async_hooks";
import type { ServerResponse } from "node:http";
import { isPromise, type MaybePromise } from "../../support/index.ts";
import { type PendingResponse, type RequestTrace, requestTraces } from "./request-trace.ts";
import { underSameOrigin } from "./requested-origins.ts";

/** How long work waits for the end of a streamed response, in milliseconds: some streams never end. */
const STREAM_PATIENCE_MS = 1000;

/** The responses to requests that came to `fetch` without a server. */
const fetches = new AsyncLocalStorage<PendingResponse>();

/**
 * Starts work once the response to the current request has been passed to the socket; without a server, in a turn of the
 * event loop after `fetch` returned the response. Outside of a request, and after its response, it starts in the next
 * turn.
 *
 * Security: the response time reveals nothing about work that starts after it.
 *
 * @param work must not throw
 */
export function afterResponse(work: () => void): void {
  const current = pending();
  if (current === null) setImmediate(work);
  else if (current.waiting === null) current.waiting = [work];
  else current.waiting.push(work);
}

/**
 * The trace of the request that the running code belongs to, whichever way it came in; `null` outside of requests. An
 * application that another one mounts, or calls in a handler, handles a part of the other's request.
 */
export function currentTrace(): PendingResponse | null {
  return requestTraces.getStore() ?? fetches.getStore() ?? null;
}

/** Runs work that belongs to no request, also if one has started it: others may wait for its result as well. */
export function outsideRequests<T>(work: () => T): T {
  return requestTraces.exit(() => fetches.exit(work));
}

/** The id of the request that the running code belongs to; `null` outside of requests. */
export function currentRequestId(): string | null {
  return currentTrace()?.id ?? null;
}

/** Makes work that runs later, perhaps started by another request's end, belong to the request that runs now. */
export function inSameRequest<T>(work: () => T): () => T {
  const own = underSameOrigin(work);
  const served = requestTraces.getStore();
  if (served !== undefined) return () => requestTraces.run(served, own);
  const fetched = fetches.getStore();
  return fetched === undefined ? own : () => fetches.run(fetched, own);
}

/**
 * Runs a `fetch` without a server, so that {@link afterResponse} knows of its response; or other work for a request, at whose
 * end the same begins.
 */
export function fetchTraced<T = Response>(fetch: () => MaybePromise<T>): MaybePromise<T> {
  // An application mounted in another one responds with the other's request.
  if (pending() !== null) return fetch();
  const trace: PendingResponse = { id: null, isHandedOver: false, waiting: null };
  const returned = () => {
    trace.isHandedOver = true;
    const { waiting } = trace;
    if (waiting !== null) setImmediate(() => fetches.run(trace, begin, waiting));
  };
  const response = fetches.run(trace, fetch);
  if (isPromise(response)) response.then(returned, returned);
  else returned();
  return response;
}

/** Records that a response was passed to `node:http`. What waits for it starts once it is sent or cut off. */
export function responseHandedOver(trace: RequestTrace, response: ServerResponse, isStream: boolean): void {
  trace.isHandedOver = true;
  if (trace.waiting !== null) beginAfter(trace, trace.waiting, response, isStream);
}

function beginAfter(
  trace: RequestTrace,
  waiting: readonly (() => void)[],
  response: ServerResponse,
  isStream: boolean,
): void {
  trace.waiting = null;
  // An unhandled error in it still belongs to this request.
  const start = () => requestTraces.run(trace, begin, waiting);
  if (isGone(response)) {
    setImmediate(start);
    return;
  }
  const timer = isStream ? setTimeout(() => out(), STREAM_PATIENCE_MS).unref() : null;
  const end = whenEnded(response, () => out());
  const out = () => {
    if (timer !== null) clearTimeout(timer);
    end();
    start();
  };
}

/** Reports whether a response can no longer reach its client. */
export function isGone(response: ServerResponse): boolean {
  return response.destroyed || response.req.socket.destroyed;
}

/**
 * Calls a function when a response is sent or cut off.
 *
 * @returns a function that cancels this
 */
export function whenEnded(response: ServerResponse, work: () => void): () => void {
  const { socket } = response.req;
  const forget = () => {
    response.off("close", ended);
    socket.off("close", ended);
  };
  const ended = () => {
    forget();
    work();
  };
  response.once("close", ended);
  // A response queued behind others on its connection, of which the client can make any number, never learns of its end.
  if (response.socket === null) socket.setMaxListeners(0).once("close", ended);
  return forget;
}

function begin(waiting: readonly (() => void)[]): void {
  for (const work of waiting) work();
}

function pending(): PendingResponse | null {
  const fetched = fetches.getStore();
  if (fetched !== undefined && !fetched.isHandedOver) return fetched;
  const served = requestTraces.getStore();
  return served === undefined || served.isHandedOver ? null : served;
}
