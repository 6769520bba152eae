import { AshlarError } from "../../support/index.ts";
import { requestAuthority } from "../addresses/request-url.ts";
import type { TrustedOrigins } from "../addresses/trusted-origins.ts";
import type { HttpContext } from "./context.ts";
import "../errors.ts";

/** The longest target of a redirect. No application's path comes close to this. */
const MAX_TARGET_LENGTH = 2048;

/**
 * One slash that isn't followed by a slash or backslash (browsers read both as the start of a host), and only printable
 * text.
 */
const OWN_PATH = /^\/(?![/\\])[^\p{Cc}\p{Zl}\p{Zp}\\]*$/u;

/** An http or https URL as people write it, with only printable text. The parser would accept much more. */
const ABSOLUTE = /^https?:\/\/[^\s\p{Cc}\\/?#@]+(?:[/?#][^\s\p{Cc}\p{Zl}\p{Zp}\\]*)?$/iu;

/** An origin that no application has. If a target still has this origin after parsing, it was a path. */
const PROBE = "http://own.invalid";

/** Reports whether a text is a path of this origin, both unchanged and percent-decoded. */
function isOwnPath(text: string): boolean {
  if (text.length > MAX_TARGET_LENGTH || !OWN_PATH.test(text)) return false;
  try {
    return OWN_PATH.test(decodeURIComponent(text));
  } catch {
    return false;
  }
}

/**
 * Returns the destination of a redirect whose target comes from outside: only a path of the application's own origin.
 *
 * A target is allowed only if all of this is true: it is text of at most 2048 characters; it begins with one slash and
 * no second slash or backslash; it contains no backslash and no control character; the same is true after
 * percent-decoding; and the URL standard's own parser keeps it, and its parsed form, within the origin.
 *
 * @param input the target from outside, of any type
 * @param fallback the destination otherwise; chosen by the application, and not checked
 * @returns the target as the URL parser writes it (`/a/../b` becomes `/b`), or the fallback
 */
export function redirectTarget(input: unknown, fallback: string): string {
  if (typeof input !== "string" || !isOwnPath(input)) return fallback;
  const url = URL.parse(input, PROBE);
  if (url === null || url.origin !== PROBE) return fallback;
  const target = `${url.pathname}${url.search}${url.hash}`;
  // Parsing removes dot segments, so "/.//e" becomes "//e", which a browser would read as a host.
  return isOwnPath(target) ? target : fallback;
}

/**
 * Returns the path, query and fragment of an http or https URL that points to one of several hosts.
 *
 * @param url an absolute URL, such as the value of `Referer`
 * @param hosts with their ports, unless they are the default ones
 * @returns the part after the host, which must still go through {@link redirectTarget}; `null` for any other URL
 */
export function pathWithin(url: string, hosts: readonly string[]): string | null {
  const parsed = URL.parse(url);
  if (parsed === null || (parsed.protocol !== "https:" && parsed.protocol !== "http:")) return null;
  return hosts.includes(parsed.host) ? `${parsed.pathname}${parsed.search}${parsed.hash}` : null;
}

/**
 * Returns the path, query and fragment of an absolute URL of this application, under `APP_URL` or the requested host, such
 * as that of `Referer`.
 *
 * @returns the part after the host, which must still go through {@link redirectTarget}; `null` for any other URL
 */
export function ownPath(context: HttpContext, url: unknown): string | null {
  const { request, origin } = context;
  if (typeof url !== "string") return null;
  const configured = origin === null ? null : URL.parse(origin);
  return pathWithin(url, [requestAuthority(request.raw), ...(configured === null ? [] : [configured.host])]);
}

/**
 * Returns an absolute URL from outside if its origin is one of `APP.trustedOrigins`.
 *
 * @param url of any type
 * @returns the URL as the URL parser writes it; `null` for any other
 */
export function trustedUrl(origins: TrustedOrigins, url: unknown): string | null {
  if (origins.isEmpty || typeof url !== "string" || url.length > MAX_TARGET_LENGTH || !ABSOLUTE.test(url)) return null;
  const parsed = URL.parse(url);
  return parsed !== null && origins.includes(parsed.origin) ? parsed.href : null;
}

/**
 * Returns the allowed destination for an absolute URL from outside: the path if the URL is the application's own, or
 * the unchanged URL if its origin is trusted.
 *
 * @returns `null` for anything else
 */
export function absoluteTarget(context: HttpContext, url: unknown): string | null {
  const path = ownPath(context, url);
  return path === null ? trustedUrl(context.services.origins, url) : redirectTarget(path, "") || null;
}

/**
 * Checks a route's URL before redirecting to it.
 *
 * @throws `E_INVALID_REDIRECT` if a parameter makes it begin with two slashes
 */
export function checkRouteTarget(name: string, target: string): void {
  if (!/^\/[/\\]/.test(target)) return;
  throw new AshlarError(
    "E_INVALID_REDIRECT",
    `The URL of the route "${name}" begins with two slashes: a browser takes that for a host.`,
  );
}

/**
 * Returns the destination of a redirect out of the application.
 *
 * @throws `E_INVALID_REDIRECT` for anything but an absolute http or https URL
 */
export function externalTarget(url: string | URL): string {
  const parsed = URL.parse(url);
  if (parsed !== null && (parsed.protocol === "https:" || parsed.protocol === "http:")) return parsed.href;
  throw new AshlarError("E_INVALID_REDIRECT", "A redirect out of the application needs an absolute http or https URL.");
}

/** Percent-encodes the characters of a target that a header cannot contain. */
export function asciiTarget(target: string): string {
  return target.replace(/[^\0-\x7f]+/g, (text) => encodeURIComponent(text.toWellFormed()));
}
