export type { EventMap, EventName } from "./event-map.ts";
export { EventProvider } from "./event-provider.ts";
export { type EventListener, type EventLogger, Events } from "./events.ts";
