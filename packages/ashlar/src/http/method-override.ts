import type { RequestBody } from "./body.ts";

/** The input that overrides the method of a POST, since forms know no other. */
const INPUT = "__method";

/** What a POST can be made into. */
const METHODS: ReadonlySet<string> = new Set(["PUT", "PATCH", "DELETE"]);

/**
 * The method of a request, `__method` in the body of a POST considered. In a query it counts for nothing, or a link to
 * a harmless address could be made into another request.
 *
 * @param method as it was sent
 * @param body as it was read
 * @param read gives an input of the body; only called if the body may hold the one
 */
export function overriddenMethod(method: string, body: RequestBody, read: (name: string) => unknown): string {
  if (method !== "POST" || !mayOverride(body)) return method;
  try {
    const wanted = read(INPUT);
    const name = typeof wanted === "string" ? wanted.toUpperCase() : "";
    return METHODS.has(name) ? name : method;
  } catch {
    // A malformed body overrides nothing. Whoever asks for an input gets the error.
    return method;
  }
}

/** Spares most bodies being parsed for this. */
function mayOverride(body: RequestBody): boolean {
  if (body.kind === "multipart") return body.fields.some(([name]) => name === INPUT);
  if (body.kind !== "form" && body.kind !== "json") return false;
  const { buffer, byteOffset, byteLength } = body.bytes;
  return Buffer.from(buffer, byteOffset, byteLength).includes(INPUT);
}
