import { UnitOfWork } from "../support/index.ts";
import type { EventMap, EventName } from "./event-map.ts";

/** Called when an event happens. Its result is awaited and ignored. */
export type EventListener<N extends EventName> = (payload: EventMap[N]) => unknown;

/** The log for failed listeners. */
export interface EventLogger {
  error(details: object, message: string): void;
}

/** A listener of an event. */
interface Subscription {
  readonly listener: EventListener<never>;
  readonly once: boolean;
}

/** Calls listeners when something happens. A listener's failure is only logged. */
export class Events {
  readonly #logger: EventLogger;
  readonly #subscriptions = new Map<EventName, Set<Subscription>>();
  readonly #underway = new Set<Promise<void>>();

  /** @param logger logs failed listeners */
  constructor(logger: EventLogger) {
    this.#logger = logger;
  }

  /**
   * Calls a listener whenever an event happens.
   *
   * @returns a function that removes the listener
   */
  on<N extends EventName>(name: N, listener: EventListener<N>): () => void {
    return this.#subscribe(name, listener, false);
  }

  /**
   * Calls a listener the next time an event happens, and never again.
   *
   * @returns a function that removes the listener before that
   */
  once<N extends EventName>(name: N, listener: EventListener<N>): () => void {
    return this.#subscribe(name, listener, true);
  }

  /** Removes a listener from an event, however often it was added; does nothing if it was not added. */
  off<N extends EventName>(name: N, listener: EventListener<N>): void {
    const subscriptions = this.#subscriptions.get(name);
    for (const one of subscriptions ?? []) if (one.listener === listener) subscriptions!.delete(one);
  }

  /**
   * Calls all listeners of an event concurrently. Await it if the listeners' work is part of yours. Otherwise, don't:
   * the application waits for it when it shuts down.
   *
   * In a database transaction, the event happens after the commit, or never if the transaction is rolled back. Awaiting
   * it there doesn't wait for the listeners, because they would in turn wait for the transaction.
   *
   * @returns resolves when all listeners are done, or at once in a transaction; never rejects
   */
  emit<N extends EventName>(name: N, payload: EventMap[N]): Promise<void> {
    const unit = UnitOfWork.current;
    if (unit === null) return this.happen(name, payload);
    unit.afterCommit(() => void this.happen(name, payload));
    return Promise.resolve();
  }

  /** @internal Calls the listeners of an event that has happened. */
  happen<N extends EventName>(name: N, payload: EventMap[N]): Promise<void> {
    const subscriptions = [...(this.#subscriptions.get(name) ?? [])];
    if (subscriptions.length === 0) return Promise.resolve();
    const calls = subscriptions.map((one) => this.#call(name, one, payload));
    const done: Promise<void> = Promise.all(calls).then(() => void this.#underway.delete(done));
    this.#underway.add(done);
    return done;
  }

  /** How many events have listeners that are still running. */
  get pending(): number {
    return this.#underway.size;
  }

  /** Resolves when the listeners of all events that have happened so far are done. */
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
    // Let the caller of emit() continue first.
    await null;
    const subscriptions = this.#subscriptions.get(name)!;
    if (!subscriptions.has(subscription)) return;
    if (subscription.once) subscriptions.delete(subscription);
    try {
      await (subscription.listener as EventListener<N>)(payload);
    } catch (error) {
      // The payload is left out, because it may contain a user or a token.
      this.#logger.error({ err: error, event: name }, "A listener failed.");
    }
  }
}
