/**
 * How a response depends on the visitor that a cookie identifies: not at all; another visitor may get another response
 * (`asked`); or it contains data about this visitor, such as their name or a CSRF token (`shown`).
 */
export type VisitorDependence = "none" | "asked" | "shown";

const PRIVATE: [string, string] = ["cache-control", "private, no-store"];
const BY_COOKIE: [string, string] = ["vary", "cookie"];

/**
 * Returns the header that keeps caches from serving one visitor's response to another (RFC 9111 §5.2.2, RFC 9110 §12.5.5).
 * This includes the browser's own cache: the browser's next user would see what the previous one saw.
 *
 * @param cacheControl what the handler set; it takes precedence, and then the response varies by cookie
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
