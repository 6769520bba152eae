import type { IncomingMessage, ServerResponse } from "node:http";
import { resolve } from "node:path";
import {
  addContextProperty,
  type ContextPropertyOptions,
  CorsMiddleware,
  createContextClass,
  declareHttpMessages,
  FastResponse,
  HeldBodies,
  type HttpContext,
  isAddress,
  NO_ORIGIN_HEADERS,
  type OriginHeaders,
  originHeaders,
  originTable,
  preflightOf,
  setPeerAddress,
  withoutBase,
} from "../../http/index.ts";
import {
  Background,
  beginApplication,
  busyPages,
  Container,
  type Dispatcher,
  declareErrorMessages,
  ErrorHandler,
  type ErrorListener,
  type ErrorPageRenderer,
  type ErrorTemplates,
  endApplication,
  entryOf,
  type FetchFunction,
  fetchTraced,
  type HttpKernel,
  LoggablePaths,
  type Logger,
  MiddlewareInstances,
  Mounts,
  RequestedOrigins,
  refusal,
  runApart,
  runFor,
  servedExchange,
  throughProxies,
} from "../../kernel/index.ts";
import { Catalogue, type LanguageFile } from "../../messages/index.ts";
import { declareRoutingMessages, ownCompilers, Router } from "../../routing/index.ts";
import { declarePasswordMessages, KeyPurpose, Signer } from "../../security/index.ts";
import {
  AddressWarnings,
  type HostListener,
  type HostRequest,
  hasPossibleHost,
  hostListener,
  isKnownCoding,
  type RequestHandler,
  type RunningServer,
  type SheddingFacts,
  sheddingFacts,
} from "../../server/index.ts";
import { AshlarError, type EnvironmentVariables, type MaybePromise, type SetupProblems } from "../../support/index.ts";
import type { Configuration } from "../environment/configuration.ts";
import { isDeveloperHost, showsErrorDetails } from "../environment/developer-host.ts";
import type { CompleteApplicationSettings } from "../environment/settings.ts";
import { warnOfUnsafeEnvironment } from "../environment/unsafe-environment.ts";
import { type ApplicationStats, StatsCollector, type StatsName } from "./application-stats.ts";
import type { ApplicationDependencies, BootOptions } from "./create-application.ts";
import { createDispatcher } from "./create-dispatcher.ts";
import { DailyPrune } from "./daily-prune.ts";
import { Hosting } from "./hosting.ts";
import type { InstalledFeature } from "./installed-features.ts";
import { Listening, type ListenOptions } from "./listening.ts";
import { Providers } from "./providers.ts";
import { type CutOff, Shutdown, type ShutdownOptions } from "./shutdown.ts";
import { warnOfUnreadableResponses } from "./unreadable-responses.ts";

declare module "../../kernel/container.ts" {
  interface FrameworkServices {
    application: Application;
    config: Configuration;
    /** The sentences that visitors read. Providers declare theirs when they register. */
    messages: Catalogue;
  }
}

const SIGNED_URL = new KeyPurpose("signed-url");

/** The operations that the framework's features add to {@link Application}. */
// biome-ignore lint/suspicious/noEmptyInterface: it is empty so that features can augment it.
export interface FrameworkApplication {}

export interface Application extends FrameworkApplication {}

