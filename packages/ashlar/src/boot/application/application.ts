import type { IncomingMessage, ServerResponse } from "node:http";
import { addContextProperty, type ContextPropertyOptions, type HttpContext } from "../../http/index.ts";
import {
  Background,
  Container,
  type ErrorListener,
  type ErrorPageRenderer,
  type FetchFunction,
  type Logger,
} from "../../kernel/index.ts";
import type { Catalogue } from "../../messages/index.ts";
import type { Router } from "../../routing/index.ts";
import { type HostListener, type HostRequest, hostListener, type RunningServer } from "../../server/index.ts";
import type { EnvironmentVariables } from "../../support/index.ts";
import type { CompleteApplicationSettings } from "../environment/application-settings.ts";
import type { Configuration } from "../environment/configuration.ts";
import { isDeveloperHost } from "../environment/developer-host.ts";
import { type ApplicationStats, StatsCollector, type StatsName } from "../monitoring/application-stats.ts";
import type { ApplicationDependencies, BootOptions } from "./create-application.ts";
import { DailyPrune } from "./daily-prune.ts";
import { Hosting } from "./hosting.ts";
import type { InstalledFeature } from "./installed-features.ts";
import { LinkOrigin } from "./link-origin.ts";
import { Listening, type ListenOptions } from "./listening.ts";
import { Providers } from "./providers.ts";
import { Serving } from "./serving.ts";
import { type CutOff, Shutdown, type ShutdownOptions } from "./shutdown.ts";
import { Startup } from "./startup.ts";

declare module "../../kernel/container.ts" {
  interface FrameworkServices {
    application: Application;
    config: Configuration;
    /** The sentences that visitors read. Providers declare theirs when they register. */
    messages: Catalogue;
  }
}

