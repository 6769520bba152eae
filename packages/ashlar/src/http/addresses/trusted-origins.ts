import { parseHost } from "./host.ts";

/**
 * The origins of other sites that are part of the application, such as its front end: `APP.trustedOrigins`. Their pages
 * may read responses, send requests that change data, and be the target of redirects.
 */
export class TrustedOrigins {
  readonly list: readonly string[];
  readonly #set: ReadonlySet<string>;

  /** @param list the result of {@link parseOrigins} */
  constructor(list: readonly string[] = []) {
    this.list = Object.freeze([...list]);
    this.#set = new Set(list);
  }

  /** Whether the list is empty. */
  get isEmpty(): boolean {
    return this.list.length === 0;
  }

  /** Reports whether a request's `Origin`, or the origin of a URL, is listed. The comparison is exact (RFC 6454 §5). */
  includes(origin: string | null): boolean {
    return origin !== null && this.#set.has(origin);
  }
}

/**
 * Parses a list of origins: scheme, host, and port unless it is the scheme's own.
 *
 * Security: each origin is compared exactly. A pattern such as `https://*.example.com` is refused, because a forgotten
 * subdomain that someone else controls would be trusted with every user's account.
 *
 * @returns the origins; if an entry is invalid, text that says what is wrong with the first such entry
 */
export function parseOrigins(entries: readonly string[]): readonly string[] | string {
  const origins: string[] = [];
  for (const entry of entries) {
    if (entry.includes("*")) return `contains ${JSON.stringify(entry)}: each origin has to be listed by itself.`;
    const origin = originOf(entry);
    if (origin === null) return `contains ${JSON.stringify(entry)}, which is not an origin.`;
    if (!origins.includes(origin)) origins.push(origin);
  }
  return origins;
}

/** The origin in a text, as browsers write it; `null` if the text is anything but an origin. */
function originOf(text: string): string | null {
  // The URL parser would accept white space, backslashes and missing slashes.
  if (!/^https?:\/\/[^\s\\/?#@]+\/?$/i.test(text)) return null;
  return URL.parse(text)?.origin ?? null;
}

/**
 * Reports whether browsers treat two origins as one site (HTML §7.1.1): the same scheme, and the same registrable domain by
 * the public suffix list. Cookies that are not `SameSite=None` are sent only within a site.
 */
export function isSameSite(one: string, other: string): boolean {
  return siteOf(new URL(one)) === siteOf(new URL(other));
}

function siteOf({ protocol, hostname }: URL): string {
  // To a browser, each name below localhost is a separate site.
  const host = hostname.endsWith(".localhost") ? hostname.split(".").slice(-2).join(".") : parseHost(hostname).host;
  return `${protocol}//${host}`;
}
