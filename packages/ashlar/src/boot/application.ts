import { declareHttpMessages, type HttpContext, peerAddress, setPeerAddress } from "../http/index.ts";
import {
  addContextProperty,
  asForwarded,
  Background,
  beginApplication,
  Container,
  createContextClass,
  type Dispatcher,
  declareErrorMessages,
  ErrorHandler,
  type ErrorListener,
  type ErrorPageRenderer,
  type ErrorTemplates,
  endApplication,
  type FetchFunction,
  fetchTraced,
  LoggablePaths,
  type Logger,
  Mounts,
  refusal,
  runApart,
  runFor,
  servedExchange,
} from "../kernel/index.ts";
import { Catalogue, type LanguageFile } from "../messages/index.ts";
import { declareRoutingMessages, ownCompilers, Router } from "../routing/index.ts";
import { declarePasswordMessages, KeyPurpose, Signer } from "../security/index.ts";
import { AddressWarnings, type RequestHandler, type RunningServer, startServer } from "../server/index.ts";
import { AshlarError, type EnvironmentVariables, type MaybePromise } from "../support/index.ts";
import type { Configuration } from "./configuration.ts";
import type { ApplicationDependencies, BootOptions } from "./create-application.ts";
import { createDispatcher } from "./create-dispatcher.ts";
import { DailyPrune } from "./daily-prune.ts";
import { isDeveloperHost } from "./developer-host.ts";
import { endWithProcess } from "./process-end.ts";
import { Providers } from "./providers.ts";
import type { CompleteApplicationSettings } from "./settings.ts";
import { warnOfUnsafeEnvironment } from "./unsafe-environment.ts";
import { within } from "./within.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    application: Application;
    config: Configuration;
    /** The sentences that visitors read. Providers declare theirs when they register. */
    messages: Catalogue;
  }
}

const SIGNED_URL = new KeyPurpose("signed-url");

/** Where and how an application listens. */
export interface ListenOptions {
  /** The port; `0` takes any free one. Default: the configured one (`PORT`, 3000). */
  readonly port?: number;
  /** The address; default: the configured one (`HOST`), else loopback in development and all addresses otherwise. */
  readonly hostname?: string;
  /**
   * Whether the application ends with its process, which is the default: SIGTERM, SIGINT and SIGHUP shut it down and exit
   * with 0; an unhandled error (a promise that was not awaited, an exception in a timer) is logged as `fatal` with the id
   * of its request, shuts the application down, and exits with 1. With `false`, both are up to you.
   */
  readonly handleSignals?: boolean;
  /** @internal Whether the caller tells where the application listens, so that the log doesn't. */
  readonly isAnnounced?: boolean;
}

/** An application: its services, its routes, and `fetch`, which responds to requests. Created by `createApplication`. */
export class Application {
  /** The services by key. */
  readonly container: Container = new Container();
  /** The configuration files' exports. */
  readonly config: Configuration;
  /** `APP` of `config/app.ts`, validated and with defaults. */
  readonly settings: CompleteApplicationSettings;
  /** The absolute path of the application's folder; the working directory if it has none. */
  readonly root: string;
  readonly logger: Logger;
  /** The sentences that visitors read, in the languages that the application offers. */
  readonly messages: Catalogue;
  /** @internal What `env()` reads where this application's code runs. */
  readonly variables: EnvironmentVariables;
  /** @internal Jobs that run after a response. A shutdown waits for them. */
  readonly background: Background;
  /** @internal The daily pruning of a server. Tests control their data themselves, so there it is off. */
  readonly dailyPrune: DailyPrune;
  /** @internal Whether a command only looks at the application: nothing is connected to, created or served. */
  readonly isInspected: boolean;
  readonly #languageFiles: readonly LanguageFile[];
  readonly #context = createContextClass();
  readonly #errors: ErrorHandler;
  readonly #mounts: Mounts = new Mounts(() => this.router);
  readonly #paths: LoggablePaths = new LoggablePaths(() => this.router, this.#mounts);
  readonly #providers: Providers = new Providers(this);
  /** Only if limits matter: tests and development have one client. */
  readonly #warnings: AddressWarnings | null;
  readonly #servers = new Set<RunningServer>();
  readonly #signalHandlers: (() => void)[] = [];
  #errorTemplates: ErrorTemplates | null = null;
  #router: Router | null = null;
  #dispatcher: Dispatcher | null = null;
  #stopped: Promise<void> | null = null;

