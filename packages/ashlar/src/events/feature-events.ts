import type { AuditDetails, AuditLog } from "./audit-log.ts";
import type { EventMap, EventName } from "./event-map.ts";

/** An event that a feature emits. */
export interface FeatureEvent<Payload> {
  /**
   * Whether the audit log has a line each time it happens; or what is particular to the event in that line, besides the user,
   * the guard, the address and the request.
   *
   * Security: leave out secrets, and what people type: it may be a password in the wrong field.
   */
  readonly audit: boolean | ((payload: Payload, log: AuditLog) => AuditDetails);
}

/** Adds those events of a feature to the audit log that have lines there. */
export function auditEvents(
  log: AuditLog,
  events: { readonly [Name in EventName]?: FeatureEvent<EventMap[Name]> } = {},
): void {
  for (const [name, { audit }] of Object.entries(events) as [EventName, FeatureEvent<unknown>][]) {
    if (typeof audit === "function") log.add(name, (payload) => audit(payload, log));
    else if (audit) log.add(name);
  }
}
