import { type HttpContext, mayBringIds } from "../../http/index.ts";
import { type MaybePromise, type TracedRequest, traceChannels } from "../../support/index.ts";
import type { LoggablePaths } from "../log/loggable-path.ts";
import type { RequestLog } from "../log/request-log.ts";
import { type AbortReason, type EndWatch, servedExchange } from "../requests/served-request.ts";
import type { RequestStats } from "./request-stats.ts";

/** Counts each request that has ended, writes its line in the log, and ends its trace. */
export class RequestWatch implements EndWatch {
  readonly #stats: RequestStats;
  readonly #log: RequestLog | null;
  readonly #paths: LoggablePaths;

  /** @param log `null` if requests are not logged */
  constructor(stats: RequestStats, log: RequestLog | null, paths: LoggablePaths) {
    this.#stats = stats;
    this.#log = log;
    this.#paths = paths;
  }

  ended(
    context: HttpContext,
    startedAt: number,
    status: number | null,
    aborted: AbortReason | null,
    bytes: number | null,
  ): void {
    const durationMs = performance.now() - startedAt;
    this.#stats.count(context.request.route(), status, durationMs);
    // Requests that are refused under overload come by the thousands, and get two lines in total.
    const isRefused = servedExchange(context.request.raw)?.isRefused === true;
    if (!isRefused) this.#log?.write(context, { status, aborted, durationMs, bytes });
    if (isTracing()) endTrace(context, this.#paths, status, aborted);
  }
}

const channel = traceChannels.request;

/** The messages of requests that have not ended. */
const messages = new WeakMap<Request, TracedRequest>();

/** Whether someone wants to know about requests. */
export function isTracing(): boolean {
  return channel.hasSubscribers;
}

/** Handles a request, and publishes its start. It must never throw or reject. */
export function traceRequest(
  raw: Request,
  application: string,
  proxies: Parameters<typeof mayBringIds>[1],
  handle: () => MaybePromise<Response>,
): MaybePromise<Response> {
  const isBelieved = mayBringIds(raw, proxies);
  const message: TracedRequest = {
    application,
    method: raw.method,
    scheme: raw.url.startsWith("https:") ? "https" : "http",
    traceparent: isBelieved ? raw.headers.get("traceparent") : null,
    tracestate: isBelieved ? raw.headers.get("tracestate") : null,
    route: null,
    path: null,
    requestId: null,
    status: null,
    aborted: null,
    within: null,
  };
  messages.set(raw, message);
  return channel.start.runStores(message, () => {
    try {
      return message.within === null ? handle() : message.within(handle);
    } finally {
      channel.end.publish(message);
    }
  });
}

/** Publishes the end of a request, if its start was. */
export function endTrace(
  context: HttpContext,
  paths: LoggablePaths,
  status: number | null,
  aborted: AbortReason | null,
): void {
  const { request } = context;
  const message = messages.get(request.raw);
  if (message === undefined) return;
  messages.delete(request.raw);
  message.route = request.route()?.pattern ?? null;
  message.path = paths.of(context);
  message.requestId = request.id;
  message.status = status;
  message.aborted = aborted;
  channel.asyncStart.publish(message);
  channel.asyncEnd.publish(message);
}
