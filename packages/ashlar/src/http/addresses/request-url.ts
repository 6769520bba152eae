import { nodeExchange, parsedUrl, plainTarget } from "../../node/index.ts";

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
 * Splits a request's URL into parts without parsing it: the platform already has, and returns it in normal form.
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

/** Whether any application of this process has a base path: if not, requests aren't checked for the mark. */
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

/** Returns the path of a request's URL as the application's server got it, still percent-encoded. */
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
 * Returns a request's target as the client sent it, if a server of `node:http` keeps it with the request; otherwise the URL,
 * which most platforms have already resolved. A platform's `Request` keeps its fragment, which is never sent.
 */
export function sentTarget(raw: Request): string {
  const sent = nodeExchange(raw)?.req?.url;
  if (sent !== undefined) return sent;
  const { url } = raw;
  const fragment = url.indexOf("#");
  return fragment === -1 ? url : url.slice(0, fragment);
}

/** Makes a request's URL override its `Host` header, since a trusted proxy reported the requested host. */
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
 * A request from the server has it in its URL, where an absolute request target has overridden the `Host` header
 * (RFC 9112 §3.2.2) and an invalid host was replaced. For any other request, the `Host` header wins.
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
