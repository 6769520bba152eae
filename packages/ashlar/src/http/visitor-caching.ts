/**
 * How an answer depends on the visitor that a cookie tells of: not at all; another visitor may get another one (`asked`);
 * or it says something of this visitor, such as their name or a CSRF token (`shown`).
 */
export type VisitorDependence = "none" | "asked" | "shown";

const PRIVATE: [string, string] = ["cache-control", "private, no-store"];
const BY_COOKIE: [string, string] = ["vary", "cookie"];

/**
 * The header that keeps caches from handing one visitor's answer to another (RFC 9111 §5.2.2, RFC 9110 §12.5.5). The
 * browser's own cache counts too: whoever uses the browser next would see what the one before saw.
 *
 * @param cacheControl what the handler itself says; it has the last word, and then the answer varies by cookie
 * @returns `null` if none is needed
 */
export function cachingHeader(
  dependence: VisitorDependence,
  cacheControl: string | null,
  vary: string | null,
): [string, string] | null {
  if (dependence === "none") return null;
  if (cacheControl === null) return dependence === "shown" ? PRIVATE : null;
  return /no-store/i.test(cacheControl) || /(?:^|,)\s*(?:cookie|\*)\s*(?:,|$)/i.test(vary ?? "") ? null : BY_COOKIE;
}
