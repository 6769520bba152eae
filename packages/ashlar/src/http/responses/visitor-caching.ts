import { isVaried } from "../headers/vary.ts";

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
 * The request's headers by which a response tells visitors apart.
 *
 * @param readsToken whether a token was looked for, also if there was none
 */
export function visitorFields(dependence: VisitorDependence, readsToken: boolean): readonly string[] {
  if (dependence === "none") return readsToken ? TOKEN : NONE;
  return readsToken ? BOTH : COOKIE;
}

/**
 * Returns the header that keeps caches from serving one visitor's response to another (RFC 9111 §5.2.2, RFC 9110 §12.5.5),
 * in place of the response's own. This includes the browser's own cache: the browser's next user would see what the previous
 * one saw.
 *
 * @param cacheControl what the handler set; it takes precedence unless the response identifies the visitor. With it, and
 *   without one if the response shows nothing of a visitor, it varies by what visitors are told apart by: some caches keep
 *   what says nothing
 * @returns `null` if none is needed
 */
export function cachingHeader(
  dependence: VisitorDependence,
  readsToken: boolean,
  cacheControl: string | null,
  vary: string | null,
): [string, string] | null {
  if (dependence === "identified") return PRIVATE;
  if (cacheControl === null && dependence === "shown") return PRIVATE;
  // With a token, too: `public` lets a shared cache keep the response for guests (RFC 9111 §3.5), and theirs for users.
  const fields = visitorFields(dependence, readsToken);
  if (fields.length === 0 || (cacheControl !== null && /no-store/i.test(cacheControl))) return null;
  if (vary === null) return ["vary", fields.join(", ")];
  const missing = fields.filter((field) => !isVaried(vary, field));
  return missing.length === 0 ? null : ["vary", [vary, ...missing].join(", ")];
}
