import type { HttpContext } from "./context.ts";

/** Requests that may have a user whom nothing could find. They are few, and no other request pays for them. */
const UNKNOWN = new WeakSet<HttpContext>();

/** Notes that looking for the user of a request failed, so that no page takes them for a guest. */
export function markUserUnknown(context: HttpContext): void {
  UNKNOWN.add(context);
}

/** Tells whether looking for the user of a request failed. */
export function isUserUnknown(context: HttpContext): boolean {
  return UNKNOWN.has(context);
}
