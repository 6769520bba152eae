import { isNodeResponse } from "../../node/index.ts";
import { FastResponse } from "../responses/fast-response.ts";
import type { HttpContext } from "./context.ts";
import { HttpResponse } from "./response.ts";
import { HTML_TYPE, JSON_TYPE, serialize, unserializable } from "./serialize.ts";

// The server writes a list of pairs directly, and one object serves every response.
const NOSNIFF: [string, string] = ["x-content-type-options", "nosniff"];
const JSON_INIT: ResponseInit = { headers: [["content-type", JSON_TYPE], NOSNIFF] };
const HTML_INIT: ResponseInit = { headers: [["content-type", HTML_TYPE], NOSNIFF] };
const EMPTY_INIT: ResponseInit = { status: 204, headers: [NOSNIFF] };

/**
 * Turns the result of a handler or a middleware into the platform's `Response`.
 *
 * A string becomes a page; an object, a model, a list, a number, a boolean and `null` become JSON. A `Response` is
 * returned as is, or, if the context's own response was started, as a copy with that response's headers and cookies.
 * The context's own response is built. `undefined` stands for the context's own response if it was started, and
 * otherwise for 204.
 *
 * @throws `E_UNSERIALIZABLE_RESULT`, with the route's name, for a result that cannot become a response
 */
export function toResponse(context: HttpContext, result: unknown): Response {
  // Headers for all responses are set on the context's own response.
  const started = context.services.strictTransportSecurity === null ? context.startedResponse : context.response;
  if (typeof result === "string") {
    return started === null ? new FastResponse(result, HTML_INIT) : started.respond(result, HTML_TYPE);
  }
  if (result === undefined) return started === null ? new FastResponse(null, EMPTY_INIT) : started.toResponse();
  if (typeof result === "object" && result !== null && !isPlain(result)) {
    if (isResponse(result)) return fromPlatform(context, started, result);
    if (result instanceof HttpResponse) return result.toResponse();
    checkKind(context, result);
  }
  const text = serialize(context, result);
  return started === null ? new FastResponse(text, JSON_INIT) : started.respond(text, JSON_TYPE);
}

/**
 * Reports whether something is a response of the platform. `instanceof Response` is not enough: hosts such as
 * `@hono/node-server` replace that global with their own class, and then responses of srvx, of the platform itself, and
 * of another copy of either don't match. All of them have the same tag (Fetch §5.5, Web IDL §3.7.3).
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
  // Reading this from one of the server's own responses would lose its shortcut, and those are never reused anyway.
  // They are recognized without mentioning `Response`, which would make Node.js load its `fetch`; see `inheritLate`.
  if (!isNodeResponse(response) && (response.constructor as unknown) === Response && response.bodyUsed) {
    throw unserializable(context, "is a Response that was already sent or read: create a new one each time.");
  }
  if (started !== null) return started.mergeInto(response);
  // Only a response like this can permit caches to keep it, so the token has to be considered only here.
  return context.readsToken && response.headers.has("cache-control") ? context.response.mergeInto(response) : response;
}

/** Refuses objects that JSON would turn into `{}` or a list of numbers, which is never intended. */
function checkKind(context: HttpContext, value: object): void {
  const isBytes = ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof Blob;
  if (isBytes || value instanceof ReadableStream || Symbol.asyncIterator in value) {
    throw unserializable(context, "is raw bytes or a stream: return response.stream(…) or response.download(…).");
  }
  if (value instanceof Map || value instanceof Set) {
    throw unserializable(context, "is a Map or a Set, which JSON cannot represent: return an object or a list.");
  }
}
