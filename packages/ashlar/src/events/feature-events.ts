import type { AuditDetails, AuditLog } from "./audit-log.ts";
import type { EventMap, EventName } from "./event-map.ts";

/** An event that a feature emits. */
export interface FeatureEvent<Payload> {
  /**
   * Whether the audit log gets a line each time the event happens, or a function that returns the line's fields in addition to
   * the user, the guard, the address and the request.
   *
   * Security: leave out secrets and anything that users type, because they may type a password into the wrong field.
   */
  readonly audit: boolean | ((payload: Payload, log: AuditLog) => AuditDetails);
}

/** Adds a feature's audited events to the audit log. */
export function auditEvents(
  log: AuditLog,
  events: { readonly [Name in EventName]?: FeatureEvent<EventMap[Name]> } = {},
): void {
  for (const [name, { audit }] of Object.entries(events) as [EventName, FeatureEvent<unknown>][]) {
    if (typeof audit === "function") log.add(name, (payload) => audit(payload, log));
    else if (audit) log.add(name);
  }
}
