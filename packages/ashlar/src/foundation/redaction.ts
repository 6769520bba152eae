import { isPlainObject } from "../support/index.ts";

const SECRET_NAMES: ReadonlySet<string> = new Set([
  "authorization",
  "proxyauthorization",
  "cookie",
  "setcookie",
  "password",
  "passwordconfirmation",
  "currentpassword",
  "newpassword",
  "secret",
  "jwtsecret",
  "appkey",
  "token",
  "apitoken",
  "accesstoken",
  "refreshtoken",
  "xcsrftoken",
]);

/** What stands in the log in the place of a secret. */
export const REDACTED = "[redacted]";

const MAX_DEPTH = 8;

/**
 * The same data with each member that could be a secret blacked out by its name, at any depth: `password`,
 * `Authorization`, `api_token`, …
 *
 * Security: a name is all it goes by. A secret inside a message or under another name is logged as it is.
 */
export function redact(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return redactMembers(data, 0);
}

function redactMembers(data: Readonly<Record<string, unknown>>, depth: number): Record<string, unknown> {
  const clean: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(data)) {
    clean[name] = isSecretName(name) ? REDACTED : redactValue(value, depth + 1);
  }
  return clean;
}

function redactValue(value: unknown, depth: number): unknown {
  if (value instanceof Headers) return redactMembers(Object.fromEntries(value), depth);
  const isData = Array.isArray(value) || isPlainObject(value);
  if (!isData) return value;
  if (depth > MAX_DEPTH) return "[too deep]";
  return Array.isArray(value) ? value.map((one) => redactValue(one, depth + 1)) : redactMembers(value, depth);
}

function isSecretName(name: string): boolean {
  return SECRET_NAMES.has(name.toLowerCase().replaceAll(/[-_]/g, ""));
}
