import type { RegisteredUser } from "../../support/index.ts";
import type { HttpContext } from "./context.ts";

/** A page's handling of a user who could not be looked up. */
interface UnknownUser {
  /** Whether it has read the user, and so may treat the visitor as a guest. */
  wasAskedFor: boolean;
  /** Whether it knows that the user is unknown. */
  isNoticed: boolean;
}

/**
 * Requests whose user could not be looked up. Kept here because they are rare, so that no other request pays for them.
 */
const UNKNOWN = new WeakMap<HttpContext, UnknownUser>();

/** Records that looking up a request's user failed, so that no page treats the user as a guest. */
export function markUserUnknown(context: HttpContext): void {
  if (!UNKNOWN.has(context)) UNKNOWN.set(context, { wasAskedFor: false, isNoticed: false });
}

/** Reports whether looking up a request's user failed. */
export function isUserUnknown(context: HttpContext): boolean {
  return UNKNOWN.has(context);
}

/** The user that a page is rendered for: `null` for a guest, and if the user could not be looked up. */
export function shownUser(context: HttpContext): RegisteredUser | null {
  const { currentUser } = context;
  if (currentUser !== null) return currentUser;
  const unknown = UNKNOWN.get(context);
  if (unknown !== undefined) unknown.wasAskedFor = true;
  return null;
}

/** Tells a page whether the user could not be looked up. */
export function noticeUnknownUser(context: HttpContext): boolean {
  const unknown = UNKNOWN.get(context);
  if (unknown !== undefined) unknown.isNoticed = true;
  return unknown !== undefined;
}

/**
 * Reports whether a page has read a user who could not be looked up without noticing that: it may be a guest's page.
 */
export function treatsUnknownAsGuest(context: HttpContext): boolean {
  const unknown = UNKNOWN.get(context);
  return unknown?.wasAskedFor === true && !unknown.isNoticed;
}
