import { UNIX_PEER } from "../../http/index.ts";
import { busyPages } from "../../kernel/index.ts";
import { type ApplicationServer, type ConnectionSource, type RunningServer, startServer } from "../../server/index.ts";
import { AshlarError, ConfigurationError, RUNTIME } from "../../support/index.ts";
import type { StatsCollector } from "../monitoring/application-stats.ts";
import { MemoryRelease } from "../process/memory-release.ts";
import { endWithProcess } from "../process/process-end.ts";
import type { Application } from "./application.ts";
import type { Providers } from "./providers.ts";

/** The warning on other runtimes, which only emulate the Node.js APIs that the server is built on. */
const LISTENING_ELSEWHERE =
  "listen() needs Node.js for its limits on slow clients and on the load of the process, and for several workers: here, " +
  "they may not hold. Pass application.fetch to the runtime's own server, as the guide about other frameworks shows.";

/** Where and how an application listens. */
export interface ListenOptions {
  /** The port; `0` for any free port. Default: the configured port (`PORT`, 3000). */
  readonly port?: number;
  /** The address; default: the configured address (`HOST`), else loopback in development and all addresses otherwise. */
  readonly hostname?: string;
  /**
   * Whether signals and unhandled errors shut the application down; default: `true`. On SIGTERM, SIGINT or SIGHUP, the process
   * then exits with 0, or with 1 if something had to be cut off. An unhandled error, such as an unhandled rejection or an
   * exception in a timer, is logged as `fatal` with its request's id, and the process exits with 1. With `false`, you handle
   * both yourself.
   */
  readonly handleSignals?: boolean;
  /** @internal The process that accepts the connections for this process, and decides when it ends. */
  readonly source?: ConnectionSource;
  /** @internal The descriptor of a socket that another program has opened. */
  readonly fd?: number;
  /** @internal Whether the caller prints the address, so that it isn't logged. */
  readonly isAnnounced?: boolean;
}

/** The application's servers, and everything that starts and ends with them. */
export class Listening {
  readonly #servers = new Set<ApplicationServer>();
  readonly #application: Application;
  readonly #providers: Providers;
  readonly #stats: StatsCollector;
  readonly #signalHandlers: (() => void)[] = [];
  #memory: MemoryRelease | null = null;

  constructor(application: Application, providers: Providers, stats: StatsCollector) {
    this.#application = application;
    this.#providers = providers;
    this.#stats = stats;
  }

  /** The servers that were started. */
  get servers(): ReadonlySet<ApplicationServer> {
    return this.#servers;
  }

  /** See {@link Application.listen}. */
  async start(options: ListenOptions): Promise<RunningServer> {
    const { isInspected, linkOrigin, logger, settings } = this.#application;
    if (isInspected) {
      const remedy = "Replace the call of listen() in app.ts with: export default application;";
      throw new AshlarError("E_COMMAND", `A command that inspects the application must not start it. ${remedy}`);
    }
    if (RUNTIME !== "node") logger.warn(LISTENING_ELSEWHERE);
    const running = await this.#startServer(options);
    this.#servers.add(running);
    if (running.socket !== null) await this.#requireProxy(running, running.socket);
    linkOrigin.listensAt(running.url);
    this.#stats.eventLoop.start();
    if (settings.server.releasesMemory && RUNTIME === "node") {
      this.#memory ??= new MemoryRelease(logger);
      this.#memory.start();
    }
    void this.#application.serving.bodies.folder.removeLeftovers();
    await this.#providers.listening(running.port);
    if (this.#providers.canPrune) this.#application.dailyPrune.start();
    if (!options.isAnnounced) this.#logAddress(running);
    if (options.handleSignals ?? true) this.#endWithProcess(options.source === undefined);
    return running;
  }

  async #startServer(options: ListenOptions): Promise<ApplicationServer> {
    const { environment, logger, messages, serving, settings } = this.#application;
    const { basePath, server, trustedProxies } = settings;
    const { port = server.port, hostname = server.hostname, source = null } = options;
    // A port that a caller chooses overrides the configured socket. A descriptor that this process was given can be used once.
    const isChosen = options.port !== undefined;
    const socket = isChosen ? null : server.socket;
    const fd = options.fd ?? (isChosen || this.#servers.size > 0 ? null : server.fd);
    return await startServer(serving.handler, { ...server, port, hostname, socket, fd }, trustedProxies, logger, {
      isLocal: environment === "development",
      source,
      origins: serving.origins,
      pages: busyPages(messages),
      refused: () => this.#stats.errors.count({ code: "E_OVERLOADED" }),
      basePath,
    });
  }

  /** @param ownsProcess whether no other process accepts the connections and decides when this one ends */
  #endWithProcess(ownsProcess: boolean): void {
    const { logger, settings } = this.#application;
    const { shutdownTimeoutSeconds: timeoutSeconds, drainSeconds } = settings.server;
    const shutdown = async (drains: boolean) => Object.keys(await this.#application.stop({ drains })).length === 0;
    this.#signalHandlers.push(endWithProcess({ logger, timeoutSeconds, drainSeconds, shutdown }, ownsProcess));
  }

  /** Stops handling the process's signals, and releasing its memory. */
  closed(): void {
    this.#memory?.stop();
    for (const forget of this.#signalHandlers) forget();
  }

  /** Behind a unix socket or a pipe, only a proxy knows the clients' addresses. */
  async #requireProxy(running: ApplicationServer, socket: string): Promise<void> {
    const { environment, settings } = this.#application;
    const { trustedProxies, clientAddress } = settings;
    if (environment !== "production" || clientAddress === "unknown" || trustedProxies.trusts(UNIX_PEER)) return;
    this.#servers.delete(running);
    await running.close(0);
    throw new ConfigurationError(
      "APP.trustedProxies or TRUSTED_PROXIES",
      `doesn't name the proxy in front of the socket ${socket}, so the address of every client would be unknown, and no ` +
        "limit by address could work.",
      "Set TRUSTED_PROXIES=unix, and have the proxy set X-Forwarded-For.",
    );
  }

  #logAddress({ url, socket }: RunningServer): void {
    const { environment, logger, settings } = this.#application;
    const line = `${settings.name} is listening on ${socket ?? url}`;
    // Programs that parse the log need the address as a member; people read it in the message.
    if (environment === "production") logger.info(socket === null ? { url } : { socket }, line);
    else if (environment === "development") logger.info(line);
  }
}
