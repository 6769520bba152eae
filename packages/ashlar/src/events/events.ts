import Emittery from "emittery";
import type { EventMap, EventName } from "./event-map.ts";

/** What is called when an event happens. What it returns is awaited, then dropped. */
export type EventListener<N extends EventName> = (payload: EventMap[N]) => unknown;

/** Where the failure of a listener is written. */
export interface EventLogger {
  error(details: object, message: string): void;
}

interface Subscription {
  readonly name: string;
  readonly listener: unknown;
  readonly end: () => void;
}

/** Tells those who listen what happened. A listener that fails is logged, and nobody else notices. */
export class Events {
  readonly #emitter = new Emittery<Record<string, unknown>>();
  readonly #logger: EventLogger;
  readonly #subscriptions = new Set<Subscription>();
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
    for (const subscription of this.#subscriptions) {
      if (subscription.name === name && subscription.listener === listener) subscription.end();
    }
  }

  /**
   * Calls all listeners of an event, side by side. Await it where the work of the listeners belongs to the work at hand;
   * otherwise let it run: an application that shuts down waits for it.
   *
   * @returns resolves once all are done, and never rejects
   */
  emit<N extends EventName>(name: N, payload: EventMap[N]): Promise<void> {
    if (this.#emitter.listenerCount(name) === 0) return Promise.resolve();
    const done = this.#emitter.emit(name, payload).finally(() => this.#underway.delete(done));
    this.#underway.add(done);
    return done;
  }

  /** Resolves once the listeners of all events so far are done. */
  async settled(): Promise<void> {
    while (this.#underway.size > 0) await Promise.all(this.#underway);
  }

  #subscribe<N extends EventName>(name: N, listener: EventListener<N>, once: boolean): () => void {
    const stop = this.#emitter.on(name, async ({ data }) => {
      if (once) subscription.end();
      try {
        await listener(data as EventMap[N]);
      } catch (error) {
        // Without the payload: a user or a token may be in it.
        this.#logger.error({ err: error, event: name }, "A listener failed.");
      }
    });
    const end = () => {
      stop();
      this.#subscriptions.delete(subscription);
    };
    const subscription: Subscription = { name, listener, end };
    this.#subscriptions.add(subscription);
    return end;
  }
}
