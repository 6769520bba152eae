import { isIP } from "node:net";
import { parseCookie, type SetCookie, stringifySetCookie } from "cookie";
import { AshlarError, type Dictionary, dictionary, isPrototypeName } from "../../support/index.ts";
import { parseHost } from "../addresses/host.ts";
import type { HttpContext } from "./context.ts";
import "../errors.ts";

/** Browsers don't send or keep more than this for one cookie (RFC 6265 §6.1). */
const MAX_COOKIE_BYTES = 4096;

/** A cookie's name is a token (RFC 6265 §4.1.1). */
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const EQUALS = "=".charCodeAt(0);
const SEMICOLON = ";".charCodeAt(0);

/** Characters that would end a cookie, a header or a line, and all other control characters. */
const FORBIDDEN = /[\p{Cc};]/u;

/** Attributes of a cookie in a response. */
export interface CookieOptions {
  /** The cookie's lifetime, in whole seconds; default: until the browser's session ends. */
  readonly maxAgeSeconds?: number;
  /** The date when the cookie expires. */
  readonly expires?: Date;
  /** The path that it is sent to; default: the path of `APP_URL`, or else `/`. */
  readonly path?: string;
  /** The domain whose subdomains get it too; default: only the host that sets it. */
  readonly domain?: string;
  /** Whether it is sent only over https; default: `true` if the application's URL is https. */
  readonly secure?: boolean;
  /** Whether it is hidden from the page's scripts; default: `true`. */
  readonly httpOnly?: boolean;
  /** Which requests from other sites include it; default: `lax`. `none` needs `secure`. */
  readonly sameSite?: "lax" | "strict" | "none";
}

