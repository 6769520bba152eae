import { AsyncLocalStorage } from "node:async_hooks";
import type { ServerResponse } from "node:http";
import type { MaybePromise } from "../support/index.ts";
import { type PendingAnswer, type RequestTrace, requestTraces } from "./request-trace.ts";

/** How long work waits for the end of an answer that is a stream, in milliseconds: some streams never end. */
const STREAM_PATIENCE_MS = 1000;

/** The answers of requests that came to `fetch` without a server. */
const fetches = new AsyncLocalStorage<PendingAnswer>();

/**
 * Begins work once the answer to the request that the running code belongs to has been handed to the socket; without a
 * server, in a turn of the event loop after the one that `fetch` has given the answer in. Outside of a request, and after
 * its answer, it begins in the next turn.
 *
 * Security: how long an answer takes tells its receiver nothing about work that begins after it.
 *
 * @param work must not throw
 */
export function afterAnswer(work: () => void): void {
  const answer = pending();
  if (answer === null) setImmediate(work);
  else if (answer.waiting === null) answer.waiting = [work];
  else answer.waiting.push(work);
}

/** Runs a `fetch` without a server, so that {@link afterAnswer} knows of its answer. */
export function fetchTraced(fetch: () => MaybePromise<Response>): MaybePromise<Response> {
  // An application that is mounted in another one answers with it.
  if (pending() !== null) return fetch();
  const answer: PendingAnswer = { isGiven: false, waiting: null };
  const given = () => {
    answer.isGiven = true;
    const { waiting } = answer;
    if (waiting !== null) setImmediate(begin, waiting);
  };
  const response = fetches.run(answer, fetch);
  if (response instanceof Promise) response.then(given, given);
  else given();
  return response;
}

/** Notes that an answer was handed to a response of `node:http`. What waits for it begins once it is out, or broken off. */
export function answerGiven(trace: RequestTrace, response: ServerResponse, isStream: boolean): void {
  trace.isGiven = true;
  if (trace.waiting !== null) beginAfter(trace, trace.waiting, response, isStream);
}

function beginAfter(
  trace: RequestTrace,
  waiting: readonly (() => void)[],
  response: ServerResponse,
  isStream: boolean,
): void {
  trace.waiting = null;
  // An error in it that nothing handles is still one of this request.
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

/** Tells whether a response can no longer reach its client. */
export function isGone(response: ServerResponse): boolean {
  return response.destroyed || response.req.socket.destroyed;
}

/**
 * Calls a function when a response is out, or broken off.
 *
 * @returns takes that back
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
  // One that waits behind others on its connection, of which there are as many as the client likes, is not told of its end.
  if (response.socket === null) socket.setMaxListeners(0).once("close", ended);
  return forget;
}

function begin(waiting: readonly (() => void)[]): void {
  for (const work of waiting) work();
}

function pending(): PendingAnswer | null {
  const fetched = fetches.getStore();
  if (fetched !== undefined && !fetched.isGiven) return fetched;
  const served = requestTraces.getStore();
  return served === undefined || served.isGiven ? null : served;
}
