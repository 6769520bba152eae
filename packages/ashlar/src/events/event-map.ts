/** The events that the framework's features add to {@link EventMap}. Applications augment `EventMap` itself. */
// biome-ignore lint/suspicious/noEmptyInterface: empty, because features augment it.
export interface FrameworkEvents {}

/**
 * The events by name, with their payloads. An application adds its own by declaration merging:
 *
 * ```ts
 * declare module "ashlar/events" { interface EventMap { "order.placed": { order: Order } } }
 * ```
 */
export interface EventMap extends FrameworkEvents {}

/** The name of an event. */
export type EventName = keyof EventMap & string;
