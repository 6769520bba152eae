/** The safe methods (RFC 9110 §9.2.1) that can reach a handler. */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Reports whether a request's method changes nothing.
 *
 * @param method the method that was sent, before a form's override: the request is as unsafe as the POST that carries
 * it
 */
export function isSafeMethod(method: string): boolean {
  return SAFE_METHODS.has(method);
}
