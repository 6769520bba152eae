import type { MaybePromise } from "../support/index.ts";
import type { Application } from "./application.ts";

/**
 * Brings a feature into an application. Listed in `PROVIDERS`, which says which features are on.
 *
 * All providers are registered first, in their order; then all are booted, and then all are told that the application
 * is ready, in the same order; at the end all are shut down, in the reverse order.
 */
export abstract class Provider {
  protected readonly application: Application;

  constructor(application: Application) {
    this.application = application;
  }

  /** Binds services to the container. It uses none: the others may not be there yet. */
  register(): MaybePromise<void> {}

  /** Uses services: adds properties to the context, registers guards, listens to events. */
  boot(): MaybePromise<void> {}

  /** Checks what can only be judged when all providers have booted: nothing is added any more. */
  ready(): MaybePromise<void> {}

  /**
   * Begins what only a server does, such as a daily task. Called when the application listens; not for commands, nor if
   * another host calls `fetch`.
   */
  listening(): MaybePromise<void> {}

  /**
   * Deletes what has expired and nobody can use any more. Called by `ashlar prune`, and once a day by the server.
   *
   * @param _signal is aborted when the application shuts down: what takes long then stops halfway
   * @returns how many rows there were, by what they are: `{ sessions: 3 }`
   */
  prune(_signal?: AbortSignal): MaybePromise<Readonly<Record<string, number>>> {
    return {};
  }

  /** Lets go of what the feature holds (connections, timers). Called once, when the application shuts down. */
  shutdown(): MaybePromise<void> {}
}

/** The class of a provider. */
export type ProviderClass = new (application: Application) => Provider;
