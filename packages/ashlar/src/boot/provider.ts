import type { MaybePromise } from "../support/index.ts";
import type { Application } from "./application.ts";
import type { FeatureCommand } from "./feature-command.ts";

/**
 * Adds a feature to an application. Providers are listed in `PROVIDERS`, which determines the enabled features.
 *
 * All providers are registered first, in order; then all are booted, and then all are told that the application is ready,
 * in the same order. At the end, all are shut down in reverse order.
 */
export abstract class Provider {
  /** The commands that the feature adds to `ashlar`. */
  static readonly commands: readonly FeatureCommand[] = [];

  protected readonly application: Application;

  constructor(application: Application) {
    this.application = application;
  }

  /** Binds services to the container. It must not use any: other providers may not have bound theirs yet. */
  register(): MaybePromise<void> {}

  /** Uses services: adds properties to the context, registers guards, listens to events. */
  boot(): MaybePromise<void> {}

  /** Checks what can only be checked once all providers have booted: nothing is added after that. */
  ready(): MaybePromise<void> {}

  /**
   * Starts what only a server does, such as a daily task. Called when the application listens; not for commands, and not if
   * another host calls `fetch`.
   */
  listening(): MaybePromise<void> {}

  /**
   * Deletes what has expired and can no longer be used. Called by `ashlar prune`, and once a day by the server.
   *
   * @param _signal is aborted when the application shuts down; long tasks then stop halfway
   * @returns how many rows were deleted, by kind: `{ logins: 3 }`
   */
  prune(_signal?: AbortSignal): MaybePromise<Readonly<Record<string, number>>> {
    return {};
  }

  /** Releases what the feature holds (connections, timers). Called once, when the application shuts down. */
  shutdown(): MaybePromise<void> {}
}

/** The class of a provider. */
export interface ProviderClass {
  new (application: Application): Provider;
  readonly commands?: readonly FeatureCommand[];
}
