import type { MaybePromise } from "../../support/index.ts";
import type { Application } from "./application.ts";
import type { Feature } from "./feature.ts";

/**
 * Adds a feature to an application. Providers are listed in `PROVIDERS`, which determines the enabled features.
 *
 * All providers are registered first, in order; then all are booted, and then all are notified that the application is
 * ready, in the same order. At the end, all are shut down in reverse order.
 */
export abstract class Provider {
  /** What the feature adds: `declareFeature({ … })`. */
  static readonly feature?: Feature;

  protected readonly application: Application;

  constructor(application: Application) {
    this.application = application;
  }

  /**
   * Binds those services that {@link Provider.feature} can't declare. It must not use any: other providers may not have bound
   * theirs yet.
   */
  register(): MaybePromise<void> {}

  /** Uses services: registers guards, listens to events. */
  boot(): MaybePromise<void> {}

  /** Checks what can only be checked once all providers have booted: nothing is added after that. */
  ready(): MaybePromise<void> {}

  /**
   * Starts what only a server does, such as a daily task. Called when the application listens; not for commands, and not if
   * another host calls `fetch`.
   *
   * @param _port the application's
   */
  listening(_port: number): MaybePromise<void> {}

  /**
   * Deletes what has expired and can no longer be used. Called by `ashlar prune`, and once a day by the server.
   *
   * @param _signal is aborted when the application shuts down; long tasks then stop halfway
   * @returns how many rows were deleted, by kind: `{ logins: 3 }`
   */
  prune(_signal?: AbortSignal): MaybePromise<Readonly<Record<string, number>>> {
    return {};
  }

  /**
   * Whether `/ready` fails with {@link check}. If not, a failure is only shown in its details, and logged: for what many
   * requests can do without, and for what all instances share, whose outage would take all of them out of service.
   */
  readonly failsReadiness: boolean = true;

  /**
   * Checks whether the feature can serve requests right now, and changes nothing: whether its server can be reached. While
   * it throws, or takes longer than two seconds, `/ready` responds with 503, and the load balancer sends requests
   * elsewhere, unless {@link failsReadiness} is `false`. So check only what requests can't do without. Called at most once a
   * second.
   *
   * @throws why it can't; that is logged, and not part of the response
   */
  check(): MaybePromise<void> {}

  /**
   * Releases what the feature holds (connections, timers). Called once, when the application shuts down.
   *
   * @param _seconds how long it may take; `APP.server.shutdownTimeoutSeconds` is for all providers together
   * @returns what had to be cut off, by kind, such as `{ mails: 3 }`; nothing if everything was finished
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most providers have nothing to return, and say so with void.
  shutdown(_seconds?: number): MaybePromise<Readonly<Record<string, number>> | void> {}
}

/** The class of a provider. */
export interface ProviderClass {
  new (application: Application): Provider;
  readonly feature?: Feature;
}
