/** RFC 9110 §9.2.1: methods that change nothing, limited to those that reach a handler. */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Reports whether a request's method changes nothing.
 *
 * @param method as it was sent: if a form overrides it, the request is as unsafe as the POST that carries it
 */
export function isSafeMethod(method: string): boolean {
  return SAFE_METHODS.has(method);
}
