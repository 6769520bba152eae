import { type HttpContext, type HttpRequest, hasBody, type Middleware, type Next } from "../http/index.ts";
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
 * Answers `E_INVALID_SIGNATURE` (403) otherwise. A body is not signed: one that has an input of the same name as the
 * signed query is refused as well, for it would win over the signed one.
 */
export class SignedMiddleware implements Middleware {
  readonly #services: SignedMiddlewareServices;

  constructor(services: SignedMiddlewareServices) {
    this.#services = services;
  }

  handle(context: HttpContext, next: Next): unknown {
    // The router is asked for here because it is bound after the middleware is made.
    const { request } = context;
    const isValid = this.#services.make("router").hasValidSignature(request.raw.url);
    if (!isValid) throw new AshlarError("E_INVALID_SIGNATURE");
    request.whenBodyIsRead(() => {
      if (overridesQuery(request)) throw new AshlarError("E_INVALID_SIGNATURE");
    });
    return next();
  }

  /** The URL is judged at once; the body, when it is read. */
  beforeBody(): boolean {
    return true;
  }
}

/** Whether the body has an input, or a part of one (`a.b`), under a name that the query has. */
function overridesQuery(request: HttpRequest): boolean {
  if (!hasBody(request.raw)) return false;
  const { query } = request;
  return Object.keys(request.body).some((name) => name in query || name.split(".", 1)[0]! in query);
}
