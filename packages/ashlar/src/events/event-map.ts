/**
 * The events and what each carries, by name. Features and the application add theirs by declaration merging:
 *
 * ```ts
 * declare module "ashlar/events" { interface EventMap { "order.placed": { order: Order } } }
 * ```
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that the application can fill it.
export interface EventMap {}

/** The name of an event. */
export type EventName = keyof EventMap & string;
