import type { HttpContext, Middleware, Next } from "../http/index.ts";
import { AshlarError } from "../support/index.ts";

/** What tells a signed URL from others: the router. */
export interface SignatureChecker {
  hasValidSignature(url: string): boolean;
}

/** What the middleware needs of the container. */
export interface SignedMiddlewareServices {
  make(key: "router"): SignatureChecker;
}

/**
 * Lets a request pass only through a URL that `router.signed` made, unaltered and not expired. Registered under a name
 * in the kernel's `routeMiddleware`, such as `signed`.
 *
 * Answers `E_INVALID_SIGNATURE` (403) otherwise.
 */
export class SignedMiddleware implements Middleware {
  readonly #services: SignedMiddlewareServices;

  constructor(services: SignedMiddlewareServices) {
    this.#services = services;
  }

  handle(context: HttpContext, next: Next): unknown {
    // The router is asked for here because it is bound after the middleware is made.
    if (!this.#services.make("router").hasValidSignature(context.request.raw.url)) {
      throw new AshlarError("E_INVALID_SIGNATURE");
    }
    return next();
  }
}
