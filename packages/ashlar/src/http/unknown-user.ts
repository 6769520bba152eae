import type { HttpContext } from "./context.ts";

/** Requests whose user could not be looked up. They are few, and no other request pays for them. */
const UNKNOWN = new WeakSet<HttpContext>();

/** Records that looking up a request's user failed, so that no page treats the user as a guest. */
export function markUserUnknown(context: HttpContext): void {
  UNKNOWN.add(context);
}

/** Reports whether looking up a request's user failed. */
export function isUserUnknown(context: HttpContext): boolean {
  return UNKNOWN.has(context);
}
