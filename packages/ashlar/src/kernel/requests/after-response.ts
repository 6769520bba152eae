import { randomInt } from "node:crypto";
import type { ServerResponse } from "node:http";
import { afterCommit, isPromise, type MaybePromise } from "../../support/index.ts";
import type { Logger } from "../logger.ts";
import { fetches, inSameRequest, type PendingResponse, type RequestTrace, requestTraces } from "./running-code.ts";

/** How long work waits for the end of a streamed response, in milliseconds, because some streams never end. */
const STREAM_PATIENCE_MS = 1000;

/**
 * Starts work once the response to the current request has been passed to the socket, or, without a server, in a turn
 * of the event loop after `fetch` has returned the response. Outside of a request, or after its response, the work
 * starts in the next turn.
 *
 * Security: the response time reveals nothing about the work, because it starts after the response.
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
 * Runs `fetch` without a server, to let {@link afterResponse} know when it has returned its response. Also runs other
 * work for a request, in which case the end of that work counts as the response.
 */
export function fetchTraced<T = Response>(fetch: () => MaybePromise<T>): MaybePromise<T> {
  // An application that is mounted in another one shares that application's request.
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

/**
 * Records that a response has been passed to `node:http`. Waiting work starts once the response has been sent or cut
 * off.
 */
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
  // An unhandled error in the work still belongs to this request.
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
 * Calls a function when a response has been sent or cut off.
 *
 * @returns a function that cancels the call
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
  // If a response is queued behind others on its connection, it emits no event when the connection ends. Clients can
  // queue any number of requests.
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

interface Job {
  /** The job's name in the log: `a password reset`. */
  readonly name: string;
  readonly work: () => Promise<void>;
}

/** The maximum number of jobs running at once. */
const CONCURRENCY = 8;

/** The maximum delay of an unpredictable job, in milliseconds. */
const MAX_DELAY_MS = 1000;

/**
 * Background jobs that requests start. They run after the response, in order, a few at a time, and are kept in memory.
 */
export class Background {
  readonly #logger: Logger;
  /** Jobs that are waiting for their request's response or for their delay, in order. */
  readonly #held = new Set<Job>();
  readonly #ready: Job[] = [];
  #running = 0;
  /** Resolved when jobs start or end. */
  #step: PromiseWithResolvers<void> | null = null;

  /** @param logger logs jobs that fail */
  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** How many jobs are unfinished. */
  get pending(): number {
    return this.#held.size + this.#ready.length + this.#running;
  }

  /**
   * Runs a job after the response; see {@link afterResponse}. In a database transaction, it also waits for the commit,
   * and is dropped on a rollback. A failing job is logged.
   *
   * @param name the job's name in the log
   */
  run(name: string, work: () => Promise<void>): void {
    this.#hold(name, work, (begin) => begin());
  }

  /**
   * Like {@link run}, but the job starts at a random time within a second after the response.
   *
   * Security: use it if it must stay secret how much work there is, such as for a mail that is sent only if an account
   * exists. The work takes CPU time from later requests. If it started at once, a client could measure that with its
   * next request.
   */
  runUnpredictably(name: string, work: () => Promise<void>): void {
    this.#hold(name, work, (begin) => void setTimeout(begin, randomInt(MAX_DELAY_MS)));
  }

  #hold(name: string, work: () => Promise<void>, schedule: (begin: () => void) => void): void {
    const job: Job = { name, work: inSameRequest(work) };
    afterCommit(() => {
      this.#held.add(job);
      afterResponse(() => schedule(() => this.#begin(job)));
    });
  }

  /** Resolves once no job is left. Jobs that are waiting for a response or a delay start now. */
  async settled(): Promise<void> {
    while (this.pending > 0) {
      this.#step ??= Promise.withResolvers();
      setImmediate(() => {
        for (const job of this.#held) this.#begin(job);
      });
      await this.#step.promise;
    }
  }

  #begin(job: Job): void {
    if (!this.#held.delete(job)) return;
    this.#ready.push(job);
    this.#advance();
  }

  #advance(): void {
    while (this.#running < CONCURRENCY) {
      const job = this.#ready.shift();
      if (job === undefined) break;
      this.#running++;
      void this.#do(job);
    }
    this.#step?.resolve();
    this.#step = null;
  }

  async #do({ name, work }: Job): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#logger.error({ err: error, job: name }, "A background job failed.");
    }
    this.#running--;
    this.#advance();
  }
}
