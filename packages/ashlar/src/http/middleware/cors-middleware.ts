import type { TrustedOrigins } from "../addresses/trusted-origins.ts";
import type { HttpContext } from "../exchange/context.ts";
import { CheckedHeaders } from "../headers/header-fields.ts";
import { EnforcedHeaders } from "../responses/enforced-headers.ts";
import type { Middleware, Next } from "./middleware.ts";

/** The parts of a request that show whether it is a preflight request. */
export interface Preflight {
  readonly method: string | undefined;
  readonly origin: string | null;
  /** `Access-Control-Request-Method`. */
  readonly requestedMethod: string | null;
}

const BY_ORIGIN = "Origin";
const NOTHING = new EnforcedHeaders(new CheckedHeaders([]), BY_ORIGIN);

/**
 * Lets pages on the origins in `APP.trustedOrigins` use the application, with cookies (Fetch §3.3, CORS). Put it first
 * in the kernel's `httpMiddleware`:
 *
 * ```ts
 * class AppKernel extends HttpKernel {
 *   override httpMiddleware = [CorsMiddleware, IpMiddleware];
 * }
 * ```
 *
 * It responds to preflight requests from these origins itself, before routes, limits and logins. All other responses,
 * including errors, say that the origin may read them. For any other origin, the browser hides the response from the
 * page, as it does without this middleware. If any origin is listed, every response has `Vary: Origin`, so that no
 * cache serves one origin's response to another. If no origin is listed, this middleware does nothing.
 *
 * A subclass can allow more request headers, or let pages read more response headers:
 *
 * ```ts
 * class Cors extends CorsMiddleware {
 *   static override allowedHeaders = [...CorsMiddleware.allowedHeaders, "Idempotency-Key"];
 * }
 * ```
 *
 * Security: a listed origin can do everything that its visitors can. For a listed origin, a handler's
 * `Access-Control-Allow-Origin` is replaced, so that `*` is never combined with credentials.
 */
export class CorsMiddleware implements Middleware {
  /** The methods that pages may use. */
  static allowedMethods: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

  /** The request headers that pages may set, in addition to those that need no permission (Fetch §2.2.2). */
  static allowedHeaders: readonly string[] = [
    ...["Authorization", "Content-Type", "If-Match", "If-None-Match", "Range"],
    ...["X-CSRF-TOKEN", "X-Request-Id", "X-Requested-With", "traceparent", "tracestate"],
  ];

  /** The response headers that pages may read, in addition to those that are always readable. */
  static exposedHeaders: readonly string[] = [
    ...["Content-Disposition", "Content-Range", "ETag", "Location", "Retry-After"],
    ...["WWW-Authenticate", "X-Request-Id"],
  ];

  /** How long a browser may remember the response to a preflight request, in seconds. Chromium allows at most 7200. */
  static maxAgeSeconds = 7200;

  readonly #preflight: CheckedHeaders;
  readonly #exposed: string;
  /** The headers for each listed origin. */
  readonly #headers = new Map<string, EnforcedHeaders>();

  /** @throws `E_INVALID_HEADER` if one of the lists contains characters not allowed in headers */
  constructor() {
    const { allowedMethods, allowedHeaders, exposedHeaders, maxAgeSeconds } = new.target;
    this.#exposed = exposedHeaders.join(", ");
    this.#preflight = new CheckedHeaders([
      ["Access-Control-Allow-Methods", allowedMethods.join(", ")],
      ["Access-Control-Allow-Headers", allowedHeaders.join(", ")],
      ["Access-Control-Max-Age", String(maxAgeSeconds)],
    ]);
  }

  handle(context: HttpContext, next: Next): unknown {
    if (!this.permit(context) || !isPreflight(context.request.raw)) return next();
    return context.response.checkedHeaders(this.#preflight).noContent();
  }

  /**
   * @internal Sets the headers that say which origin may read the response. Returns whether the request's origin may.
   */
  permit({ request, response, services: { origins } }: HttpContext): boolean {
    if (origins.isEmpty) return false;
    const origin = request.raw.headers.get("origin");
    response.enforce(this.#headersFor(origins, origin));
    return origins.includes(origin);
  }

  /** @internal The headers for a response that no middleware has seen, so that a front end can read it too. */
  unseen(origins: TrustedOrigins, origin: string | null): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#headersFor(origins, origin).over([]));
  }

  /**
   * @internal The headers for the response to a preflight request that no middleware has seen. Without permission, the
   * browser wouldn't send the actual request, so the page couldn't read why it is refused.
   *
   * @returns `null` if the request is not a preflight request, or its origin is not listed
   */
  unseenPreflight(origins: TrustedOrigins, request: Preflight): Readonly<Record<string, string>> | null {
    const { origin, method, requestedMethod } = request;
    if (method !== "OPTIONS" || requestedMethod === null || !origins.includes(origin)) return null;
    const asked = this.#preflight.entries.map(([name, values]): [string, string] => [name, values.join(", ")]);
    return Object.fromEntries(this.#headersFor(origins, origin).over(asked));
  }

  /** This middleware reads no input. */
  beforeBody(): boolean {
    return true;
  }

  #headersFor(origins: TrustedOrigins, origin: string | null): EnforcedHeaders {
    if (origin === null || !origins.includes(origin)) return NOTHING;
    let headers = this.#headers.get(origin);
    if (headers === undefined) {
      headers = new EnforcedHeaders(new CheckedHeaders(permission(origin, this.#exposed)), BY_ORIGIN);
      this.#headers.set(origin, headers);
    }
    return headers;
  }
}

/**
 * Whether a request is a preflight request, which a browser sends before a request that a form couldn't send (Fetch
 * §3.3.2).
 */
function isPreflight({ method, headers }: Request): boolean {
  return method === "OPTIONS" && headers.has("access-control-request-method");
}

function permission(origin: string, exposed: string): [string, string][] {
  return [
    ["Access-Control-Allow-Origin", origin],
    ["Access-Control-Allow-Credentials", "true"],
    ["Access-Control-Expose-Headers", exposed],
  ];
}
