import { parseSetCookie } from "cookie";
import { parseHost } from "../../http/index.ts";
import { now } from "../../support/index.ts";

/** A cookie as stored by a browser. */
export interface StoredCookie {
  readonly name: string;
  /** The value as sent, still percent-encoded. */
  readonly value: string;
  /** The host that set the cookie, or the cookie's `Domain`. */
  readonly domain: string;
  /** Whether the cookie is sent only to that host, and not to its subdomains. */
  readonly hostOnly: boolean;
  readonly path: string;
  /** When it expires, in milliseconds since 1970; `null` for a session cookie. */
  readonly expiresAt: number | null;
  readonly secure: boolean;
  /** Whether it is hidden from the page's scripts. */
  readonly httpOnly: boolean;
  readonly sameSite: "lax" | "strict" | "none" | null;
}

/** Options of a cookie that a test puts into the jar. */
export interface CookieJarEntry {
  readonly path?: string;
  readonly secure?: boolean;
  readonly httpOnly?: boolean;
  /** How long the cookie is kept; default: until the jar is emptied. */
  readonly maxAgeSeconds?: number;
}

/**
 * One visitor's cookies, stored as in a browser (RFC 6265 §5.3, §5.4): by path and host, not for public suffixes, with
 * `Secure` cookies over https only, and with the prefixes `__Host-` and `__Secure-` enforced. `Max-Age` and `Expires`
 * are measured by the framework's clock, so cookies expire when a test travels.
 */
export class CookieJar {
  readonly #host: string;
  #cookies: StoredCookie[] = [];

  /** @param origin the visitor's origin, for cookies that a test adds */
  constructor(origin: string) {
    this.#host = new URL(origin).hostname;
  }

  /** Stores the `Set-Cookie` header of a response; silently ignores what a browser would refuse. */
  store(setCookie: string, url: URL): void {
    const cookie = parsed(setCookie, url);
    if (cookie === null) return;
    const { name, domain, path } = cookie;
    const place = this.#cookies.findIndex((one) => one.name === name && one.domain === domain && one.path === path);
    if (place === -1) this.#cookies.push(cookie);
    else this.#cookies[place] = cookie;
  }

  /** Returns the `Cookie` header for a request to a URL; `null` if there are no cookies for it. */
  header(url: URL): string | null {
    // The sort is stable: for paths of the same length, the older cookie comes first.
    const sent = this.all
      .filter((cookie) => isFor(cookie, url))
      .sort((one, other) => other.path.length - one.path.length);
    return sent.length === 0 ? null : sent.map(({ name, value }) => `${name}=${value}`).join("; ");
  }

  /** Returns all cookies that have not expired, oldest first. */
  get all(): readonly StoredCookie[] {
    const time = now();
    this.#cookies = this.#cookies.filter(({ expiresAt }) => expiresAt === null || expiresAt > time);
    return [...this.#cookies];
  }

  /** Returns a cookie by its name, or `null`. */
  find(name: string): StoredCookie | null {
    return this.all.find((cookie) => cookie.name === name) ?? null;
  }

  /** Returns the value of a cookie, decoded; `null` if it does not exist. */
  get(name: string): string | null {
    const cookie = this.find(name);
    return cookie === null ? null : decoded(cookie.value);
  }

  /** Adds a cookie as if the application had set it, replacing any with the same name. */
  set(name: string, value: string, entry: CookieJarEntry = {}): void {
    this.delete(name);
    const { path = "/", secure = false, httpOnly = true, maxAgeSeconds } = entry;
    const expiresAt = maxAgeSeconds === undefined ? null : now() + maxAgeSeconds * 1000;
    const rest = { domain: this.#host, hostOnly: true, path, secure, httpOnly, sameSite: null, expiresAt };
    this.#cookies.push({ name, value: encodeURIComponent(value), ...rest });
  }

  /** Removes a cookie. */
  delete(name: string): void {
    this.#cookies = this.#cookies.filter((cookie) => cookie.name !== name);
  }

  /** Removes all cookies. */
  clear(): void {
    this.#cookies = [];
  }
}

function parsed(setCookie: string, url: URL): StoredCookie | null {
  const { name, value = "", ...attributes } = parseSetCookie(setCookie, { decode: (text) => text });
  const domain = attributes.domain?.replace(/^\./, "").toLowerCase() ?? "";
  const hostOnly = domain === "";
  const cookie: StoredCookie = {
    name,
    value,
    domain: hostOnly ? url.hostname : domain,
    hostOnly,
    path: attributes.path?.startsWith("/") ? attributes.path : defaultPath(url),
    expiresAt: expiryOf(attributes),
    secure: attributes.secure ?? false,
    httpOnly: attributes.httpOnly ?? false,
    sameSite: typeof attributes.sameSite === "string" ? attributes.sameSite : null,
  };
  const isKept = name !== "" && canBeSetBy(url, cookie) && keepsPrefix(cookie, attributes.path);
  return isKept ? cookie : null;
}

function canBeSetBy({ protocol, hostname }: URL, { secure, domain, hostOnly }: StoredCookie): boolean {
  if (secure && protocol !== "https:") return false;
  // `Domain=co.uk` would include other people's sites (RFC 6265 §5.3, step 5).
  return hostOnly || (isWithin(hostname, domain) && isWithin(domain, parseHost(hostname).host));
}

/** @param path the attribute's value as sent */
function keepsPrefix({ name, secure, hostOnly }: StoredCookie, path: string | undefined): boolean {
  if (/^__secure-/i.test(name)) return secure;
  return !/^__host-/i.test(name) || (secure && hostOnly && path === "/");
}

/** `Max-Age` takes precedence over `Expires` (RFC 6265 §5.3). */
function expiryOf({ maxAge, expires }: { readonly maxAge?: number; readonly expires?: Date }): number | null {
  if (maxAge !== undefined) return maxAge <= 0 ? Number.NEGATIVE_INFINITY : now() + maxAge * 1000;
  const time = expires?.getTime() ?? Number.NaN;
  return Number.isNaN(time) ? null : time;
}

/** The default is the directory of the page that sets the cookie (RFC 6265 §5.1.4). */
function defaultPath({ pathname }: URL): string {
  const end = pathname.lastIndexOf("/");
  return end <= 0 ? "/" : pathname.slice(0, end);
}

function isFor(cookie: StoredCookie, url: URL): boolean {
  if (cookie.secure && url.protocol !== "https:") return false;
  const isHost = cookie.hostOnly ? url.hostname === cookie.domain : isWithin(url.hostname, cookie.domain);
  return isHost && isUnder(url.pathname, cookie.path);
}

function isWithin(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`);
}

function isUnder(path: string, folder: string): boolean {
  if (!path.startsWith(folder)) return false;
  return path.length === folder.length || folder.endsWith("/") || path[folder.length] === "/";
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
