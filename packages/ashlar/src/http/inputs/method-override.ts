import type { RequestBody } from "../bodies/body.ts";

/** The input that overrides the method of a POST, because forms can't send other methods. */
const INPUT = "__method";

/** The methods a POST can be turned into. */
export const OVERRIDING_METHODS: readonly string[] = ["PUT", "PATCH", "DELETE"];

/**
 * Returns a request's method, which `__method` in the body of a POST may override. In a query, `__method` is ignored,
 * because otherwise a link could turn a form into a different request.
 *
 * @param method the method that was sent
 * @param body the body as read
 * @param read returns an input of the body; only called if the body may contain that input
 */
export function overriddenMethod(method: string, body: RequestBody, read: (name: string) => unknown): string {
  if (method !== "POST" || !mayOverride(body)) return method;
  try {
    const wanted = read(INPUT);
    const name = typeof wanted === "string" ? wanted.toUpperCase() : "";
    return OVERRIDING_METHODS.includes(name) ? name : method;
  } catch {
    // A malformed body overrides nothing. Code that reads an input gets the error.
    return method;
  }
}

/** Whether a body may contain the input. This avoids parsing most bodies. */
function mayOverride(body: RequestBody): boolean {
  if (body.kind === "multipart") return body.fields.some(([name]) => name === INPUT);
  if (body.kind !== "form" && body.kind !== "json") return false;
  const { buffer, byteOffset, byteLength } = body.bytes;
  return Buffer.from(buffer, byteOffset, byteLength).includes(INPUT);
}
