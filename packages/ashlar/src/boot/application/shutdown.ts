import { endApplication, runFor } from "../../kernel/index.ts";
import { type ApplicationServer, STILL_COMING } from "../../server/index.ts";
import { counted } from "../../support/index.ts";
import { within } from "../process/within.ts";
import type { Application } from "./application.ts";
import type { Providers } from "./providers.ts";

/** How much work a shutdown cut off, by kind: `{ requests: 2, jobs: 1 }`. Empty if everything was finished. */
export type CutOff = Readonly<Record<string, number>>;

/** The dependencies of a {@link Shutdown}. */
export interface ShutdownDependencies {
  readonly servers: ReadonlySet<ApplicationServer>;
  readonly providers: Providers;
  /** Called once the servers are closed, after which no more requests may be handled. */
  readonly closed: () => void;
}

/** Options of a shutdown. */
export interface ShutdownOptions {
  /** Whether to continue serving for `drainSeconds` first, if the application listens. */
  readonly drains: boolean;
  /** How long it may take, in seconds, if less than `shutdownTimeoutSeconds`. */
  readonly withinSeconds?: number;
}

/** The shares of the time by which pending requests, and then background jobs, must end. The rest is for the providers. */
const REQUESTS_SHARE = 0.8;
const JOBS_SHARE = 0.9;

/**
 * Shuts an application down: drains it, then finishes pending work until one deadline, and reports the work that was cut off.
 */
export class Shutdown {
  readonly #application: Application;
  readonly #dependencies: ShutdownDependencies;
  #ended: Promise<CutOff> | null = null;
  #drainingSince: number | null = null;
  #isLeaving = false;

  constructor(application: Application, dependencies: ShutdownDependencies) {
    this.#application = application;
    this.#dependencies = dependencies;
  }

  /** Whether the application has begun to drain. */
  get isDraining(): boolean {
    return this.#drainingSince !== null;
  }

  /** Whether the address is about to stop responding, so that load balancers should no longer send requests to it. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /**
   * Closes each connection after its next response, while requests are still served. A proxy then drops the connections that
   * it keeps open, instead of sending a request on a connection that is being closed.
   *
   * @param isReplaced whether another process continues serving the same address
   */
  drain(isReplaced = false): void {
    this.#isLeaving ||= !isReplaced;
    if (this.#drainingSince !== null) return;
    this.#drainingSince = performance.now();
    for (const server of this.#dependencies.servers) server.drain();
  }

  /** Ends the application, once. It never rejects; failures are logged. */
  run(options: ShutdownOptions): Promise<CutOff> {
    this.#ended ??= runFor(this.#application, async () => {
      const cutOff = await this.#end(options);
      endApplication(this.#application);
      return cutOff;
    });
    return this.#ended;
  }

  async #end({ drains, withinSeconds = Number.POSITIVE_INFINITY }: ShutdownOptions): Promise<CutOff> {
    const { background, dailyPrune, logger, serving, settings } = this.#application;
    const { servers, providers, closed } = this.#dependencies;
    const hasServed = servers.size > 0;
    this.drain(this.isDraining && !this.#isLeaving);
    if (drains && hasServed) await this.#drained();
    const seconds = Math.min(settings.server.shutdownTimeoutSeconds, withinSeconds);
    const endsAt = performance.now() + seconds * 1000;
    const left = (share = 1): number => Math.max(0, (endsAt - performance.now()) / 1000 - seconds * (1 - share));
    const pruned = dailyPrune.stop();
    const cut: Record<string, number> = { requests: 0, connections: 0 };
    for (const { requests, connections, isQuiet } of await Promise.all(
      [...servers].map((one) => one.end(left(REQUESTS_SHARE))),
    )) {
      cut.requests! += requests;
      cut.connections! += connections;
      if (!isQuiet) logger.warn(STILL_COMING);
    }
    closed();
    await within(left(JOBS_SHARE), background.settled()).catch(() => {
      cut.jobs = background.pending;
    });
    await within(left(JOBS_SHARE), pruned).catch((error: unknown) => {
      logger.error({ err: error }, "Expired data was not deleted in time.");
    });
    Object.assign(cut, await providers.shutdown(() => left()));
    await serving.bodies.close();
    const cutOff = Object.fromEntries(Object.entries(cut).filter(([, count]) => count > 0));
    if (Object.keys(cutOff).length > 0) logger.error({ cutOff }, sentenceOf(cutOff, seconds));
    return cutOff;
  }

  async #drained(): Promise<void> {
    const waited = performance.now() - this.#drainingSince!;
    const rest = this.#application.settings.server.drainSeconds * 1000 - waited;
    if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
  }
}

function sentenceOf(cutOff: CutOff, seconds: number): string {
  const parts = Object.entries(cutOff).map(([kind, count]) => counted(count, kind.replace(/s$/, "")));
  return `The shutdown could not finish everything in ${counted(seconds, "second")}. It cut off: ${parts.join(", ")}.`;
}
