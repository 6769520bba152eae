import { type HttpContext, mayBringIds } from "../../http/index.ts";
import { type MaybePromise, type TracedRequest, traceChannels } from "../../support/index.ts";
import type { LoggablePaths } from "../log/loggable-path.ts";
import type { AbortReason } from "../requests/served-request.ts";

const channel = traceChannels.request;

/** The trace messages of unfinished requests. */
const messages = new WeakMap<Request, TracedRequest>();

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

/** Publishes the end of a request, if its start was published. */
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
