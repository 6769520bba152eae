/**
 * How a response depends on the visitor: not at all; another visitor may get another response (`asked`); it contains data
 * about this visitor, such as their name or a CSRF token (`shown`); or it sets the cookie that identifies them, or removes
 * it (`identified`).
 */
export type VisitorDependence = "none" | "asked" | "shown" | "identified";

const PRIVATE: [string, string] = ["cache-control", "private, no-store"];

const NONE: readonly string[] = [];
const COOKIE: readonly string[] = ["cookie"];
const TOKEN: readonly string[] = ["authorization"];
const BOTH: readonly string[] = ["cookie", "authorization"];

/**
 * The request's headers by which a response distinguishes visitors.
 *
 * @param readsToken whether the request was checked for a token, even if there wasn't one
 */
export function visitorFields(dependence: VisitorDependence, readsToken: boolean): readonly string[] {
  if (dependence === "none") return readsToken ? TOKEN : NONE;
  return readsToken ? BOTH : COOKIE;
}

/**
 * Returns the header that keeps caches from serving one visitor's response to another (RFC 9111 §5.2.2, RFC 9110 §12.5.5),
 * in place of the response's own. This includes the browser's own cache: the browser's next user would see the previous
 * one's pages.
 *
 * @param cacheControl the handler's own value, which takes precedence unless the response identifies the visitor. With
 * it, or without any if the response shows no data of a visitor, the response varies by the headers that distinguish
 * visitors: some caches keep responses without `Cache-Control`
 * @returns `null` if no header is needed
 */
export function cachingHeader(
  dependence: VisitorDependence,
  readsToken: boolean,
  cacheControl: string | null,
  vary: string | null,
): [string, string] | null {
  if (dependence === "identified") return PRIVATE;
  if (cacheControl === null && dependence === "shown") return PRIVATE;
  // With a token, too: `public` lets a shared cache serve a user's response to guests (RFC 9111 §3.5), and a guest's to
  // users.
  const fields = visitorFields(dependence, readsToken);
  if (fields.length === 0 || (cacheControl !== null && /no-store/i.test(cacheControl))) return null;
  if (vary === null) return ["vary", fields.join(", ")];
  const missing = fields.filter((field) => !isVaried(vary, field));
  return missing.length === 0 ? null : ["vary", [vary, ...missing].join(", ")];
}

/** Reports whether a `Vary` names a request header, or all of them (RFC 9110 §12.5.5). */
export function isVaried(vary: string, field: string): boolean {
  const named = vary.split(",").map((one) => one.trim().toLowerCase());
  return named.includes("*") || named.includes(field.toLowerCase());
}
