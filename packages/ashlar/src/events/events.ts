import type { EventMap, EventName } from "./event-map.ts";

/** What is called when an event happens. What it returns is awaited, then dropped. */
export type EventListener<N extends EventName> = (payload: EventMap[N]) => unknown;

/** Where the failure of a listener is written. */
export interface EventLogger {
  error(details: object, message: string): void;
}

/** A listener that was put on an event. */
interface Subscription {
  readonly listener: EventListener<never>;
  readonly once: boolean;
}

/** Tells those who listen what happened. A listener that fails is logged, and nobody else notices. */
export class Events {
  readonly #logger: EventLogger;
  readonly #subscriptions = new Map<EventName, Set<Subscription>>();
  readonly #underway = new Set<Promise<void>>();

  /** @param logger where the failure of a listener is written */
  constructor(logger: EventLogger) {
    this.#logger = logger;
  }

  /**
   * Calls a listener whenever an event happens.
   *
   * @returns what takes the listener off again
   */
  on<N extends EventName>(name: N, listener: EventListener<N>): () => void {
    return this.#subscribe(name, listener, false);
  }

  /**
   * Calls a listener the next time an event happens, and never again.
   *
   * @returns what takes the listener off before that
   */
  once<N extends EventName>(name: N, listener: EventListener<N>): () => void {
    return this.#subscribe(name, listener, true);
  }

  /** Takes a listener off an event, however often it was put on; one that is not on it is left alone. */
  off<N extends EventName>(name: N, listener: EventListener<N>): void {
    const subscriptions = this.#subscriptions.get(name);
    for (const one of subscriptions ?? []) if (one.listener === listener) subscriptions!.delete(one);
  }

  /**
   * Calls all listeners of an event, side by side. Await it where the work of the listeners belongs to the work at hand;
   * otherwise let it run: an application that shuts down waits for it.
   *
   * @returns resolves once all are done, and never rejects
   */
  emit<N extends EventName>(name: N, payload: EventMap[N]): Promise<void> {
    const subscriptions = [...(this.#subscriptions.get(name) ?? [])];
    if (subscriptions.length === 0) return Promise.resolve();
    const calls = subscriptions.map((one) => this.#call(name, one, payload));
    const done: Promise<void> = Promise.all(calls).then(() => void this.#underway.delete(done));
    this.#underway.add(done);
    return done;
  }

  /** Resolves once the listeners of all events so far are done. */
  async settled(): Promise<void> {
    while (this.#underway.size > 0) await Promise.all(this.#underway);
  }

  #subscribe<N extends EventName>(name: N, listener: EventListener<N>, once: boolean): () => void {
    const subscription: Subscription = { listener, once };
    const subscriptions = this.#subscriptions.get(name) ?? new Set();
    this.#subscriptions.set(name, subscriptions.add(subscription));
    return () => void subscriptions.delete(subscription);
  }

  async #call<N extends EventName>(name: N, subscription: Subscription, payload: EventMap[N]): Promise<void> {
    // The caller of emit() goes on first.
    await null;
    const subscriptions = this.#subscriptions.get(name)!;
    if (!subscriptions.has(subscription)) return;
    if (subscription.once) subscriptions.delete(subscription);
    try {
      await (subscription.listener as EventListener<N>)(payload);
    } catch (error) {
      // Without the payload: a user or a token may be in it.
      this.#logger.error({ err: error, event: name }, "A listener failed.");
    }
  }
}