/** Members that the framework's features add to {@link Application}. */
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
  /** The sentences that visitors read, in the application's languages. */
  readonly messages: Catalogue;
  /** @internal The variables that `env()` reads in this application's code. */
  readonly variables: EnvironmentVariables;
  /** @internal Jobs that run after a response. A shutdown waits for them. */
  readonly background: Background;
  /** @internal The server's daily pruning. It is off in tests, which control their data themselves. */
  readonly dailyPrune: DailyPrune;
  /** @internal The origin that links begin with. */
  readonly linkOrigin: LinkOrigin;
  /** @internal How requests are responded to. */
  readonly serving: Serving;
  /** @internal Support for another framework's handlers. */
  readonly hosting: Hosting;
  readonly #stats: StatsCollector = new StatsCollector();
  readonly #providers: Providers = new Providers(this);
  readonly #startup: Startup;
  readonly #listening: Listening;
  readonly #shutdown: Shutdown;
  #listener: HostListener | null = null;

  /** @internal Use `createApplication`. */
  constructor({ languageFiles, isInspected, ...dependencies }: ApplicationDependencies) {
    const { config, logger, messages, root, settings, variables } = dependencies;
    this.root = root;
    this.config = config;
    this.settings = settings;
    this.variables = variables;
    this.logger = logger;
    this.messages = messages;
    this.background = new Background(logger);
    this.dailyPrune = new DailyPrune({ prune: (signal) => this.prune(signal), logger });
    this.dailyPrune.isOff = settings.environment === "test";
    this.linkOrigin = new LinkOrigin(settings);
    this.serving = new Serving(this, this.#stats);
    this.fetch = this.serving.fetch;
    this.hosting = new Hosting(this, this.serving);
    this.#listening = new Listening(this, this.#providers, this.#stats);
    this.#shutdown = new Shutdown(this, {
      servers: this.#listening.servers,
      providers: this.#providers,
      closed: () => {
        this.serving.close();
        this.#listening.closed();
        this.#stats.eventLoop.stop();
      },
    });
    this.#startup = new Startup({
      ...{ application: this, providers: this.#providers, languageFiles, isInspected },
      open: (prepared) => this.serving.open(prepared, () => this.#shutdown.isLeaving),
    });
    this.container
      .bind("application", this)
      .bind("config", config)
      .bind("logger", logger)
      .bind("messages", this.messages)
      .singleton("router", () => this.router);
  }

  /** @internal The installed features, in the order of their providers. */
  get features(): readonly InstalledFeature[] {
    return this.#providers.features;
  }

  /**
   * @internal Whether startup must not connect, create or serve anything: because a command only inspects the application, or
   * because a mistake was found, and startup continues only to report the others.
   */
  get isInspected(): boolean {
    return this.#startup.isInspected;
  }

  /** The environment that the application runs in: `production`, `development` or `test`. */
  get environment(): "production" | "development" | "test" {
    return this.settings.environment;
  }

  /**
   * The start of every link that leaves the application, such as a link in a mail: `APP_URL`, which production requires. In
   * development and tests, the default is the address that the application listens on, and `http://localhost:<PORT>` before
   * that. During a request for a host in `APP.hosts`, and in the work that the request starts, it is that host's origin.
   *
   * Security: it is never any other host from a request, because the client chooses the host. If tenants bring their own
   * domains, don't use it for a link that hands over access to an account; mails about accounts then link to `APP_URL`.
   */
  get url(): string {
    return this.linkOrigin.current + this.settings.basePath;
  }

  /**
   * Whether the application is about to shut down. It still serves requests, but each connection closes after its next
   * response, and `/ready` responds with 503. End responses now that would otherwise never end, such as event streams.
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
    return this.#startup.router;
  }

  /**
   * Responds to a Fetch API request. It is bound to the application, so you can export it:
   * `export const { fetch } = application`.
   *
   * A platform `Request` doesn't contain the client's address, which limits need: in production, they respond with 500 and
   * log `E_UNKNOWN_CLIENT` if it is missing, unless `APP.clientAddress` is `"unknown"`. A host other than the application's
   * own server, or srvx, passes the address:
   *
   * ```ts
   * Bun.serve({ fetch: (request, server) => application.fetch(request, { address: server.requestIP(request)?.address }) });
   * Deno.serve((request, { remoteAddr }) => application.fetch(request, { address: remoteAddr.hostname }));
   * hono.all("*", (c) => application.fetch(c.req.raw, { address: getConnInfo(c).remote.address }));
   * ```
   *
   * Pass the socket's address. Behind a proxy listed in `APP.trustedProxies`, the client's address is the address that the
   * proxy reports. Mounted applications that use this framework get the address, too.
   */
  readonly fetch: (
    request: Request,
    options?: { readonly address?: string | undefined },
  ) => Response | Promise<Response>;

  /**
   * Responds to a request of a `node:http` server that belongs to another framework. It is bound to the application:
   *
   * ```ts
   * express.use(application.handler);
   * ```
   *
   * It responds to every request, with a 404 if no route matches, so add it after the other framework's routes, and before
   * anything that reads bodies, such as `express.json()`. It takes the address, host and header fields from the socket, not
   * from properties that the other framework has set.
   */
  get handler(): (message: IncomingMessage, response: ServerResponse) => void {
    this.#listener ??= hostListener(this.serving.handler, this.settings.trustedProxies, this.logger);
    return this.#listener;
  }

  /**
   * Responds to an error from another framework's handler in the same way as to one from the application's own
   * handlers: with a page or a problem document, in the client's language, and with the error's headers.
   *
   * ```ts
   * hono.onError((error, c) => application.errorResponse(c.req.raw, error));
   * ```
   *
   * It never rejects. Errors with a status of 500 and above are logged.
   *
   * @param request the request; its body isn't read
   * @param error whatever was thrown
   * @param options.address the socket's address, as for {@link fetch}
   */
  errorResponse(
    request: HostRequest,
    error: unknown,
    options: { readonly address?: string | undefined } = {},
  ): Promise<Response> {
    return this.hosting.errorResponse(request, options.address, error);
  }

  /**
   * Passes every request under a prefix to another fetch-based application, which sees the path without the prefix:
   * mounted at `/trpc`, it sees `/trpc/posts` as `/posts`. The HTTP middleware runs; routes are not considered.
   *
   * @param prefix such as `/trpc`
   * @throws `E_INVALID_ROUTE` if the prefix is malformed, in use, or would hide a route
   */
  mount(prefix: string, fetch: FetchFunction): void {
    this.serving.mounts.add(prefix, fetch);
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
    if (environment === "development") this.serving.mounts.add(prefix, fetch, (raw) => isDeveloperHost(raw, url));
  }

  /**
   * Adds a property to every context of this application. Its value is created on first access, once for each context,
   * from the context and the application. Declare its type too:
   *
   * ```ts
   * declare module "ashlar" { interface HttpContext { readonly cart: Cart } }
   * application.contextProperty("cart", (context) => new Cart(context));
   * ```
   *
   * @param options with `isKept: false`, each access calls `make`
   * @throws `E_INVALID_CONFIGURATION` if a property of this name exists
   */
  contextProperty<K extends keyof HttpContext & string>(
    name: K,
    make: (context: HttpContext, application: Application) => HttpContext[K],
    options: ContextPropertyOptions = {},
  ): void {
    addContextProperty<Application>(this.serving.context, name, make, this, options);
  }

  /**
   * Adds a listener that receives each error before the response. The first listener that returns a value determines
   * the response.
   */
  onError(listener: ErrorListener): void {
    this.serving.errors.listen(listener);
  }

  /** @internal Whether the kernel lists a middleware class, or a class that extends it. */
  usesMiddleware(middleware: object): boolean {
    return this.#startup.usesMiddleware(middleware);
  }

  /** Sets the page for errors with a status. A client that accepts JSON still gets the problem document. */
  errorPage(status: number, render: ErrorPageRenderer): void {
    this.serving.errors.page(status, render);
  }

  /**
   * What the application is doing: requests by route, status and duration, the event loop, hashing, the process, and the
   * numbers that features add, such as `database`, `events` and `mail`. Reading it takes microseconds, so don't cache it.
   */
  stats(): ApplicationStats {
    return this.#stats.read(this.background, this.dailyPrune.succeededAt);
  }

  /**
   * Adds numbers to {@link Application.stats}. Declare their type too:
   *
   * ```ts
   * declare module "ashlar" { interface ApplicationStats { readonly carts?: { readonly open: number } } }
   * application.addStats("carts", () => ({ open: 3 }));
   * ```
   *
   * @param read called each time the numbers are read, so it should only return them
   * @throws `E_INVALID_CONFIGURATION` if the name is taken
   */
  addStats<Name extends StatsName>(name: Name, read: () => NonNullable<ApplicationStats[Name]>): void {
    this.#stats.add(name, read);
  }

  /**
   * Serves the application over HTTP, and logs the address, except in tests.
   *
   * @throws `E_INVALID_CONFIGURATION`, with advice, if it can't listen on that address; `E_COMMAND` if a command, such as
   * `ashlar routes`, only inspects the application
   */
  listen(options: ListenOptions = {}): Promise<RunningServer> {
    return this.#listening.start(options);
  }

  /**
   * Makes every provider delete expired data. `ashlar prune` calls this, and so does the server, once a day.
   *
   * @param signal aborts it; some expired data is then left
   * @returns how many rows were deleted, by kind
   * @throws a provider's error, after the other providers have finished
   */
  prune(signal?: AbortSignal): Promise<Record<string, number>> {
    return this.#providers.prune(signal);
  }

  /**
   * Shuts the application down: accepts only the connections that are already waiting, finishes pending requests, waits for
   * background jobs, and shuts down the providers in reverse order. All of this takes at most
   * `APP.server.shutdownTimeoutSeconds`; the log counts what was cut off. It never rejects; failures are logged.
   *
   * A process that receives a signal to end drains first; see `APP.server.drainSeconds`.
   */
  async shutdown(): Promise<void> {
    await this.stop({ drains: false });
  }

  /** @internal Shuts the application down, and returns what was cut off; see {@link ShutdownOptions}. */
  stop(options: ShutdownOptions): Promise<CutOff> {
    return this.#shutdown.run(options);
  }

  /** @internal Begins to drain; see {@link Shutdown.drain}. */
  drain(isReplaced: boolean): void {
    this.#shutdown.drain(isReplaced);
  }

  /** @internal See {@link Startup}. */
  boot(options: BootOptions): Promise<void> {
    return this.#startup.run(options);
  }
}
