import { markBase, sentPath } from "./request-url.ts";

/** Segments that every proxy reads the same way, with nothing to encode. */
const BASE_PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)*$/;

/**
 * Parses the path of `APP_URL`, under which the application runs.
 *
 * @returns without a slash at its end, so `""` for `/`; `null` for an unusable path
 */
export function parseBasePath(pathname: string): string | null {
  const path = pathname.replace(/\/$/, "");
  return BASE_PATH.test(path) ? path : null;
}

/**
 * Puts the base path before a path of the application, unless it is there already.
 *
 * @param base `""` if there isn't one
 * @param path begins with a slash; anything else, such as a complete URL, stays as it is
 */
export function withBase(base: string, path: string): string {
  if (base === "" || !/^\/(?![/\\])/.test(path) || isUnder(base, path)) return path;
  return path === "/" ? `${base}/` : `${base}${path}`;
}

/** Removes the base path from a path, or from a path with a query; `null` if it is not there. */
export function withoutBase(base: string, path: string): string | null {
  if (!isUnder(base, path)) return null;
  const rest = path.slice(base.length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/**
 * Finds out whether a request is for a path under the base path. From then on, its path doesn't include the base path.
 *
 * Security: a path outside of the base path is never the application's, whatever a header says. Otherwise `/admin`
 * would be served where a proxy has a rule for `/shop/admin`.
 */
export function enterBase(raw: Request, base: string): boolean {
  if (!isUnder(base, sentPath(raw))) return false;
  markBase(raw, base);
  return true;
}

function isUnder(base: string, path: string): boolean {
  return path.startsWith(base) && (path.length === base.length || /[/?#]/.test(path[base.length]!));
}