  /** @internal Use `createApplication`. */
  constructor(dependencies: ApplicationDependencies) {
    this.root = dependencies.root;
    this.config = dependencies.config;
    this.settings = dependencies.settings;
    this.variables = dependencies.variables;
    this.logger = dependencies.logger;
    this.isInspected = dependencies.isInspected;
    const { language, languages } = dependencies.settings;
    this.#languageFiles = dependencies.languageFiles;
    this.messages = new Catalogue(language, [...languages, ...dependencies.languageFiles.map((file) => file.language)]);
    declareHttpMessages(this.messages);
    declareRoutingMessages(this.messages);
    declarePasswordMessages(this.messages);
    this.background = new Background(dependencies.logger);
    const { environment, trustedProxies, url } = dependencies.settings;
    this.dailyPrune = new DailyPrune({ prune: (signal) => this.prune(signal), logger: dependencies.logger });
    this.dailyPrune.isOff = environment === "test";
    this.#warnings = environment === "production" ? new AddressWarnings(trustedProxies, dependencies.logger) : null;
    this.#errors = new ErrorHandler(
      dependencies.logger,
      environment === "production" ? () => false : (raw) => isDeveloperHost(raw, url),
      this.#paths,
    );
    this.container
      .bind("application", this)
      .bind("config", dependencies.config)
      .bind("logger", dependencies.logger)
      .bind("messages", this.messages)
      .singleton("router", () => this.router);
  }

  /** The environment that the application runs in: `production`, `development` or `test`. */
  get environment(): "production" | "development" | "test" {
    return this.settings.environment;
  }

  /**
   * The origin of links that leave the application, above all in mails: `APP_URL`, without which production does not boot.
   * In development and in tests, if it is not set, it is the address where the application listens, or
   * `http://localhost:<PORT>` until it does.
   *
   * Security: never the host of a request, because the client chooses that: a reset link to another host hands over the
   * account.
   */
  get url(): string {
    const { url, server } = this.settings;
    if (url !== null) return url;
    const [running] = this.#servers;
    return new URL(running?.url ?? `http://localhost:${server.port || 3000}`).origin;
  }

  /**
   * The compiled routes. They are available when providers boot, but not yet when they register.
   *
   * @throws `E_UNKNOWN_SERVICE` before that
   */
  get router(): Router {
    if (this.#router !== null) return this.#router;
    throw new AshlarError(
      "E_UNKNOWN_SERVICE",
      "The router is not available yet: use it in a provider's boot(), not in register().",
    );
  }

  /**
   * Responds to a Fetch API request. It is bound to the application, so you can export it:
   * `export const { fetch } = application`.
   *
   * A platform request does not contain its client's address, which limits need. A host other than the application's own
   * server, or srvx, passes the address:
   *
   * ```ts
   * Bun.serve({ fetch: (request, server) => application.fetch(request, { address: server.requestIP(request)?.address }) });
   * Deno.serve((request, { remoteAddr }) => application.fetch(request, { address: remoteAddr.hostname }));
   * hono.all("*", (c) => application.fetch(c.req.raw, { address: getConnInfo(c).remote.address }));
   * ```
   *
   * It is the address of the socket. Behind a proxy listed in `APP.trustedProxies`, the client's address is then the one
   * that the proxy reports. Mounted applications get the address too, if they use this framework.
   */
  readonly fetch: (
    request: Request,
    options?: { readonly address?: string | undefined },
  ) => Response | Promise<Response> = (request, options) => {
    const dispatcher = this.#dispatcher;
    if (dispatcher === null) return refusal();
    const { trustedProxies } = this.settings;
    const given = options?.address;
    // Hosts pass objects of their own here.
    if (typeof given === "string" && given !== "") setPeerAddress(request, given);
    this.#warnings?.look(request);
    if (servedExchange(request) !== undefined) return runApart(this, dispatch, dispatcher, request);
    if (trustedProxies.isEmpty) return runApart(this, fetchTraced, () => dispatcher.dispatch(request));
    const peer = peerAddress(request);
    const forwarded = asForwarded(request, peer, trustedProxies);
    if (forwarded !== request && peer !== null) setPeerAddress(forwarded, peer);
    return runApart(this, fetchTraced, () => dispatcher.dispatch(forwarded));
  };

  readonly #handler: RequestHandler = {
    fetch: this.fetch,
    application: this,
    rescue: (request, error) => {
      const dispatcher = this.#dispatcher;
      return dispatcher === null ? refusal() : runApart(this, () => dispatcher.rescue(request, error));
    },
  };

  /**
   * Passes every request under a prefix to another fetch-based application, which sees the path without the prefix:
   * mounted at `/trpc`, it sees `/trpc/posts` as `/posts`. The HTTP middleware runs; routes are not considered.
   *
   * @param prefix such as `/trpc`
   * @throws `E_INVALID_ROUTE` if the prefix is malformed, in use, or would hide a route
   */
  mount(prefix: string, fetch: FetchFunction): void {
    this.#mounts.add(prefix, fetch);
  }

  /**
   * Mounts a development tool: like {@link Application.mount}, but in development only, and only for requests to a
   * loopback host or the host of `APP_URL`. For any other request, it does not exist.
   *
   * @param prefix such as `/dev/mailbox`
   * @throws `E_INVALID_ROUTE` if the prefix is malformed, in use, or would hide a route
   */
  mountDevelopmentTool(prefix: string, fetch: FetchFunction): void {
    const { environment, url } = this.settings;
    if (environment === "development") this.#mounts.add(prefix, fetch, (raw) => isDeveloperHost(raw, url));
  }

  /**
   * Adds a property to every context of this application. Its value is created on first access, once for each context.
   * Declare its type too:
   *
   * ```ts
   * declare module "ashlar" { interface HttpContext { readonly cart: Cart } }
   *
   * application.contextProperty("cart", (context) => new Cart(context));
   * ```
   *
   * @throws `E_INVALID_CONFIGURATION` if a property of this name exists
   */
  contextProperty<K extends keyof HttpContext & string>(name: K, make: (context: HttpContext) => HttpContext[K]): void {
    addContextProperty(this.#context, name, make);
  }

  /** Adds a listener that sees each error before the response; the first that returns something provides the response. */
  onError(listener: ErrorListener): void {
    this.#errors.listen(listener);
  }

  /** @internal Uses pages of the site for errors, unless {@link errorPage} sets another page. */
  useErrorTemplates(templates: ErrorTemplates): void {
    this.#errorTemplates = templates;
  }

  /** Sets the page for errors of a status. A caller that wants JSON still gets the problem document. */
  errorPage(status: number, render: ErrorPageRenderer): void {
    this.#errors.page(status, render);
  }

  /**
   * Serves the application over HTTP, and logs where it listens, except in tests.
   *
   * @throws `E_INVALID_CONFIGURATION` if it cannot listen there, with what to do about it; `E_COMMAND` if a command, such as
   * `ashlar routes`, only looks at the application
   */
  async listen(options: ListenOptions = {}): Promise<RunningServer> {
    if (this.isInspected) {
      const remedy = "Replace the call of listen() in app.ts with: export default application;";
      throw new AshlarError("E_COMMAND", `A command that looks at the application must not start it. ${remedy}`);
    }
    const { server, trustedProxies } = this.settings;
    const { port = server.port, hostname = server.hostname } = options;
    const isLocal = this.environment === "development";
    const settings = { ...server, port, hostname };
    const running = await startServer(this.#handler, settings, trustedProxies, this.logger, isLocal);
    this.#servers.add(running);
    await this.#providers.listening();
    if (this.#providers.canPrune) this.dailyPrune.start();
    if (!options.isAnnounced) this.#logAddress(running);
    if (options.handleSignals ?? true) {
      const { shutdownTimeoutSeconds: timeoutSeconds } = server;
      const forget = endWithProcess({ logger: this.logger, timeoutSeconds, shutdown: () => this.shutdown() });
      this.#signalHandlers.push(forget);
    }
    return running;
  }

  #logAddress({ url }: RunningServer): void {
    const line = `${this.settings.name} is listening on ${url}`;
    // Log readers expect the address as a member; for people, the line has it already.
    if (this.environment === "production") this.logger.info({ url }, line);
    else if (this.environment === "development") this.logger.info(line);
  }

  /**
   * Makes every provider delete what has expired. `ashlar prune` calls it, and the server once a day.
   *
   * @param signal stops it halfway
   * @returns how many rows were deleted, by kind
   * @throws what a provider throws, once the others are done
   */
  prune(signal?: AbortSignal): Promise<Record<string, number>> {
    return this.#providers.prune(signal);
  }

  /**
   * Shuts the application down: accepts the connections that are already waiting and no more, lets pending requests finish
   * (for at most `shutdownTimeoutSeconds`; those that are cut off are logged), waits for their background jobs, then shuts
   * down the providers, the last one first. It never rejects; failures are logged.
   */
  shutdown(): Promise<void> {
    this.#stopped ??= runFor(this, () => this.#stop());
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const seconds = this.settings.server.shutdownTimeoutSeconds;
    const pruned = this.dailyPrune.stop();
    await Promise.all([...this.#servers].map((server) => server.close(seconds)));
    this.#dispatcher = null;
    for (const forget of this.#signalHandlers) forget();
    await within(seconds, this.background.settled()).catch((error: unknown) => {
      this.logger.error({ err: error, jobs: this.background.pending }, "Background jobs were not finished.");
    });
    await within(seconds, pruned).catch((error: unknown) => {
      this.logger.error({ err: error }, "Expired data was not deleted in time.");
    });
    await this.#providers.shutdown(seconds);
    endApplication(this);
  }

  /** @internal Boots the application: bindings, then routes, then what uses both, then the pipelines. */
  async boot(options: BootOptions): Promise<void> {
    beginApplication(this);
    await runFor(this, () => this.#boot(options));
  }

  async #boot(options: BootOptions): Promise<void> {
    const { container, settings } = this;
    warnOfUnsafeEnvironment(settings, this.variables, this.logger);
    const kernel = options.kernel(container);
    container.boundBy(kernel.constructor.name);
    kernel.registerRoutes();
    await this.#providers.register(options.providers);
    declareErrorMessages(this.messages);
    await this.messages.load(this.#languageFiles);
    this.#router = new Router(await options.loadRoutes(container), {
      signer: new Signer(settings.key, SIGNED_URL, { previousSecrets: settings.previousKeys }),
      appUrl: () => this.url,
      compilers: await ownCompilers(container.has("routes.compilers") ? container.make("routes.compilers") : {}),
    });
    await this.#providers.boot();
    for (const warning of this.config.checkNames()) this.logger.warn(warning);
    this.#dispatcher = createDispatcher(this, {
      kernel,
      router: this.#router,
      context: this.#context,
      errors: this.#errors,
      errorTemplates: this.#errorTemplates,
      mounts: this.#mounts,
      paths: this.#paths,
      publicFolder: options.publicFolder,
    });
  }
}

function dispatch(dispatcher: Dispatcher, request: Request): MaybePromise<Response> {
  return dispatcher.dispatch(request);
}
