import type { HttpRequest } from "../../http/index.ts";
import { now } from "../../support/index.ts";
import type { Login, LoginUse } from "../logins/login-store.ts";
import type { CompleteWebGuardSettings } from "./web-guard-settings.ts";

/** A use is recorded at most this often. */
const USE_INTERVAL_MS = 5 * 60_000;
/** If logins end soon without use, a use must not stay unrecorded for more than this fraction of that time. */
const USE_INTERVAL_SHARE = 20;
/** The maximum length of a user agent that is stored, in UTF-16 units. */
const MAX_USER_AGENT_LENGTH = 255;

/** The stored data about a request's device. */
export function deviceOf(request: HttpRequest): Pick<LoginUse, "ip" | "userAgent"> {
  return {
    ip: request.clientAddress,
    userAgent: request.userAgent()?.slice(0, MAX_USER_AGENT_LENGTH) ?? null,
  };
}

/** The use of a login at this moment, and when the login ends now; `null` if the last use that was recorded is recent. */
export function dueUse(
  login: Login,
  settings: CompleteWebGuardSettings,
): Pick<LoginUse, "lastUsedAt" | "expiresAt"> | null {
  const { idleMs, absoluteMs } = settings;
  const at = now();
  if (at - login.lastUsedAt.getTime() < Math.min(USE_INTERVAL_MS, idleMs / USE_INTERVAL_SHARE)) return null;
  const expiresAt = isRemembered(login, settings)
    ? login.expiresAt
    : new Date(Math.min(at + idleMs, login.createdAt.getTime() + absoluteMs));
  return { lastUsedAt: new Date(at), expiresAt };
}

/** Reports whether a login is remembered: only such a login starts with a longer lifetime than others can ever reach. */
export function isRemembered(
  { createdAt, expiresAt }: Pick<Login, "createdAt" | "expiresAt">,
  { absoluteMs }: CompleteWebGuardSettings,
): boolean {
  return expiresAt.getTime() - createdAt.getTime() > absoluteMs;
}
