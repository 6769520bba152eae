import { type TracingChannel, tracingChannel } from "node:diagnostics_channel";
import { isPromise } from "../values/kinds.ts";

/** The members of every message. */
export interface TraceMessage {
  /** The work's error, if it failed. */
  error?: unknown;
  /** Set before `end` if the work continues after that, until `asyncEnd`. */
  isAsync?: boolean;
}

/**
 * A request, on the channel `ashlar:request`. `asyncEnd` is published when its response has been sent or its client has
 * disconnected. Members whose values aren't known yet are `null`.
 */
export interface TracedRequest extends TraceMessage {
  /** The application's name. */
  readonly application: string;
  readonly method: string;
  /** `http` or `https`, as the client requested. */
  readonly scheme: string;
  /**
   * The trace that the request belongs to (W3C Trace Context), if request ids from its sender are trusted. If proxies
   * are configured, only theirs are.
   */
  readonly traceparent: string | null;
  readonly tracestate: string | null;
  /** The pattern of the route, `/orders/@id:int`; `null` if no route matched. */
  route: string | null;
  /** The path as it may be logged, without possible secrets. */
  path: string | null;
  requestId: string | null;
  /** The status of the response; `null` if there wasn't one. */
  status: number | null;
  /** Why the client didn't receive the complete response; `null` if it did. */
  aborted: "client" | "error" | "shutdown" | null;
  /**
   * A subscriber to `start` may set this function. It is then called with the function that handles the request, and
   * must return that function's result. This is for libraries that activate a context by calling a function in it, such
   * as OpenTelemetry.
   */
  within: (<T>(handle: () => T) => T) | null;
}

/** A statement, on the channel `ashlar:query`. The time includes waiting for a connection. */
export interface TracedQuery extends TraceMessage {
  /** The connection's name in `config/database.ts`. */
  readonly connection: string;
  /** The kind of database: `sqlite`, `postgres`. */
  readonly dialect: string;
  /** The statement with placeholders, without its values, which may be secrets. */
  readonly sql: string;
}

/** Hashing or verifying a password, on the channel `ashlar:hash`. The time includes waiting for a thread. */
export interface TracedHash extends TraceMessage {
  readonly operation: "hash" | "verify";
}

/** The delivery of a mail, on the channel `ashlar:mail`. */
export interface TracedMail extends TraceMessage {
  /** The name of the mail's class. */
  readonly mailable: string;
  /** The number of recipients. */
  readonly recipients: number;
}

/** A channel on which one kind of work is traced. */
export type Channel<Message extends object> = TracingChannel<object, Message>;

/**
 * The messages of each channel, by the channel's name after `ashlar:`. Subscribers receive messages as `unknown`,
 * because anyone can publish on a channel: `message as TraceMessages["query"]`. Each has `error`, the work's error, and
 * `isAsync`, which is set before `end` if the work continues after that, until `asyncEnd`.
 */
export interface TraceMessages {
  readonly request: TracedRequest;
  readonly query: TracedQuery;
  readonly hash: TracedHash;
  readonly mail: TracedMail;
}

/**
 * The channels on which the framework traces its work: `ashlar:request`, `ashlar:query`, `ashlar:hash` and `ashlar:mail`
 * of `node:diagnostics_channel`, for all applications in the process. Without subscribers, they cost nothing.
 *
 * ```ts
 * import { traceChannels } from "ashlar/telemetry";
 *
 * const started = new WeakMap<object, number>();
 * traceChannels.query.start.subscribe((message) => void started.set(message as object, performance.now()));
 * ```
 *
 * Each piece of work publishes one object as its message: on `start`, on `end` when its synchronous part is done, on
 * `asyncEnd` when all of it is done, and on `error` if it fails. Work that is completely synchronous, such as most
 * statements on SQLite, ends with `end`. A request always has an `asyncEnd`.
 */
export const traceChannels: {
  readonly [Name in keyof TraceMessages]: Channel<TraceMessages[Name]>;
} = Object.freeze({
  request: tracingChannel<object, TracedRequest>("ashlar:request"),
  query: tracingChannel<object, TracedQuery>("ashlar:query"),
  hash: tracingChannel<object, TracedHash>("ashlar:hash"),
  mail: tracingChannel<object, TracedMail>("ashlar:mail"),
});

/**
 * Runs work, and publishes its start and end. Node's own `tracePromise` would add the result, such as rows or a hash,
 * to the message. Check `hasSubscribers` first, so that no message is created needlessly.
 */
export function traced<T, Message extends TraceMessage>(channel: Channel<Message>, message: Message, work: () => T): T {
  return channel.start.runStores(message, () => {
    try {
      const result = work();
      if (!isPromise(result)) return result;
      message.isAsync = true;
      return later(channel, message, result) as T;
    } catch (error) {
      failed(channel, message, error);
      throw error;
    } finally {
      channel.end.publish(message);
    }
  });
}

async function later<T, Message extends TraceMessage>(
  channel: Channel<Message>,
  message: Message,
  result: Promise<T>,
): Promise<T> {
  try {
    return await result;
  } catch (error) {
    failed(channel, message, error);
    throw error;
  } finally {
    channel.asyncStart.publish(message);
    channel.asyncEnd.publish(message);
  }
}

function failed<Message extends TraceMessage>(channel: Channel<Message>, message: Message, error: unknown): void {
  message.error = error;
  channel.error.publish(message);
}
