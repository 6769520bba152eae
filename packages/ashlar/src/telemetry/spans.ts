import type * as Api from "@opentelemetry/api";
import type { Context, Span, SpanOptions } from "@opentelemetry/api";
import {
  type Channel,
  type TracedHash,
  type TracedMail,
  type TracedQuery,
  type TracedRequest,
  type TraceMessage,
  traceChannels,
} from "../support/index.ts";

/** The handlers subscribed to a channel. */
interface Subscription {
  start(): void;
  stop(): void;
}

/**
 * The allowed values of a span's `http.request.method`, because clients could make up others (semantic conventions for
 * HTTP).
 */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "QUERY"]);
/** The names of databases in the semantic conventions, by dialect. */
const SYSTEMS: Readonly<Record<string, string>> = { postgres: "postgresql" };
/** The maximum length of a statement's text in a span, in characters. */
const MAX_SQL_LENGTH = 2000;

/**
 * Creates a span for each message on the framework's channels, with the attributes of OpenTelemetry's semantic
 * conventions.
 */
export class Spans {
  readonly #api: typeof Api;
  readonly #tracer: Api.Tracer;
  readonly #open = new WeakMap<object, Span>();
  readonly #subscriptions: readonly Subscription[];

  constructor(api: typeof Api) {
    this.#api = api;
    this.#tracer = api.trace.getTracer("ashlar");
    const { request, query, hash, mail } = traceChannels;
    this.#subscriptions = [
      subscription(request, {
        start: (message) => this.#beginRequest(message),
        asyncEnd: (message) => this.#endRequest(message),
      }),
      this.#leaf(query, (message) => this.#query(message)),
      this.#leaf(hash, (message) => this.#hash(message)),
      this.#leaf(mail, (message) => this.#mail(message)),
    ];
  }

  start(): void {
    for (const one of this.#subscriptions) one.start();
  }

  stop(): void {
    for (const one of this.#subscriptions) one.stop();
  }

  #beginRequest(message: TracedRequest): void {
    const { context, propagation, ROOT_CONTEXT, SpanKind, trace } = this.#api;
    const { traceparent, tracestate, scheme } = message;
    const carrier = { ...(traceparent !== null && { traceparent }), ...(tracestate !== null && { tracestate }) };
    // If there is an active span, from a handler that calls another application, or from an instrumentation of
    // node:http, it is the parent.
    const isInside = trace.getSpan(context.active()) !== undefined;
    const parent = isInside ? context.active() : propagation.extract(ROOT_CONTEXT, carrier);
    const method = METHODS.has(message.method) ? message.method : "_OTHER";
    const attributes = { "http.request.method": method, "url.scheme": scheme };
    const span = this.#tracer.startSpan(nameOf(method), { kind: SpanKind.SERVER, attributes }, parent);
    this.#open.set(message, span);
    const inside: Context = trace.setSpan(parent, span);
    message.within = (handle) => context.with(inside, handle);
  }

  #endRequest(message: TracedRequest): void {
    const span = this.#open.get(message);
    if (span === undefined) return;
    const { route, path, status, aborted, requestId } = message;
    const method = METHODS.has(message.method) ? message.method : "HTTP";
    if (route !== null) span.updateName(`${method} ${route}`).setAttribute("http.route", route);
    if (path !== null) span.setAttribute("url.path", path);
    if (status !== null) span.setAttribute("http.response.status_code", status);
    if (requestId !== null) span.setAttribute("ashlar.request.id", requestId);
    // A 4xx is the client's error, not the server's (semantic conventions for HTTP).
    const failure = status !== null && status >= 500 ? String(status) : aborted;
    if (failure !== null) span.setAttribute("error.type", failure).setStatus({ code: this.#api.SpanStatusCode.ERROR });
    span.end();
  }

  #query({ connection, dialect, sql }: TracedQuery): readonly [name: string, options: SpanOptions] {
    const [operation = ""] = /^\w+/.exec(sql.trimStart()) ?? [];
    const attributes = {
      "db.system.name": SYSTEMS[dialect] ?? dialect,
      "db.query.text": sql.slice(0, MAX_SQL_LENGTH),
      "db.operation.name": operation.toUpperCase(),
      "ashlar.connection": connection,
    };
    return [operation.toUpperCase() || dialect, { kind: this.#api.SpanKind.CLIENT, attributes }];
  }

  #hash({ operation }: TracedHash): readonly [name: string, options: SpanOptions] {
    return [`password ${operation}`, { kind: this.#api.SpanKind.INTERNAL }];
  }

  #mail({ mailable, recipients }: TracedMail): readonly [name: string, options: SpanOptions] {
    const attributes = { "ashlar.mail.mailable": mailable, "ashlar.mail.recipients": recipients };
    return [`mail ${mailable}`, { kind: this.#api.SpanKind.CLIENT, attributes }];
  }

  /** Traces work that contains no other spans. */
  #leaf<Message extends TraceMessage>(
    channel: Channel<Message>,
    describe: (message: Message) => readonly [name: string, options: SpanOptions],
  ): Subscription {
    const { context, SpanStatusCode, trace } = this.#api;
    const end = (message: Message): void => {
      const span = this.#open.get(message);
      if (message.error !== undefined) {
        span?.setAttribute("error.type", errorType(message.error)).setStatus({ code: SpanStatusCode.ERROR });
      }
      span?.end();
    };
    return subscription(channel, {
      start: (message) => {
        // Outside of requests, such as in daily pruning, the trace would consist of this span only.
        if (trace.getSpan(context.active()) === undefined) return;
        const [name, options] = describe(message);
        this.#open.set(message, this.#tracer.startSpan(name, options));
      },
      end: (message) => {
        // The end of the synchronous part isn't the end of asynchronous work.
        if (message.isAsync !== true) end(message);
      },
      asyncEnd: end,
    });
  }
}

/** The handlers for a channel's events. */
interface Handlers<Message> {
  readonly start: (message: Message) => void;
  readonly end?: (message: Message) => void;
  readonly asyncEnd: (message: Message) => void;
}

function subscription<Message extends TraceMessage>(
  channel: Channel<Message>,
  handlers: Handlers<Message>,
): Subscription {
  const entries = Object.entries(handlers) as [keyof Handlers<Message>, (message: unknown) => void][];
  return {
    start(): void {
      for (const [event, handler] of entries) channel[event].subscribe(handler);
    },
    stop(): void {
      for (const [event, handler] of entries) channel[event].unsubscribe(handler);
    },
  };
}

/** The name of an error's class, or its code, but never its message, which may contain user input. */
function errorType(error: unknown): string {
  const { code, name } = Object(error) as { readonly code?: unknown; readonly name?: unknown };
  return typeof code === "string" ? code : String(name ?? "Error");
}

/** The name of a request's span until its route is known. */
function nameOf(method: string): string {
  return method === "_OTHER" ? "HTTP" : method;
}
