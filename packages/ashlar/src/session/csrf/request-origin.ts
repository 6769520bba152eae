import {
  type HttpContext,
  type HttpRequest,
  type HttpServices,
  requestAuthority,
  trustedUrl,
} from "../../http/index.ts";

/** The safe methods (RFC 9110 §9.2.1) that can reach a handler. */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** The value that browsers send for an origin that they hide, or that a page doesn't have (Fetch §3.2, HTML §7.1.1). */
const HIDDEN_ORIGIN = "null";

/**
 * Reports whether a request itself says that a page of another site made it. These headers are checked in this order,
 * and the first informative one decides: `Sec-Fetch-Site`, which browsers set and pages cannot; `Origin`; `Referer`. If
 * none is, the token decides, which every such request needs anyway.
 *
 * `Origin: null` isn't informative. Browsers send it for a form on a page with `Referrer-Policy: no-referrer`, even to
 * its own site, and for one in a sandboxed frame or on a `data:` URL, which other sites can make. The latter two never
 * have a token.
 *
 * A page on another subdomain (`same-site`) is another site's page: it may belong to anyone. Only if its origin is one of
 * `APP.trustedOrigins` is it the application's own. Browsers send `Origin` with every request to another origin that could
 * change something, and pages cannot set it (Fetch §2.2.2, §3.2).
 *
 * @param services with the application's origin, or else the requested host, and the trusted origins
 */
export function comesFromElsewhere(
  request: HttpRequest,
  { appUrl, origins }: Pick<HttpServices, "appUrl" | "origins">,
): boolean {
  const origin = request.header("origin");
  if (origins.includes(origin)) return false;
  const site = request.header("sec-fetch-site");
  // "none" means that the visitor did it, for example by reloading.
  if (site !== null) return site !== "same-origin" && site !== "none";
  if (origin !== null && origin !== HIDDEN_ORIGIN) return !isOwn(origin, request, appUrl);
  const referer = request.header("referer");
  return referer !== null && !isOwn(referer, request, appUrl) && trustedUrl(origins, referer) === null;
}

/**
 * Reports whether a request itself says that a page of this application made it, in a way that pages of other sites
 * cannot imitate. This proves something only about browsers. `Origin: null` proves nothing.
 *
 * @param appUrl the application's origin; if it is unknown, the requested host is used
 */
export function comesFromHere(request: HttpRequest, appUrl: string | null): boolean {
  const site = request.header("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  const origin = request.header("origin");
  return origin !== null && isOwn(origin, request, appUrl);
}

function isOwn(address: string, request: HttpRequest, appUrl: string | null): boolean {
  const url = URL.parse(address);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return false;
  if (appUrl !== null) return url.origin === appUrl;
  // A proxy may have terminated TLS without the application knowing: only the host can be compared.
  return url.host === URL.parse(`${url.protocol}//${requestAuthority(request.raw)}`)?.host;
}

/**
 * Reports whether a request's method changes nothing.
 *
 * @param method the method that was sent, before a form's override: the request is as unsafe as the POST that carries
 * it
 */
export function isSafeMethod(method: string): boolean {
  return SAFE_METHODS.has(method);
}

/**
 * The page's address as stored in a token, and with a form that waits for its user.
 *
 * @param path the path of the request for the page, below the base path; with the query only for a form that waits
 */
export function pageAddress({ request }: HttpContext, path: string): string {
  return `${requestAuthority(request.raw)}${path}`;
}
