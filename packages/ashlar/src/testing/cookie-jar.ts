import { parseSetCookie } from "cookie";
import { now } from "../support/index.ts";

/** A cookie as a browser keeps it. */
export interface StoredCookie {
  readonly name: string;
  /** As it travels, percent-encoding and all. */
  readonly value: string;
  /** The host that set it, or the domain that it said. */
  readonly domain: string;
  /** Whether it goes to that host alone, and not to hosts under it. */
  readonly hostOnly: boolean;
  readonly path: string;
  /** When it ends, in milliseconds since the epoch; `null` for one that ends with the browser. */
  readonly expiresAt: number | null;
  readonly secure: boolean;
  /** Whether scripts of the page are kept from it. */
  readonly httpOnly: boolean;
  readonly sameSite: "lax" | "strict" | "none" | null;
}

/** What a cookie that a test puts into the jar is given. */
export interface CookieJarEntry {
  readonly path?: string;
  readonly secure?: boolean;
  readonly httpOnly?: boolean;
  /** How long it is kept; until the jar is emptied where left out. */
  readonly maxAgeSeconds?: number;
}

/**
 * The cookies of one visitor, kept as browsers keep them (RFC 6265 §5.3, §5.4): by path and host, `Secure` ones over https
 * alone, the prefixes `__Host-` and `__Secure-` enforced, and no longer than `Max-Age` and `Expires` say by the framework's
 * clock, so that they end when a test travels.
 */
export class CookieJar {
  readonly #host: string;
  #cookies: StoredCookie[] = [];

  /** @param origin where the visitor is, for cookies that a test puts in */
  constructor(origin: string) {
    this.#host = new URL(origin).hostname;
  }

  /** Takes a `Set-Cookie` header of an answer; what a browser would refuse is left out without a word. */
  store(setCookie: string, url: URL): void {
    const cookie = parsed(setCookie, url);
    if (cookie === null) return;
    const { name, domain, path } = cookie;
    const place = this.#cookies.findIndex((one) => one.name === name && one.domain === domain && one.path === path);
    if (place === -1) this.#cookies.push(cookie);
    else this.#cookies[place] = cookie;
  }

  /** The `Cookie` header of a request to a URL; `null` where it carries none. */
  header(url: URL): string | null {
    // A sort keeps the order of what is equal: of paths of one length the cookie that was there first comes first.
    const sent = this.all
      .filter((cookie) => isFor(cookie, url))
      .sort((one, other) => other.path.length - one.path.length);
    return sent.length === 0 ? null : sent.map(({ name, value }) => `${name}=${value}`).join("; ");
  }

  /** Every cookie that has not ended, the oldest first. */
  get all(): readonly StoredCookie[] {
    const time = now();
    this.#cookies = this.#cookies.filter(({ expiresAt }) => expiresAt === null || expiresAt > time);
    return [...this.#cookies];
  }

  /** A cookie by its name, or `null`. */
  find(name: string): StoredCookie | null {
    return this.all.find((cookie) => cookie.name === name) ?? null;
  }

  /** The value of a cookie, decoded; `null` where there is none. */
  get(name: string): string | null {
    const cookie = this.find(name);
    return cookie === null ? null : decoded(cookie.value);
  }

  /** Puts a cookie in, as if the application had set it: in the place of any of its name. */
  set(name: string, value: string, entry: CookieJarEntry = {}): void {
    this.delete(name);
    const { path = "/", secure = false, httpOnly = true, maxAgeSeconds } = entry;
    const expiresAt = maxAgeSeconds === undefined ? null : now() + maxAgeSeconds * 1000;
    const rest = { domain: this.#host, hostOnly: true, path, secure, httpOnly, sameSite: null, expiresAt };
    this.#cookies.push({ name, value: encodeURIComponent(value), ...rest });
  }

  /** Takes a cookie out. */
  delete(name: string): void {
    this.#cookies = this.#cookies.filter((cookie) => cookie.name !== name);
  }

  /** Takes all cookies out. */
  clear(): void {
    this.#cookies = [];
  }
}

function parsed(setCookie: string, url: URL): StoredCookie | null {
  const { name, value = "", ...attributes } = parseSetCookie(setCookie, { decode: (text) => text });
  const isHttps = url.protocol === "https:";
  const secure = attributes.secure ?? false;
  const domain = attributes.domain?.replace(/^\./, "").toLowerCase() ?? "";
  const hostOnly = domain === "";
  const path = attributes.path?.startsWith("/") ? attributes.path : defaultPath(url);
  const isRefused =
    name === "" ||
    (secure && !isHttps) ||
    (!hostOnly && !isWithin(url.hostname, domain)) ||
    (/^__secure-/i.test(name) && !secure) ||
    (/^__host-/i.test(name) && !(secure && hostOnly && attributes.path === "/"));
  if (isRefused) return null;
  return {
    name,
    value,
    domain: hostOnly ? url.hostname : domain,
    hostOnly,
    path,
    expiresAt: expiryOf(attributes),
    secure,
    httpOnly: attributes.httpOnly ?? false,
    sameSite: typeof attributes.sameSite === "string" ? attributes.sameSite : null,
  };
}

/** RFC 6265 §5.3: `Max-Age` wins over `Expires`. */
function expiryOf({ maxAge, expires }: { readonly maxAge?: number; readonly expires?: Date }): number | null {
  if (maxAge !== undefined) return maxAge <= 0 ? Number.NEGATIVE_INFINITY : now() + maxAge * 1000;
  const time = expires?.getTime() ?? Number.NaN;
  return Number.isNaN(time) ? null : time;
}

/** RFC 6265 §5.1.4: the folder of the page that sets it. */
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
