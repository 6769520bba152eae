export {
  type AuditDetails,
  type AuditLog,
  type EventMap,
  type EventName,
  EventProvider,
  type Events,
} from "../events/index.ts";
