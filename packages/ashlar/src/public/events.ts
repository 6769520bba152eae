export {
  type AuditLog,
  type EventMap,
  EventProvider,
  type Events,
} from "../events/index.ts";
