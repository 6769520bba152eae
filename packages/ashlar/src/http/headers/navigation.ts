/** The headers by which browsers announce that they load a page speculatively, or only for a preview. */
const PURPOSE_HEADERS = ["sec-purpose", "purpose", "x-purpose", "x-moz"];
const SPECULATIVE = /\b(?:prefetch|prerender|preview)\b/i;
const NAMES_HTML = /\b(?:text\/html|application\/xhtml\+xml)\b/i;

/**
 * Reports whether a browser is loading a page only in case the user goes there: a prefetch or a prerender (WHATWG
 * Fetch, `Sec-Purpose`).
 */
export function isSpeculative({ headers }: Request): boolean {
  return PURPOSE_HEADERS.some((name) => SPECULATIVE.test(headers.get(name) ?? ""));
}

/**
 * Reports whether a user went to a page or sent a form, as opposed to a request that an open page makes by itself, for
 * example for an image, a frame, or a script's fetch.
 *
 * `Sec-Fetch-Mode` and `Sec-Fetch-Dest` (W3C Fetch Metadata §2), which pages can't set, say so. Browsers send neither
 * over plain http, nor does Safari before 16.4. Node's `fetch`, which isn't a browser, sends only the first. Without
 * both, a request counts as a navigation if it explicitly accepts HTML, as only navigations, frames, and scripts that
 * want a page do.
 */
export function isNavigation(raw: Request): boolean {
  const { headers } = raw;
  if (isSpeculative(raw)) return false;
  const destination = headers.get("sec-fetch-dest");
  if (destination !== null) return destination === "document" && headers.get("sec-fetch-mode") === "navigate";
  return NAMES_HTML.test(headers.get("accept") ?? "") && !headers.has("x-requested-with");
}

/**
 * Reports whether a request says that it is not a navigation. A request without this information may come from any
 * client.
 */
export function isInBackground(raw: Request): boolean {
  const { headers } = raw;
  const says = headers.has("sec-fetch-dest") || headers.has("accept") || headers.has("x-requested-with");
  return (says || isSpeculative(raw)) && !isNavigation(raw);
}
