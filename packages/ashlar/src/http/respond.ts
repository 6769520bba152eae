import { FastResponse } from "srvx";
import type { HttpContext } from "./context.ts";
import { HttpResponse } from "./response.ts";
import { HTML_TYPE, JSON_TYPE, serialize, unserializable } from "./serialize.ts";

// Pairs in a list are what the server writes out without a detour; one object serves every answer.
const NOSNIFF: [string, string] = ["x-content-type-options", "nosniff"];
const JSON_INIT: ResponseInit = { headers: [["content-type", JSON_TYPE], NOSNIFF] };
const HTML_INIT: ResponseInit = { headers: [["content-type", HTML_TYPE], NOSNIFF] };
const EMPTY_INIT: ResponseInit = { status: 204, headers: [NOSNIFF] };

/**
 * Makes the platform's `Response` of what a handler or a middleware returned.
 *
 * A string is a page; an object, a model, a list, a number, a boolean and `null` are JSON; a `Response` is itself, and
 * where the context's own response was started, a copy with its headers and cookies; the context's own response is
 * built; `undefined` is the context's own response where it was started, and 204 where not.
 *
 * @throws `E_UNSERIALIZABLE_RESULT`, with the route's name, for what no answer can be made of
 */
export function toResponse(context: HttpContext, result: unknown): Response {
  const started = context.startedResponse;
  if (typeof result === "string") {
    return started === null ? new FastResponse(result, HTML_INIT) : started.respond(result, HTML_TYPE);
  }
  if (result === undefined) return started === null ? new FastResponse(null, EMPTY_INIT) : started.toResponse();
  if (typeof result === "object" && result !== null && !isPlain(result)) {
    if (result instanceof HttpResponse) return result.toResponse();
    if (isResponse(result)) return fromPlatform(context, started, result);
    checkKind(context, result);
  }
  const text = serialize(context, result);
  return started === null ? new FastResponse(text, JSON_INIT) : started.respond(text, JSON_TYPE);
}

/**
 * Tells whether something is a response of the platform. `instanceof Response` does not: hosts such as
 * `@hono/node-server` put a class of their own in that global, and then responses of srvx, of the platform itself and of
 * another copy of either are none. All of them say what they are by their tag (Fetch §5.5, Web IDL §3.7.3).
 */
export function isResponse(value: unknown): value is Response {
  if (typeof value !== "object" || value === null) return false;
  return (value as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag] === "Response" && "headers" in value;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null;
}

function fromPlatform(context: HttpContext, started: HttpResponse | null, response: Response): Response {
  if (response.status === 0) throw unserializable(context, "is an error of fetch, with no status.");
  // Asking a response of the server for this would cost it its shortcut, and nobody keeps one of those.
  if ((response.constructor as unknown) === Response && response.bodyUsed) {
    throw unserializable(context, "is a Response that was sent or read before: make a new one each time.");
  }
  return started === null ? response : started.mergeInto(response);
}

/** Refuses objects that JSON would make `{}` or a list of numbers of, which nobody means. */
function checkKind(context: HttpContext, value: object): void {
  const isBytes = ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof Blob;
  if (isBytes || value instanceof ReadableStream || Symbol.asyncIterator in value) {
    throw unserializable(context, "is raw bytes or a stream: return response.stream(…) or response.download(…).");
  }
  if (value instanceof Map || value instanceof Set) {
    throw unserializable(context, "is a Map or a Set, which JSON cannot hold: return an object or a list.");
  }
}