/** An application: its services, its routes, and `fetch`, which responds to requests. Created by `createApplication`. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: features define what the interface declares on the prototype.
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
  /** @internal The bodies that are held while their requests are handled. */
  readonly bodies: HeldBodies;
  /** @internal Jobs that run after a response. A shutdown waits for them. */
  readonly background: Background;
  /** @internal The daily pruning of a server. Tests control their data themselves, so there it is off. */
  readonly dailyPrune: DailyPrune;
  readonly #stats: StatsCollector = new StatsCollector();
  readonly #languageFiles: readonly LanguageFile[];
  readonly #context = createContextClass();
  readonly #errors: ErrorHandler;
  readonly #mounts: Mounts = new Mounts(() => this.router);
  readonly #paths: LoggablePaths = new LoggablePaths(() => this.router, this.#mounts);
  readonly #providers: Providers = new Providers(this);
  /** Only if limits matter: tests and development have one client. */
  readonly #warnings: AddressWarnings | null;
  readonly #hosting: Hosting;
  readonly #listening: Listening;
  /** `null` if visitors use one host. */
  readonly #requestedOrigins: RequestedOrigins | null;
  readonly #shutdown: Shutdown;
  readonly #isInspected: boolean;
  /** What the boot has found to be wrong. */
  #problems: SetupProblems | null = null;
  #errorTemplates: ErrorTemplates | null = null;
  #listener: HostListener | null = null;
  #kernel: HttpKernel | null = null;
  #router: Router | null = null;
  #dispatcher: Dispatcher | null = null;
  #stopped: Promise<CutOff> | null = null;
  #origins: OriginHeaders = NO_ORIGIN_HEADERS;

  /** @internal Use `createApplication`. */
  constructor(dependencies: ApplicationDependencies) {
    this.root = dependencies.root;
    this.config = dependencies.config;
    this.settings = dependencies.settings;
    this.variables = dependencies.variables;
    this.logger = dependencies.logger;
    this.#isInspected = dependencies.isInspected;
    const { language, languages, limits, uploadFolder } = dependencies.settings;
    this.bodies = new HeldBodies(limits, uploadFolder === null ? null : resolve(dependencies.root, uploadFolder));
    this.#languageFiles = dependencies.languageFiles;
    this.messages = new Catalogue(language, [...languages, ...dependencies.languageFiles.map((file) => file.language)]);
    declareHttpMessages(this.messages);
    declareRoutingMessages(this.messages);
    declarePasswordMessages(this.messages);
    this.background = new Background(dependencies.logger);
    const { clientAddress, environment, hosts, trustedProxies, url } = dependencies.settings;
    this.#requestedOrigins = hosts === null ? null : new RequestedOrigins(hosts, () => this.#ownOrigin);
    this.dailyPrune = new DailyPrune({ prune: (signal) => this.prune(signal), logger: dependencies.logger });
    this.dailyPrune.isOff = environment === "test";
    this.#warnings =
      environment === "production"
        ? new AddressWarnings(trustedProxies, dependencies.logger, clientAddress === "unknown")
        : null;
    this.#hosting = new Hosting({
      application: this,
      dispatcher: () => this.#dispatcher,
      refusal: (request) => this.#refusal(request),
      warnings: this.#warnings,
    });
    this.#errors = new ErrorHandler(
      dependencies.logger,
      (raw) => showsErrorDetails(raw, environment, url),
      this.#paths,
      this.#stats.errors,
    );
    this.#listening = new Listening({
      application: this,
      handler: this.#handler,
      origins: () => this.#origins,
      providers: this.#providers,
      stats: this.#stats,
    });
    this.#shutdown = new Shutdown({
      servers: this.#listening.servers,
      background: this.background,
      bodies: this.bodies,
      dailyPrune: this.dailyPrune,
      providers: this.#providers,
      logger: dependencies.logger,
      settings: dependencies.settings.server,
      closed: () => {
        this.#dispatcher = null;
        this.#stats.eventLoop.stop();
        this.#listening.closed();
        this.#errors.stop();
      },
    });
    this.container
      .bind("application", this)
      .bind("config", dependencies.config)
      .bind("logger", dependencies.logger)
      .bind("messages", this.messages)
      .singleton("router", () => this.router);
  }

  /** @internal The installed features, in the order of their providers. Those of the framework read here what others declare. */
  get features(): readonly InstalledFeature[] {
    return this.#providers.features;
  }

  /**
   * @internal Whether nothing is connected to, created or served: a command only looks at the application, or something is
   * wrong with it, and the boot only goes on to find what else is.
   */
  get isInspected(): boolean {
    return this.#isInspected || this.#problems?.any === true;
  }

  /** The environment that the application runs in: `production`, `development` or `test`. */
  get environment(): "production" | "development" | "test" {
    return this.settings.environment;
  }

  /**
   * What links that leave the application begin with, above all in mails: `APP_URL`, without which production does not boot.
   * In development and in tests, if it is not set, it is the address where the application listens, or
   * `http://localhost:<PORT>` until it does.
   *
   * During a request for a host of `APP.hosts`, and in the work that it leaves behind, it is that host's origin.
   *
   * Security: never any other host of a request, because the client chooses that. A link that hands over access to an account
   * must not begin with it where tenants bring their own domains; mails about accounts lead to `APP_URL` then.
   */
  get url(): string {
    return this.origin + this.settings.basePath;
  }

  /** @internal The origin of {@link url}. */
  get origin(): string {
    return this.#requestedOrigins?.current ?? this.#ownOrigin;
  }

  get #ownOrigin(): string {
    const { url, server } = this.settings;
    if (url !== null) return url;
    return new URL(this.#listening.url ?? `http://localhost:${server.port || 3000}`).origin;
  }

  /**
   * Whether the application is about to shut down: it still serves requests, but each connection closes after its next
   * response, and `/ready` responds with 503. A response that never ends on its own, such as a stream of events, should
   * end now.
   */
  get isDraining(): boolean {
    return this.#shutdown.isDraining;
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
   * A platform request does not contain its client's address, which limits need: in production, they refuse a request
   * without one with 500, and log `E_UNKNOWN_CLIENT`, unless `APP.clientAddress` is `"unknown"`. A host other than the
   * application's own server, or srvx, passes the address:
   *
   * ```ts
   * Bun.serve({ fetch: (request, server) => application.fetch(request, { address: server.requestIP(request)?.address }) });
   * Deno.serve((request, { remoteAddr }) => application.fetch(request, { address: remoteAddr.hostname }));
   * hono.all("*", (c) => application.fetch(c.req.raw, { address: getConnInfo(c).remote.address }));
   * ```
   *
   * It is the address of the socket. Behind a proxy listed in `APP.trustedProxies`, the client's address is then the
   * address that the proxy reports. Mounted applications get the address too, if they use this framework.
   */
  readonly fetch: (
    request: Request,
    options?: { readonly address?: string | undefined },
  ) => Response | Promise<Response> = (request, options) => {
    const dispatcher = this.#dispatcher;
    if (dispatcher === null) return this.#refusal(request);
    const given = options?.address;
    if (isAddress(given)) setPeerAddress(request, given);
    this.#warnings?.look(request);
    if (servedExchange(request) !== undefined) return runApart(this, dispatch, dispatcher, request);
    if (!hasPossibleHost(request)) return new FastResponse(null, { status: 400 });
    if (!isKnownCoding(request.headers.get("transfer-encoding"))) return new FastResponse(null, { status: 501 });
    const { trustedProxies } = this.settings;
    const forwarded = trustedProxies.isEmpty ? request : throughProxies(request, trustedProxies);
    return runApart(this, fetchTraced, () => dispatcher.dispatch(forwarded));
  };

  /**
   * Responds to a request of a `node:http` server that belongs to another framework. It is bound to the application:
   *
   * ```ts
   * express.use(application.handler);
   * ```
   *
   * It responds to every request, with a 404 if need be, so it comes after the routes of the other framework, and before
   * anything that reads bodies, such as `express.json()`. Address, host and header fields are taken from the socket,
   * whatever the other framework has made of them.
   */
  get handler(): (message: IncomingMessage, response: ServerResponse) => void {
    this.#listener ??= hostListener(this.#handler, this.settings.trustedProxies, this.logger);
    return this.#listener;
  }

  /**
   * Responds to an error in a handler of another framework, as it would to an error in its own handlers: with a page or
   * a problem document, in the caller's language, and with the headers of the error.
   *
   * ```ts
   * hono.onError((error, c) => application.errorResponse(c.req.raw, error));
   * ```
   *
   * It never rejects. Errors with a status of 500 and above are logged.
   *
   * @param request the request; its body is not touched
   * @param error whatever was thrown
   * @param options.address the address of the socket, as for {@link fetch}
   */
  errorResponse(
    request: HostRequest,
    error: unknown,
    options: { readonly address?: string | undefined } = {},
  ): Promise<Response> {
    return this.#hosting.errorResponse(request, options.address, error);
  }

  /**
   * @internal Runs work for a request that another framework responds to: with a context, for this application, and inside
   * the middleware of every request.
   *
   * @param request the request; its body is not touched
   * @param address the address of the socket, if the request doesn't know it
   * @returns the work's result
   * @throws `E_SHUTTING_DOWN` unless the application runs; `E_BAD_REQUEST` if host or target are malformed; `E_ANSWERED` if a
   * middleware responds; what middleware and work throw
   */
  host<T>(
    request: HostRequest,
    address: string | undefined,
    work: (context: HttpContext) => MaybePromise<T>,
  ): Promise<T> {
    return this.#hosting.run(request, address, work);
  }

  readonly #handler: RequestHandler = {
    fetch: this.fetch,
    application: this,
    rescue: (request, error) => {
      const dispatcher = this.#dispatcher;
      return dispatcher === null ? this.#refusal(request) : runApart(this, () => dispatcher.rescue(request, error));
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
   * @param options with `isKept: false`, each access asks `make`
   * @throws `E_INVALID_CONFIGURATION` if a property of this name exists
   */
  contextProperty<K extends keyof HttpContext & string>(
    name: K,
    make: (context: HttpContext) => HttpContext[K],
    options: ContextPropertyOptions = {},
  ): void {
    addContextProperty(this.#context, name, make, options);
  }

  /** Adds a listener that sees each error before the response; the first that returns something provides the response. */
  onError(listener: ErrorListener): void {
    this.#errors.listen(listener);
  }

  /**
   * @internal Creates a context outside of a request, for work that continues one of another process.
   *
   * @throws `E_SHUTTING_DOWN` unless the application has booted, and runs
   */
  contextFor(raw: Request): HttpContext {
    if (this.#dispatcher === null) throw new AshlarError("E_SHUTTING_DOWN");
    return this.#dispatcher.contextFor(raw);
  }

  /** @internal Runs work that continues a request, for which {@link url} was `origin`. */
  underOrigin<T>(origin: string | null, work: () => T): T {
    return this.#requestedOrigins === null ? work() : this.#requestedOrigins.run(origin, work);
  }

  /**
   * @internal Runs work whose links hand over access to an account: under the origin that holds now if that is of the site of
   * `APP_URL`, else under that of `APP_URL`.
   */
  underSiteOrigin<T>(work: () => T): T {
    const origins = this.#requestedOrigins;
    return origins === null || origins.current === null ? work() : origins.run(origins.currentOfSite, work);
  }

  /** @internal The origin of the host of `APP.hosts` that the running code works for; `null` for that of `APP_URL`. */
  get requestedOrigin(): string | null {
    return this.#requestedOrigins?.current ?? null;
  }

  /** @internal Whether any list of the kernel has a middleware class, or one that extends it. */
  usesMiddleware(middleware: object): boolean {
    return this.#kernel !== null && entryOf(this.#kernel, middleware) !== undefined;
  }

  /** @internal What another process needs to refuse requests in place of this one. */
  get shedding(): SheddingFacts {
    const { server, basePath, trustedOrigins } = this.settings;
    return sheddingFacts(server, basePath, originTable(this.#origins, trustedOrigins), busyPages(this.messages));
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
   * What the application is doing: requests by route, status and duration, the event loop, hashing, the process, and what
   * features add, such as `database`, `events` and `mail`. Reading it costs microseconds; there is no need to keep it.
   */
  stats(): ApplicationStats {
    return this.#stats.read(this.background, this.dailyPrune.succeededAt);
  }

  /**
   * Adds numbers to {@link Application.stats}. Declare their type too:
   *
   * ```ts
   * declare module "ashlar" { interface ApplicationStats { readonly carts?: { readonly open: number } } }
   *
   * application.addStats("carts", () => ({ open: 3 }));
   * ```
   *
   * @param read called whenever someone asks for the numbers, so it should only read them
   * @throws `E_INVALID_CONFIGURATION` if the name is taken
   */
  addStats<Name extends StatsName>(name: Name, read: () => NonNullable<ApplicationStats[Name]>): void {
    this.#stats.add(name, read);
  }

  /**
   * Serves the application over HTTP, and logs where it listens, except in tests.
   *
   * @throws `E_INVALID_CONFIGURATION`, with advice, if it cannot listen there; `E_COMMAND` if a command, such as
   * `ashlar routes`, only looks at the application
   */
  listen(options: ListenOptions = {}): Promise<RunningServer> {
    return this.#listening.start(options);
  }

  /** A path that begins with the base path is taken as complete, wherever one without it may stand. */
  #warnOfAmbiguousPaths({ routes }: Router): void {
    const { basePath } = this.settings;
    const route = basePath === "" ? undefined : routes.find(({ pattern }) => withoutBase(basePath, pattern) !== null);
    if (route === undefined) return;
    this.logger.warn(
      `The route ${route.pattern} (${route.location}) begins with ${basePath}, as the path of APP_URL does. Use its name in ` +
        `redirects and links: the path ${basePath}/x means /x of the application there, and not ${basePath}${basePath}/x.`,
    );
  }

  #refusal(request: Request): Response {
    const asked = preflightOf(request);
    const preflight = this.#origins.ofPreflight(asked);
    if (preflight !== null) return new FastResponse(null, { status: 204, headers: preflight });
    this.#stats.errors.count({ code: "E_SHUTTING_DOWN" });
    return refusal(this.messages, request.headers.get("accept-language"), this.#origins.of(asked.origin));
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
   * Shuts the application down: accepts the connections that are already waiting and no more, lets pending requests finish,
   * waits for background jobs, and shuts down the providers, the last one first. All of that takes at most
   * `APP.server.shutdownTimeoutSeconds`; what is cut off is counted in the log. It never rejects; failures are logged.
   *
   * A process that is told to end by a signal drains before that; see `APP.server.drainSeconds`.
   */
  async shutdown(): Promise<void> {
    await this.stop({ drains: false });
  }

  /**
   * @internal Shuts the application down, and returns what was cut off.
   *
   * @param options see {@link ShutdownOptions}
   */
  stop(options: ShutdownOptions): Promise<CutOff> {
    this.#stopped ??= runFor(this, async () => {
      const cutOff = await this.#shutdown.run(options);
      endApplication(this);
      return cutOff;
    });
    return this.#stopped;
  }

  /** @internal Begins to drain; see {@link Shutdown.drain}. */
  drain(isReplaced: boolean): void {
    this.#shutdown.drain(isReplaced);
  }

  /** @internal Boots the application: bindings, then routes, then what uses both, then the pipelines. */
  async boot(options: BootOptions): Promise<void> {
    beginApplication(this);
    await runFor(this, () => this.#boot(options));
  }

  async #boot(options: BootOptions): Promise<void> {
    const { container, settings } = this;
    const { problems } = options;
    this.#problems = problems;
    warnOfUnsafeEnvironment(settings, this.variables, this.logger);
    const kernel = options.kernel(container);
    this.#kernel = kernel;
    warnOfUnreadableResponses(this);
    container.boundBy(kernel.constructor.name);
    kernel.registerRoutes();
    await this.#providers.register(options.providers, problems);
    declareErrorMessages(this.messages);
    await problems.run(() => this.messages.load(this.#languageFiles));
    this.#router = (await problems.run(() => this.#createRouter(options), "The router")) ?? null;
    await this.#providers.boot(problems);
    // What comes now looks at routes, and at what providers have done. Without them, it would report their absence.
    if (this.#router === null || problems.hasFailed) throw problems.error;
    this.#warnOfAmbiguousPaths(this.#router);
    await this.#providers.ready(problems);
    await problems.run(() => this.#createDispatcher(options, kernel, this.#router!));
    problems.end();
  }

  async #createRouter({ loadRoutes }: BootOptions): Promise<Router> {
    const { container, settings } = this;
    return new Router(await loadRoutes(container), {
      signer: new Signer(settings.key, SIGNED_URL, { previousSecrets: settings.previousKeys }),
      appUrl: () => this.origin,
      basePath: settings.basePath,
      compilers: await ownCompilers(container.has("routes.compilers") ? container.make("routes.compilers") : {}),
    });
  }

  #createDispatcher({ problems, publicFolder }: BootOptions, kernel: HttpKernel, router: Router): void {
    const { container, settings } = this;
    const instances = new MiddlewareInstances(container);
    const corsEntry = entryOf(kernel, CorsMiddleware);
    const cors = corsEntry === undefined ? null : (instances.of(corsEntry) as CorsMiddleware);
    this.#origins = originHeaders(cors, settings.trustedOrigins);
    for (const warning of problems.try(() => this.config.checkNames()) ?? []) this.logger.warn(warning);
    this.#dispatcher = createDispatcher(this, {
      kernel,
      instances,
      cors,
      origins: this.#origins,
      router,
      context: this.#context,
      errors: this.#errors,
      errorTemplates: this.#errorTemplates,
      mounts: this.#mounts,
      paths: this.#paths,
      publicFolder,
      checks: this.#providers.checks,
      isLeaving: () => this.#shutdown.isLeaving,
      requestStats: this.#stats.requests,
      requestedOrigins: this.#requestedOrigins,
    });
  }
}

function dispatch(dispatcher: Dispatcher, request: Request): MaybePromise<Response> {
  return dispatcher.dispatch(request);
}
