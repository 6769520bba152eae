export type { AuditLog } from "./audit-log.ts";
export type { EventMap, EventName } from "./event-map.ts";
export { EventProvider } from "./event-provider.ts";
export { Events } from "./events.ts";
