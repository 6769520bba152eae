import { isIP } from "node:net";
import { parseHost } from "../addresses/host.ts";
import type { HttpContext } from "./context.ts";

/** The settings that the names of the framework's own cookies depend on. */
export interface CookieSite {
  /** Whether visitors use the application over https. */
  readonly isHttps: boolean;
  /**
   * Keeps the cookies of applications that share a host apart: `~shop` for the one at `/shop`; `""` for an application
   * without a base path.
   */
  readonly suffix: string;
  /** The origin of `APP_URL`; `null` or omitted if it is not set. */
  readonly url?: string | null;
}

const NO_DOMAIN = Object.freeze({});

/**
 * Returns the name of a cookie that the framework sets for itself: `token`, and over https `__Host-token`, which no other
 * host and no response over plain http can set (RFC 6265bis §4.1.3.2). With a domain, it is `__Secure-token`, and
 * `shared.token` over http: another name, so that a cookie from before the domain was set never coexists with it.
 *
 * Security: `__Host-` needs the path `/`, so applications at several paths of one host can't be kept apart by the path.
 */
export function ownCookieName(name: string, { isHttps, suffix }: CookieSite, domain: string | null = null): string {
  if (/^__(host|secure)-/i.test(name)) return name + suffix;
  if (domain === null) return `${isHttps ? "__Host-" : ""}${name}${suffix}`;
  return `${isHttps ? "__Secure-" : "shared."}${name}${suffix}`;
}

/**
 * The suffix of the cookies' names of an application under a base path. A base path has no `~`, so no two are the same.
 */
export function cookieSuffixOf(basePath: string): string {
  return basePath.replaceAll("/", "~");
}

/**
 * Says what is wrong with a domain whose hosts are to share a cookie; `null` if nothing is.
 *
 * @param url the origin of `APP_URL`; `null` if it is not set
 */
export function domainProblem(domain: string, url: string | null): string | null {
  const is = `is ${JSON.stringify(domain)}`;
  if (!/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)+$/.test(domain) || isIP(domain) !== 0) return `${is}, which is not a domain.`;
  // Browsers refuse such a cookie (RFC 6265bis §5.7).
  if (parseHost(`x.${domain}`).subdomain === null) return `${is}, below which hosts belong to anyone.`;
  if (url === null) return `${is}, and APP_URL is not set.`;
  const { hostname } = new URL(url);
  return isWithin(hostname, domain) ? null : `${is}, but the host of APP_URL is ${hostname}, which is not in it.`;
}

/**
 * The attribute `Domain` of a cookie in the response to a request. A host that is not in the domain, such as one of
 * `APP.hosts` or an address, gets a separate cookie: browsers would refuse the other.
 */
export function domainFor(context: HttpContext, domain: string | null): { readonly domain?: string } {
  if (domain === null) return NO_DOMAIN;
  // Not the origin for URLs: for an unlisted host, that is the origin of `APP_URL`.
  return isWithin(new URL(context.request.raw.url).hostname, domain) ? { domain } : NO_DOMAIN;
}

/** A warning about a cookie with a domain. */
export function sharedCookieWarning(where: string, domain: string): string {
  return (
    `${where} is ${domain}: every host below it gets these cookies and can set them, so each of them can act for the ` +
    "visitors of this application. Use it only if all of them are yours, and none is filled by users or forgotten."
  );
}

/** Reports whether a host is a domain's, or below it. */
export function isWithin(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`);
}
