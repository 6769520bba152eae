import type { HttpRequest } from "../../http/index.ts";
import { randomToken } from "../../security/index.ts";

/** 256 bits as base64url. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Makes the token of a new login: 256 random bits as 43 characters of base64url. */
export function makeLoginToken(): string {
  return randomToken(32);
}

/**
 * The one token that a request carries in a cookie. `null` where there is none, where it cannot be a token, and where
 * the cookie was sent more than once: which of several is the browser's own, nobody can tell.
 */
export function presentedToken(request: HttpRequest, cookie: string): string | null {
  const value = request.cookie(cookie);
  if (!TOKEN.test(String(value))) return null;
  return isSentOnce(request.header("cookie"), cookie) ? value : null;
}

/** Every token that a request carries in a cookie, however often that was sent: what a logout has to end. */
export function presentedTokens(request: HttpRequest, cookie: string): string[] {
  const values = [request.cookie(cookie), ...valuesOf(request.header("cookie"), cookie)];
  return [...new Set(values)].filter((value): value is string => TOKEN.test(String(value)));
}

function isSentOnce(header: string | null, cookie: string): boolean {
  if (header === null) return true;
  const assignment = `${cookie}=`;
  // Nearly always enough, and far cheaper than taking the header apart.
  if (header.indexOf(assignment) === header.lastIndexOf(assignment)) return true;
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
