export type { EventMap, EventName } from "./event-map.ts";
export { EventProvider } from "./event-provider.ts";
export { type EventListener, Events } from "./events.ts";
