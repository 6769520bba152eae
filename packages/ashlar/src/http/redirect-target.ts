import type { HttpContext } from "./context.ts";
import { requestAuthority } from "./request-url.ts";

/** No path of an application comes near this, and no browser is asked to follow a longer one. */
const MAX_TARGET_LENGTH = 2048;

/** One slash, then neither a slash nor a backslash (browsers read both as the start of a host), and nothing that is not printed. */
const OWN_PATH = /^\/(?![/\\])[^\p{Cc}\p{Zl}\p{Zp}\\]*$/u;

/** An origin that no application has: what still belongs to it after parsing was a path. */
const PROBE = "http://own.invalid";

/** Tells whether a text is a path of the own origin as it stands, and without its percent-encoding. */
function isOwnPath(text: string): boolean {
  if (text.length > MAX_TARGET_LENGTH || !OWN_PATH.test(text)) return false;
  try {
    return OWN_PATH.test(decodeURIComponent(text));
  } catch {
    return false;
  }
}

/**
 * Where a redirect may go when its target comes from outside: a path of the application's own origin, nothing else.
 *
 * A target is let through only where all of this holds: it is text of at most 2048 characters; it begins with one slash
 * and no second slash or backslash; it holds no backslash and no control character; the same is true after
 * percent-decoding; and the URL standard's own parser keeps it, and what it makes of it, within the origin.
 *
 * @param input what came from outside, of any type
 * @param fallback where to go instead; the application's own, and not checked
 * @returns the target in the form the URL parser gives it (`/a/../b` is `/b`), or the fallback
 */
export function redirectTarget(input: unknown, fallback: string): string {
  if (typeof input !== "string" || !isOwnPath(input)) return fallback;
  const url = URL.parse(input, PROBE);
  if (url === null || url.origin !== PROBE) return fallback;
  const target = `${url.pathname}${url.search}${url.hash}`;
  // Dot segments go away in parsing: "/.//e" leaves "//e", which a browser would take for a host.
  return isOwnPath(target) ? target : fallback;
}

/**
 * The path, query and fragment of an http or https URL that leads to one of several hosts.
 *
 * @param url an absolute URL, such as the value of `Referer`
 * @param hosts with their ports, where they are not the usual ones
 * @returns what follows the host, still to be passed to {@link redirectTarget}; `null` for any other URL
 */
export function pathWithin(url: string, hosts: readonly string[]): string | null {
  const parsed = URL.parse(url);
  if (parsed === null || (parsed.protocol !== "https:" && parsed.protocol !== "http:")) return null;
  return hosts.includes(parsed.host) ? `${parsed.pathname}${parsed.search}${parsed.hash}` : null;
}

/**
 * The path, query and fragment of an absolute URL of this application, be it under `APP_URL` or the host that was asked,
 * such as that of `Referer`.
 *
 * @returns what follows the host, still to be passed to {@link redirectTarget}; `null` for any other URL
 */
export function ownPath({ request, services }: HttpContext, url: unknown): string | null {
  if (typeof url !== "string") return null;
  const configured = services.appUrl === null ? null : URL.parse(services.appUrl);
  return pathWithin(url, [requestAuthority(request.raw), ...(configured === null ? [] : [configured.host])]);
}
