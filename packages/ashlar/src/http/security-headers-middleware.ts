import type { HttpContext } from "./context.ts";
import { CheckedHeaders } from "./header-fields.ts";
import type { Middleware, Next } from "./middleware.ts";

/**
 * Tells browsers what a page of this application may do: run and load only its own files, never be framed, and never send
 * its address to other sites. Part of the `web` stack; a subclass can relax it:
 *
 * ```ts
 * class Headers extends SecurityHeadersMiddleware {
 *   static override policy = { ...SecurityHeadersMiddleware.policy, "img-src": "'self' https://images.example" };
 * }
 * ```
 *
 * Security: a handler that sets one of these headers itself has the last word.
 */
export class SecurityHeadersMiddleware implements Middleware {
  /** The directives of `Content-Security-Policy` (W3C CSP 3), by name. */
  static policy: Readonly<Record<string, string>> = {
    "default-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "object-src": "'none'",
  };

  /** Headers besides the policy, by name. */
  static headers: Readonly<Record<string, string>> = {
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
  };

  readonly #headers: CheckedHeaders;

  /** @throws `E_INVALID_HEADER` if a directive or a header contains characters not allowed in headers */
  constructor() {
    const { policy, headers } = new.target;
    const directives = Object.entries(policy).map(([name, value]) => `${name} ${value}`);
    this.#headers = new CheckedHeaders([
      ["Content-Security-Policy", directives.join("; ")],
      ...Object.entries(headers),
    ]);
  }

  handle({ response }: HttpContext, next: Next): unknown {
    // Before the handler, so that the handler can set another value.
    response.checkedHeaders(this.#headers);
    return next();
  }

  /** It reads no input. */
  beforeBody(): boolean {
    return true;
  }
}
