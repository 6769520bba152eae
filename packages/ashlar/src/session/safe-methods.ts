/** RFC 9110 §9.2.1: methods that change nothing, as far as they reach a handler. */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Tells whether a request changes nothing by its method.
 *
 * @param method as it was sent; what a form overrides it with is unsafe like the POST that carries it
 */
export function isSafeMethod(method: string): boolean {
  return SAFE_METHODS.has(method);
}
