/** What the names of the framework's own cookies depend on. */
export interface CookieSite {
  /** Whether visitors use the application over https. */
  readonly isHttps: boolean;
  /** Keeps the cookies of applications apart that share a host: `~shop` for one at `/shop`; `""` for one that doesn't. */
  readonly suffix: string;
}

/**
 * Returns the name of a cookie that the framework sets for itself: `token`, and over https `__Host-token`, which no other
 * host and no response over plain http can set (RFC 6265bis §4.1.3.2).
 *
 * Security: `__Host-` needs the path `/`, so applications at several paths of one host can't be kept apart by the path.
 */
export function ownCookieName(name: string, { isHttps, suffix }: CookieSite): string {
  return `${isHttps && !/^__(host|secure)-/i.test(name) ? "__Host-" : ""}${name}${suffix}`;
}

/** The end of the cookies' names of an application under a base path. A base path has no `~`, so no two are the same. */
export function cookieSuffixOf(basePath: string): string {
  return basePath.replaceAll("/", "~");
}
