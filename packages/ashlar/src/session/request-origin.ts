import { type HttpRequest, requestAuthority } from "../http/index.ts";

/**
 * Tells whether a request says itself that another site's page made it. Asked are, in this order, and the first that is
 * there decides: `Sec-Fetch-Site`, which browsers set and no page can; `Origin`; `Referer`. A request without any of
 * them says nothing: what decides then is its token, which it needs in any case.
 *
 * A page of another subdomain (`same-site`) is another site's page: it may be anybody's.
 *
 * @param appUrl the application's origin; the host that was asked counts in its place where it is not known
 */
export function comesFromElsewhere(request: HttpRequest, appUrl: string | null): boolean {
  const site = request.header("sec-fetch-site");
  // "none" is the visitor's own doing, such as a reload.
  if (site !== null) return site !== "same-origin" && site !== "none";
  const origin = request.header("origin");
  // A page without an origin, such as a sandboxed frame's, sends the text "null", which is none of the application's.
  if (origin !== null) return !isOwn(origin, request, appUrl);
  const referer = request.header("referer");
  return referer !== null && !isOwn(referer, request, appUrl);
}

/**
 * Tells whether a request says itself that a page of this application made it, in a way that no other site's page can
 * bring about. It is no proof against anything but browsers.
 *
 * @param appUrl as for {@link comesFromElsewhere}
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
  // A proxy may have ended TLS, and nobody said so: only the host can be compared.
  return url.host === URL.parse(`${url.protocol}//${requestAuthority(request.raw)}`)?.host;
}
