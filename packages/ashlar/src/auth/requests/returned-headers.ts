import type { ServerResponse } from "node:http";
import type { HttpContext } from "../../http/index.ts";

/** The headers that concern the visitor, not the content of another framework's response. */
const RETURNED: ReadonlySet<string> = new Set(["cache-control", "set-cookie", "vary"]);

/** Responses with a cookie: a cache that keeps one would give one visitor's login to the next (RFC 9111 §7.3). */
const PRIVATE = "private, no-store";

/**
 * Returns the headers that have to go back to the browser so far: cookies, unless nothing may be stored, and those that
 * keep caches from sharing the response.
 */
export function returnedHeaders(context: HttpContext): Headers {
  const returned = new Headers();
  const { response } = context;
  const vary = new Set<string>();
  // Building the response changes nothing; this one is only inspected.
  for (const [name, value] of response.toResponse().headers) {
    if (name === "vary") for (const field of fieldsOf(value)) vary.add(field);
    else if (RETURNED.has(name)) returned.append(name, value);
  }
  // Nothing was stored that a cookie could be about.
  if (context.isReadOnly) returned.delete("set-cookie");
  // The other framework may set its own Cache-Control later. Other visitors get a different response in any case.
  for (const field of response.visitorFields) vary.add(field);
  if (vary.size > 0) returned.set("vary", [...vary].join(", "));
  if (returned.has("set-cookie")) returned.set("cache-control", PRIVATE);
  return returned;
}

/**
 * Returns a copy of a response with these headers. The response's own `Cache-Control` takes precedence, as for
 * handlers, unless there are cookies.
 */
export function withHeaders(response: Response, returned: Headers): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of returned) {
    if (name === "set-cookie") headers.append(name, value);
    else if (name === "vary") headers.set(name, joined(headers.get(name), value));
    else if (!headers.has(name) || returned.has("set-cookie")) headers.set(name, value);
  }
  const { body, status, statusText } = response;
  return new Response(body, { status, statusText, headers });
}

/** Adds these headers to a response of `node:http` whose headers have not been sent. */
export function addHeaders(response: ServerResponse, returned: Headers): void {
  for (const [name, value] of returned) {
    const own = response.getHeader(name);
    if (name === "set-cookie") response.appendHeader(name, value);
    else if (name === "vary") response.setHeader(name, joined(own === undefined ? null : String(own), value));
    else if (own === undefined || returned.has("set-cookie")) response.setHeader(name, value);
  }
}

function joined(own: string | null, added: string): string {
  const fields = own === null ? [] : fieldsOf(own);
  return [...fields, ...fieldsOf(added).filter((field) => !fields.includes(field))].join(", ");
}

function fieldsOf(value: string): string[] {
  return value.split(",").map((field) => field.trim().toLowerCase());
}
