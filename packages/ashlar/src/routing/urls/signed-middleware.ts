import { type HttpContext, type HttpRequest, hasBody, type Middleware, type Next } from "../../http/index.ts";
import { AshlarError } from "../../support/index.ts";
import "../errors.ts";

/** Verifies signed URLs: the router. */
export interface SignatureChecker {
  hasValidSignature(url: string): boolean;
}

/** The part of the container that the middleware uses. */
export interface SignedMiddlewareServices {
  make(key: "router"): SignatureChecker;
}

/**
 * Lets a request pass only if its URL was created by `router.signed`, is unaltered, and has not expired. Register it in
 * the kernel's `routeMiddleware`, under a name such as `signed`.
 *
 * Otherwise responds with `E_INVALID_SIGNATURE` (403). The body is not signed. If it has an input with the same name as
 * one in the signed query, the request is refused too, because that input would override the signed one.
 */
export class SignedMiddleware implements Middleware {
  readonly #services: SignedMiddlewareServices;

  constructor(services: SignedMiddlewareServices) {
    this.#services = services;
  }

  handle(context: HttpContext, next: Next): unknown {
    // The router is looked up here because it is bound after the middleware is created.
    const { request } = context;
    const isValid = this.#services.make("router").hasValidSignature(request.fullUrl());
    if (!isValid) throw new AshlarError("E_INVALID_SIGNATURE");
    request.whenBodyIsRead(() => {
      if (overridesQuery(request)) throw new AshlarError("E_INVALID_SIGNATURE");
    });
    return next();
  }

  /** The URL is checked at once; the body, when it is read. */
  beforeBody(): boolean {
    return true;
  }
}

/** Reports whether the body has an input, or a part of one (`a.b`), with the same name as one in the query. */
function overridesQuery(request: HttpRequest): boolean {
  // A streamed body has no inputs.
  if (!hasBody(request.raw) || request.route()?.streamsBody === true) return false;
  const { query } = request;
  return Object.keys(request.body).some((name) => name in query || name.split(".", 1)[0]! in query);
}
