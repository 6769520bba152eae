import { parseCookie, type SetCookie, stringifySetCookie } from "cookie";
import { AshlarError, type Dictionary, dictionary, isPrototypeName } from "../../support/index.ts";
import "../errors.ts";

/** No browser sends or keeps more than this for one cookie (RFC 6265 §6.1). */
const MAX_COOKIE_BYTES = 4096;

/** RFC 6265 §4.1.1: a name is a token. */
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
  /** The path it is sent to; default: the path of `APP_URL`, or else `/`. */
  readonly path?: string;
  /** The domain whose subdomains get it too; default: only the host that sets it. */
  readonly domain?: string;
  /** Whether it is sent over https only; the default is yes if the application's URL is https. */
  readonly secure?: boolean;
  /** Whether it is hidden from scripts of the page; the default is yes. */
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
 * Parses a `Cookie` header. It never throws, whatever the header contains.
 *
 * If several cookies have the same name, the first is used: browsers send the one with the longest path first (RFC 6265
 * §5.4).
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
 * Returns the value of one cookie, as {@link parseCookies} would: most requests need only one of several.
 *
 * @param header the header's value
 * @returns the value, decoded; `null` if the cookie is absent
 */
export function cookieValue(header: string, name: string): string | null {
  // Such a name could match something in the header that is not the name of a cookie.
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
 * Returns one `Set-Cookie` value: `HttpOnly`, `SameSite=Lax` and `Path=/` unless the options differ.
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
  const isPrefixed = /^__(host|secure)-/i.test(name);
  const cookie: SetCookie = {
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
  checkPrefix(cookie);
  if (cookie.sameSite === "none" && !cookie.secure) refuse(name, "must be secure to be sent with SameSite=None.");
  if (cookie.path?.startsWith("/") !== true) refuse(name, 'has a path that does not begin with "/".');
  const text = stringify(cookie);
  if (text.length > MAX_COOKIE_BYTES) refuse(name, `is longer than ${MAX_COOKIE_BYTES} bytes with its attributes.`);
  return text;
}

function stringify(cookie: SetCookie): string {
  try {
    return stringifySetCookie(cookie);
  } catch (error) {
    return refuse(cookie.name, "has an invalid attribute.", error);
  }
}
