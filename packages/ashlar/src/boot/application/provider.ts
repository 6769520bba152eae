import type { MaybePromise } from "../../support/index.ts";
import type { Application } from "./application.ts";
import type { Feature } from "./feature.ts";

/**
 * Adds a feature to an application. The providers listed in `PROVIDERS` determine which features are enabled.
 *
 * First, `register()` is called on all providers, in order; then `boot()`, and then `ready()`, in the same order. When the
 * application shuts down, `shutdown()` is called in reverse order.
 */
export abstract class Provider {
  /** Everything that the feature adds: `declareFeature({ … })`. */
  static readonly feature?: Feature;

  protected readonly application: Application;

  constructor(application: Application) {
    this.application = application;
  }

  /**
   * Binds services that {@link Provider.feature} can't declare. It must not use any service, because other providers may not
   * have bound theirs yet.
   */
  register(): MaybePromise<void> {}

  /** Uses services: registers guards, listens to events. */
  boot(): MaybePromise<void> {}

  /** Checks what can only be checked after all providers have booted. Nothing is added after that. */
  ready(): MaybePromise<void> {}

  /**
   * Starts work that only a server does, such as a daily task. Called when the application listens, so not for commands, and
   * not if another host calls `fetch`.
   *
   * @param _port the port that the application listens on
   */
  listening(_port: number): MaybePromise<void> {}

  /**
   * Deletes expired data that can no longer be used. Called by `ashlar prune`, and once a day by the server.
   *
   * @param _signal is aborted when the application shuts down; long tasks then stop before they are finished
   * @returns how many rows were deleted, by kind: `{ logins: 3 }`
   */
  prune(_signal?: AbortSignal): MaybePromise<Readonly<Record<string, number>>> {
    return {};
  }

  /**
   * Whether `/ready` fails if {@link check} does. With `false`, a failure is only logged, and shown in the details of the
   * response. Use that for a service that many requests don't need, and for one that all instances share: its outage would
   * otherwise take all of them out of service.
   */
  readonly failsReadiness: boolean = true;

  /**
   * Checks whether the feature can serve requests right now, for example whether its server can be reached, without changing
   * anything. While it throws, or takes longer than two seconds, `/ready` responds with 503, and the load balancer sends
   * requests elsewhere, unless {@link failsReadiness} is `false`. So check only what requests need. Called at most once a
   * second.
   *
   * @throws the reason, which is logged, and not part of the response
   */
  check(): MaybePromise<void> {}

  /**
   * Releases the feature's resources, such as connections and timers. Called once, when the application shuts down.
   *
   * @param _seconds how long it may take; all providers share `APP.server.shutdownTimeoutSeconds`
   * @returns how much work had to be cut off, by kind, such as `{ mails: 3 }`; nothing if everything was finished
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most providers have nothing to return, and say so with void.
  shutdown(_seconds?: number): MaybePromise<Readonly<Record<string, number>> | void> {}
}

/** The class of a provider. */
export interface ProviderClass {
  new (application: Application): Provider;
  readonly feature?: Feature;
}
