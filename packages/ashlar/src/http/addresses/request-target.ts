import { AshlarError } from "../../support/index.ts";
import { message } from "../messages.ts";
import "../errors.ts";

/**
 * A cheap test that every plain target passes in one scan: a character that no URL contains, `#` or `\`, and where a segment
 * `.` or `..`, or an escaped separator, can begin.
 */
const SUSPICIOUS = /[^!-"$-[\]-~]|\/\.|%[25]/;
/** The scheme and the authority of an absolute target. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/\\?#]*/i;
/**
 * A backslash, a character that no URL contains (RFC 3986 §2), or a segment `.` or `..`. The segment may be escaped, end at
 * an escaped slash or backslash, and have parameters (`..;v=1`): some servers resolve each of these.
 */
const AMBIGUOUS_PATH = /\\|[^!-~]|(?:\/|%2f|%5c)(?:\.|%2e){1,2}(?:;[^/]*?)?(?=\/|%2f|%5c|$)/i;

/**
 * Reports whether a proxy, or the router of another framework, could read a request target as another path than the URL
 * Standard does: `/x\..\admin`, `/x/%2e%2e/admin`, `/admin#x`. Escapes are decoded once, as everywhere.
 *
 * The query is whatever the client wants it to be, except that a `#` never travels (RFC 9110 §7.1).
 *
 * Security: a proxy that denies `/admin` lets these pass, and the URL parser turns them into `/admin`.
 *
 * @param target the target as the client sent it, or the URL of a platform request
 */
export function isAmbiguousTarget(target: string): boolean {
  if (!SUSPICIOUS.test(target)) return false;
  return target.includes("#") || AMBIGUOUS_PATH.test(targetPath(target));
}

/** The error for a request with such a target. */
export function ambiguousTarget(): AshlarError {
  return new AshlarError("E_BAD_REQUEST", message("request.target"));
}

/** Returns a request target's path as it was sent, without origin, query and fragment. */
export function targetPath(target: string): string {
  const start = target.startsWith("/") ? 0 : (ORIGIN.exec(target)?.[0].length ?? 0);
  const end = target.slice(start).search(/[?#]/);
  return end === -1 ? target.slice(start) : target.slice(start, start + end);
}
