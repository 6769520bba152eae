import { nodeExchange, parsedUrl, plainTarget } from "../../node/index.ts";
import { AshlarError } from "../../support/index.ts";
import { message } from "../messages.ts";
import "../errors.ts";

/**
 * A cheap first check, in one scan: matches `#`, `\`, any character that URLs can't contain, and the possible beginning
 * of a segment `.` or `..` or of an escaped separator. Plain targets don't match.
 */
const SUSPICIOUS = /[^!-"$-[\]-~]|\/\.|%[25]/;
/** The scheme and the authority of an absolute target. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/\\?#]*/i;
/**
 * A backslash, a character that URLs can't contain (RFC 3986 §2), or a segment `.` or `..`. The segment may be escaped,
 * end at an escaped slash or backslash, and have parameters (`..;v=1`): some servers resolve each of these.
 */
const AMBIGUOUS_PATH = /\\|[^!-~]|(?:\/|%2f|%5c)(?:\.|%2e){1,2}(?:;[^/]*?)?(?=\/|%2f|%5c|$)/i;

/**
 * Reports whether a proxy, or another framework's router, could read a request target as a different path than the URL
 * Standard does: `/x\..\admin`, `/x/%2e%2e/admin`, `/admin#x`. Escapes are decoded once, as everywhere.
 *
 * The query may be anything, except that it can't contain `#` (RFC 9110 §7.1).
 *
 * Security: a proxy that denies `/admin` would let these pass, and the URL parser would turn them into `/admin`.
 *
 * @param target the target as the client sent it, or the URL of a platform request
 */
export function isAmbiguousTarget(target: string): boolean {
  if (!SUSPICIOUS.test(target)) return false;
  return target.includes("#") || AMBIGUOUS_PATH.test(targetPath(target));
}

/** The error for a request with an ambiguous target. */
export function ambiguousTarget(): AshlarError {
  return new AshlarError("E_BAD_REQUEST", message("request.target"));
}

/** Returns a request target's path as it was sent, without origin, query and fragment. */
export function targetPath(target: string): string {
  const start = target.startsWith("/") ? 0 : (ORIGIN.exec(target)?.[0].length ?? 0);
  const end = target.slice(start).search(/[?#]/);
  return end === -1 ? target.slice(start) : target.slice(start, start + end);
}

/** A request's URL, split and otherwise unchanged. */
export interface SplitUrl {
  /** Scheme, host and port: `https://shop.example:8443`. */
  readonly origin: string;
  /** Host and port: `shop.example:8443`. */
  readonly authority: string;
  readonly path: string;
  /** With its question mark; empty if there is no query. */
  readonly search: string;
}

/** Marks a request whose URL has the host that a trusted proxy forwarded, unlike its `Host` header. */
const FORWARDED = Symbol("ashlar.forwarded");

interface ForwardedRequest extends Request {
  [FORWARDED]?: boolean;
}

/**
 * Splits a request's URL into parts without parsing it again, because the platform returns it in normal form.
 *
 * @param url absolute, as in `Request.url`
 */
export function splitUrl(url: string): SplitUrl {
  const hostStart = url.indexOf("://") + 3;
  const fragment = url.indexOf("#", hostStart);
  const end = fragment === -1 ? url.length : fragment;
  const question = url.indexOf("?", hostStart);
  const pathEnd = question === -1 || question > end ? end : question;
  const slash = url.indexOf("/", hostStart);
  const pathStart = slash === -1 || slash > pathEnd ? pathEnd : slash;
  return {
    origin: url.slice(0, pathStart),
    authority: url.slice(hostStart, pathStart),
    path: url.slice(pathStart, pathEnd) || "/",
    search: pathEnd + 1 < end ? url.slice(pathEnd, end) : "",
  };
}

/** Marks a request whose path begins with the base path of its application. */
const BASE = Symbol("ashlar.base");

interface BasedRequest extends Request {
  [BASE]?: string;
}

/** Whether any application in this process has a base path. If not, requests aren't checked for the mark. */
let hasBases = false;

/**
 * Returns the path of a request's URL within the application, still percent-encoded, for matching routes. The
 * path of `APP_URL` is not part of it.
 */
export function requestPath(raw: Request): string {
  const path = sentPath(raw);
  if (!hasBases) return path;
  return path.slice(baseOf(raw).length) || "/";
}

/** Returns the path of a request's URL as the server received it, still percent-encoded. */
export function sentPath(raw: Request): string {
  const target = plainTarget(raw);
  if (target === null) return parsedUrl(raw)?.pathname ?? splitUrl(raw.url).path;
  const question = target.indexOf("?");
  return question === -1 ? target : target.slice(0, question);
}

/** Records that a request's path begins with a base path, which isn't part of the path within the application. */
export function markBase(raw: Request, base: string): void {
  hasBases = true;
  (raw as BasedRequest)[BASE] = base;
}

/** The base path at the start of a request's path; `""` if there isn't one. */
export function baseOf(raw: Request): string {
  return (raw as BasedRequest)[BASE] ?? "";
}

/** Returns the query of a request's URL with its question mark; empty if there isn't one. */
export function requestSearch(raw: Request): string {
  const target = plainTarget(raw);
  if (target === null) return parsedUrl(raw)?.search ?? splitUrl(raw.url).search;
  const question = target.indexOf("?");
  // A question mark with nothing after it is not a query.
  return question === -1 || question === target.length - 1 ? "" : target.slice(question);
}

/**
 * Returns a request's target as the client sent it, if a `node:http` server keeps it with the request; otherwise the
 * URL, which most platforms have already resolved. The fragment of a platform's `Request` is left out, because it is
 * never sent.
 */
export function sentTarget(raw: Request): string {
  const sent = nodeExchange(raw)?.req?.url;
  if (sent !== undefined) return sent;
  const { url } = raw;
  const fragment = url.indexOf("#");
  return fragment === -1 ? url : url.slice(0, fragment);
}

/** Makes a request's URL override its `Host` header, because a trusted proxy reported the requested host. */
export function markForwarded(raw: Request): Request {
  (raw as ForwardedRequest)[FORWARDED] = true;
  return raw;
}

/** Reports whether a request's URL overrides its `Host` header. */
export function isMarkedForwarded(raw: Request): boolean {
  return (raw as ForwardedRequest)[FORWARDED] === true;
}

/**
 * Returns the host that a request was sent to, with its port.
 *
 * A request from the server has the host in its URL, where an absolute request target has already overridden the `Host`
 * header (RFC 9112 §3.2.2), and an invalid host was replaced. For any other request, the `Host` header takes
 * precedence.
 *
 * Security: the client controls this. Never build a link for a mail from it; use `APP_URL`.
 */
export function requestAuthority(raw: Request): string {
  const isInUrl = parsedUrl(raw) !== undefined || isMarkedForwarded(raw);
  return (isInUrl ? null : raw.headers.get("host")) ?? splitUrl(raw.url).authority;
}

/**
 * Returns every host that a request names, with its port: in its URL, and in its `Host` header. For a request from the
 * server, a missing header counts as empty, because the URL was given a default host.
 */
export function requestAuthorities(raw: Request): string[] {
  const { authority } = splitUrl(raw.url);
  const host = raw.headers.get("host") ?? (parsedUrl(raw) === undefined ? null : "");
  return host === null ? [authority] : [authority, host];
}

/** Segments that need no encoding, and that every proxy reads the same way. */
const BASE_PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)*$/;

/**
 * Parses the path of `APP_URL`, under which the application runs.
 *
 * @returns the path without a trailing slash, so `""` for `/`; `null` for an unusable path
 */
export function parseBasePath(pathname: string): string | null {
  const path = pathname.replace(/\/$/, "");
  return BASE_PATH.test(path) ? path : null;
}

/**
 * Prefixes a path with the base path, unless it already has it.
 *
 * @param base `""` if there isn't one
 * @param path begins with a slash; anything else, such as a complete URL, stays as it is
 */
export function withBase(base: string, path: string): string {
  if (base === "" || !/^\/(?![/\\])/.test(path) || isUnder(base, path)) return path;
  return path === "/" ? `${base}/` : `${base}${path}`;
}

/** Removes the base path from a path, which may have a query; `null` if the path isn't under it. */
export function withoutBase(base: string, path: string): string | null {
  if (!isUnder(base, path)) return null;
  const rest = path.slice(base.length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/**
 * Reports whether a request's path is under the base path. If so, {@link requestPath} no longer includes the base path.
 *
 * Security: a path outside of the base path never belongs to the application, whatever a header says. Otherwise,
 * `/admin` would bypass a proxy's rule for `/shop/admin`.
 */
export function enterBase(raw: Request, base: string): boolean {
  if (!isUnder(base, sentPath(raw))) return false;
  markBase(raw, base);
  return true;
}

function isUnder(base: string, path: string): boolean {
  return path.startsWith(base) && (path.length === base.length || /[/?#]/.test(path[base.length]!));
}