/** Decodes a cookie's value; returns it unchanged if its percent-encoding is malformed, and nothing if it is too long. */
function decodeValue(value: string): string | undefined {
  if (value.length > MAX_COOKIE_BYTES) return undefined;
  if (!value.includes("%")) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/**
 * Parses a `Cookie` header. Never throws, whatever the header contains.
 *
 * If several cookies have the same name, uses the first, because browsers send the cookie with the longest path first
 * (RFC 6265 §5.4).
 *
 * @param header the header's value, or `null` if it is missing
 * @returns the values by name, decoded
 */
export function parseCookies(header: string | null): Dictionary<string> {
  const cookies = dictionary<string>();
  if (header === null) return cookies;
  for (const [name, value] of Object.entries(parseCookie(header, { decode: decodeValue }))) {
    if (value !== undefined && name !== "" && !isPrototypeName(name)) cookies[name] = value;
  }
  return cookies;
}

/**
 * Returns the value of one cookie, as {@link parseCookies} would. Most requests need only one of several.
 *
 * @param header the header's value
 * @returns the value, decoded; `null` if the cookie is absent
 */
export function cookieValue(header: string, name: string): string | null {
  // An invalid name could match something in the header that isn't a cookie's name.
  if (!NAME.test(name)) return parseCookies(header)[name] ?? null;
  if (isPrototypeName(name)) return null;
  for (let start = header.indexOf(name); start !== -1; start = header.indexOf(name, start + 1)) {
    const equals = afterBlanks(header, start + name.length);
    if (header.charCodeAt(equals) !== EQUALS || !beginsPair(header, start)) continue;
    const semicolon = header.indexOf(";", equals);
    const value = decodeValue(withoutBlanks(header, equals + 1, semicolon === -1 ? header.length : semicolon));
    if (value !== undefined) return value;
  }
  return null;
}

function beginsPair(header: string, start: number): boolean {
  let before = start - 1;
  while (before >= 0 && isBlank(header.charCodeAt(before))) before--;
  return before < 0 || header.charCodeAt(before) === SEMICOLON;
}

function afterBlanks(text: string, start: number): number {
  let index = start;
  while (isBlank(text.charCodeAt(index))) index++;
  return index;
}

function withoutBlanks(text: string, start: number, end: number): string {
  const first = afterBlanks(text, start);
  let last = end;
  while (last > first && isBlank(text.charCodeAt(last - 1))) last--;
  return text.slice(first, last);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function refuse(name: string, problem: string, cause?: unknown): never {
  throw new AshlarError("E_INVALID_COOKIE", `The cookie ${JSON.stringify(name)} ${problem}`, { cause });
}

/** The rules for a name's prefix (RFC 6265bis §4.1.3); browsers recognize it in any case. */
function checkPrefix(cookie: SetCookie): void {
  const name = cookie.name.toLowerCase();
  const isHost = name.startsWith("__host-");
  if ((isHost || name.startsWith("__secure-")) && cookie.secure !== true) refuse(cookie.name, "must be secure.");
  if (isHost && cookie.domain !== undefined) refuse(cookie.name, "may not have a domain.");
  if (isHost && cookie.path !== "/") refuse(cookie.name, 'must have the path "/".');
}

/**
 * Returns a `Set-Cookie` value, with `HttpOnly`, `SameSite=Lax` and `Path=/` unless the options differ.
 *
 * @param value any text without control characters and semicolons; characters that a cookie cannot contain are
 * percent-encoded
 * @param isHttps whether the application is reached over https, which makes cookies `Secure` by default
 * @throws `E_INVALID_COOKIE` for an invalid name, value or attribute, for more than 4096 bytes in total, for
 *   `SameSite=None` without `Secure`, and if the rules of a `__Host-` or `__Secure-` name are violated
 */
export function serializeCookie(name: string, value: string, options: CookieOptions, isHttps: boolean): string {
  if (!NAME.test(name)) refuse(name, "has an invalid name. Letters, digits and !#$%&'*+-.^_`|~ are allowed.");
  if (typeof value !== "string" || FORBIDDEN.test(value) || !value.isWellFormed()) {
    refuse(name, "has a value that is not text, or contains a semicolon or a control character.");
  }
  const cookie = withDefaults(name, value, options, isHttps);
  checkPrefix(cookie);
  if (cookie.sameSite === "none" && !cookie.secure) refuse(name, "must be secure to be sent with SameSite=None.");
  if (cookie.path?.startsWith("/") !== true) refuse(name, 'has a path that does not begin with "/".');
  const text = stringify(cookie);
  if (text.length > MAX_COOKIE_BYTES) refuse(name, `is longer than ${MAX_COOKIE_BYTES} bytes with its attributes.`);
  return text;
}

function withDefaults(name: string, value: string, options: CookieOptions, isHttps: boolean): SetCookie {
  const isPrefixed = /^__(host|secure)-/i.test(name);
  return {
    name,
    value,
    path: options.path ?? "/",
    httpOnly: options.httpOnly ?? true,
    secure: options.secure ?? (isHttps || isPrefixed),
    sameSite: options.sameSite ?? "lax",
    ...(options.maxAgeSeconds === undefined ? {} : { maxAge: options.maxAgeSeconds }),
    ...(options.expires === undefined ? {} : { expires: options.expires }),
    ...(options.domain === undefined ? {} : { domain: options.domain }),
  };
}

function stringify(cookie: SetCookie): string {
  try {
    return stringifySetCookie(cookie);
  } catch (error) {
    return refuse(cookie.name, "has an invalid attribute.", error);
  }
}

/** The settings that the names of the framework's own cookies depend on. */
export interface CookieSite {
  /** Whether visitors use the application over https. */
  readonly isHttps: boolean;
  /**
   * A suffix that keeps the cookies of applications on the same host apart: `~shop` for the application at `/shop`;
   * `""` without a base path.
   */
  readonly suffix: string;
  /** The origin of `APP_URL`; `null` or omitted if it is not set. */
  readonly url?: string | null;
}

const NO_DOMAIN = Object.freeze({});

/**
 * Returns the name of one of the framework's own cookies: `token`, or over https `__Host-token`, which no other host
 * and no response over plain http can set (RFC 6265bis §4.1.3.2). With a domain, it is `__Secure-token`, or
 * `shared.token` over http. The name differs so that a cookie from before the domain was set can't be confused with it.
 *
 * Security: `__Host-` needs the path `/`, so applications at several paths of one host can't be kept apart by the path.
 */
export function ownCookieName(name: string, { isHttps, suffix }: CookieSite, domain: string | null = null): string {
  if (/^__(host|secure)-/i.test(name)) return name + suffix;
  if (domain === null) return `${isHttps ? "__Host-" : ""}${name}${suffix}`;
  return `${isHttps ? "__Secure-" : "shared."}${name}${suffix}`;
}

/**
 * The suffix for the cookie names of an application under a base path. A base path contains no `~`, so no two suffixes
 * are the same.
 */
export function cookieSuffixOf(basePath: string): string {
  return basePath.replaceAll("/", "~");
}

/**
 * Describes what is wrong with a domain for shared cookies; `null` if it is valid.
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
 * The attribute `Domain` of a cookie in the response to a request. A host that isn't in the domain, such as one of
 * `APP.hosts` or an address, gets its own cookie, because browsers would refuse the shared one.
 */
export function domainFor(context: HttpContext, domain: string | null): { readonly domain?: string } {
  if (domain === null) return NO_DOMAIN;
  // Doesn't use the origin for URLs, because for an unlisted host, that is the origin of `APP_URL`.
  return isWithin(new URL(context.request.raw.url).hostname, domain) ? { domain } : NO_DOMAIN;
}

/** A warning about a cookie with a domain. */
export function sharedCookieWarning(where: string, domain: string): string {
  return (
    `${where} is ${domain}: every host below it gets these cookies and can set them, so each of them can act for the ` +
    "visitors of this application. Use it only if all of them are yours, and none is filled by users or forgotten."
  );
}

/** Reports whether a host is the domain itself, or below it. */
export function isWithin(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`);
}
