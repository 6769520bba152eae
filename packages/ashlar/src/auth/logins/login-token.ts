import type { HttpRequest } from "../../http/index.ts";
import { randomToken } from "../../security/index.ts";

/** 256 bits as base64url. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
/** A browser sends several cookies of one name only if they differ in path or domain. */
const MAX_TOKENS = 5;

/** Creates the token of a new login: 256 random bits as 43 characters of base64url. */
export function makeLoginToken(): string {
  return randomToken(32);
}

/**
 * The one token that a request carries in a cookie. `null` if there isn't one, if it cannot be a token, or if the
 * cookie was sent more than once: there is no way to tell which one belongs to the browser.
 */
export function presentedToken(request: HttpRequest, cookie: string): string | null {
  const value = request.cookie(cookie);
  if (!TOKEN.test(String(value))) return null;
  return isSentOnce(request.header("cookie"), cookie) ? value : null;
}

/**
 * The tokens that a request carries in a cookie, even if the cookie was sent more than once: a logout has to end all of them.
 *
 * Security: of more than a browser sends, only the first, because each costs several statements.
 */
export function presentedTokens(request: HttpRequest, cookie: string): string[] {
  const values = [request.cookie(cookie), ...valuesOf(request.header("cookie"), cookie)];
  const tokens = values.filter((value): value is string => TOKEN.test(String(value)));
  return [...new Set(tokens)].slice(0, MAX_TOKENS);
}

function isSentOnce(header: string | null, cookie: string): boolean {
  if (header === null) return true;
  const assignment = `${cookie}=`;
  // Nearly always sufficient, and far cheaper than parsing the header.
  if (!header.includes(assignment, header.indexOf(assignment) + 1)) return true;
  return valuesOf(header, cookie).length <= 1;
}

function valuesOf(header: string | null, cookie: string): string[] {
  if (header === null) return [];
  return header
    .split(";")
    .map((pair) => pair.split("=") as [name: string, value?: string])
    .filter(([name]) => name.trim() === cookie)
    .flatMap(([, value]) => value?.trim() ?? []);
}
