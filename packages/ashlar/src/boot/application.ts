import { type HttpContext, type Middleware, peerAddress, setPeerAddress } from "../http/index.ts";
import {
  addContextProperty,
  asForwarded,
  Background,
  beginApplication,
  buildRoutes,
  Container,
  createContextClass,
  Dispatcher,
  ErrorHandler,
  type ErrorListener,
  type ErrorPageRenderer,
  type ErrorTemplates,
  endApplication,
  type FetchFunction,
  fetchTraced,
  type HttpKernel,
  isEarly,
  LoggablePaths,
  type Logger,
  MiddlewareInstances,
  Mounts,
  type PipelineStep,
  RepeatedFieldWarnings,
  RequestLog,
  refusal,
  runApart,
  runFor,
  SitePages,
  servedParts,
} from "../kernel/index.ts";
import { Router, type RouteSource } from "../routing/index.ts";
import { Signer } from "../security/index.ts";
import { AddressWarnings, type Answerer, type RunningServer, startServer, staticFiles } from "../server/index.ts";
import { AshlarError, type EnvironmentVariables, type MaybePromise } from "../support/index.ts";
import type { Configuration } from "./configuration.ts";
import { isDeveloperHost } from "./developer-host.ts";
import type { EnvironmentName } from "./environment-name.ts";
import { endWithProcess } from "./process-end.ts";
import type { Provider, ProviderClass } from "./provider.ts";
import type { ApplicationSettings } from "./settings.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    application: Application;
    config: Configuration;
  }
}

/** What a host knows of a request beyond what the platform's `Request` says. */
export interface FetchOptions {
  /** The address at the other end of the socket. */
  readonly address?: string | undefined;
}

/** Answers a request of the web platform: `fetch` of an application. */
export type ApplicationFetch = (request: Request, options?: FetchOptions) => MaybePromise<Response>;

/** Where and how an application listens. */
export interface ListenOptions {
  /** The port; that of the configuration (`PORT`, 3000) where left out, any that is free where 0. */
  readonly port?: number;
  /** The address; that of the configuration if left out: `HOST`, else loopback in development, else all of them. */
  readonly hostname?: string;
  /**
   * Whether the application ends with its process, which is the default: SIGTERM, SIGINT and SIGHUP shut it down and exit with 0;
   * an error that nothing handled (a promise that was not awaited, an exception in a timer) is logged as `fatal` with the
   * id of its request, shuts the application down, and exits with 1. With `false`, both are up to you.
   */
  readonly handleSignals?: boolean;
}

/** @internal What an application is made of before it boots. */
export interface ApplicationParts {
  readonly root: string;
  readonly config: Configuration;
  readonly settings: ApplicationSettings;
  readonly variables: EnvironmentVariables;
  readonly logger: Logger;
}

/** @internal What the boot of an application brings to it. */
export interface BootPlan {
  readonly kernel: (container: Container) => HttpKernel;
  readonly providers: readonly ProviderClass[];
  readonly loadRoutes: (container: Container) => Promise<readonly RouteSource[]>;
  /** Where the files are that everybody may have; `null` where the application has no folder. */
  readonly publicFolder: string | null;
}

/** An application: its services, its routes, and `fetch`, which answers requests. Made by `createApplication`. */
export class Application {
  /** The services by key. */
  readonly container: Container = new Container();
  /** The configuration files' exports. */
  readonly config: Configuration;
  /** `APP` of `config/app.ts`, checked and with its defaults. */
  readonly settings: ApplicationSettings;
  /** The absolute path of the application's folder; the working directory where it has none. */
  readonly root: string;
  readonly logger: Logger;
  /** @internal What `env()` reads where this application's code runs. */
  readonly variables: EnvironmentVariables;
  /** @internal Jobs that are done after an answer. A shutdown waits for them. */
  readonly background: Background;
  readonly #context = createContextClass();
  readonly #errors: ErrorHandler;
  readonly #mounts: Mounts = new Mounts(() => this.router);
  readonly #paths: LoggablePaths = new LoggablePaths(() => this.router, this.#mounts);
  readonly #providers: Provider[] = [];
  /** Those whose own boot has succeeded. */
  readonly #booted = new Set<Provider>();
  /** Only where limits are for real: tests and development have one client. */
  readonly #warnings: AddressWarnings | null;
  readonly #servers = new Set<RunningServer>();
  readonly #signalHandlers: (() => void)[] = [];
  #errorTemplates: ErrorTemplates | null = null;
  #router: Router | null = null;
  #dispatcher: Dispatcher | null = null;
  #stopped: Promise<void> | null = null;

  /** @internal Use `createApplication`. */
  constructor(parts: ApplicationParts) {
    this.root = parts.root;
    this.config = parts.config;
    this.settings = parts.settings;
    this.variables = parts.variables;
    this.logger = parts.logger;
    this.background = new Background(parts.logger);
    const { environment, trustedProxies, url } = parts.settings;
    this.#warnings = environment === "production" ? new AddressWarnings(trustedProxies, parts.logger) : null;
    this.#errors = new ErrorHandler(
      parts.logger,
      environment === "production" ? () => false : (raw) => isDeveloperHost(raw, url),
      this.#paths,
    );
    this.container
      .bind("application", this)
      .bind("config", parts.config)
      .bind("logger", parts.logger)
      .singleton("router", () => this.router);
  }

  /** What the application is run for: `production`, `development` or `test`. */
  get environment(): EnvironmentName {
    return this.settings.environment;
  }

  /**
   * The origin that links begin with when they leave the application, in mails above all: `APP_URL`, which production
   * has, or does not boot. In development and in tests, if it is not set, it is where the application listens, and
   * `http://localhost:<PORT>` as long as it doesn't.
   *
   * Security: never the host of a request, whose sender chooses it: a reset link that leads to another host hands the
   * account over.
   */
  get url(): string {
    const { url, server } = this.settings;
    if (url !== null) return url;
    const [running] = this.#servers;
    return new URL(running?.url ?? `http://localhost:${server.port || 3000}`).origin;
  }

  /**
   * The compiled routes. They are there when providers boot, not yet when they register.
   *
   * @throws `E_UNKNOWN_SERVICE` before that
   */
  get router(): Router {
    if (this.#router !== null) return this.#router;
    throw new AshlarError(
      "E_UNKNOWN_SERVICE",
      "The router is not there yet: use it in a provider's boot(), not in register().",
    );
  }

  /**
   * Answers a request of the web platform. Bound to the application, so that it can be handed on:
   * `export const { fetch } = application`.
   *
   * A request of the platform does not know where it came from, and limits count by that. A host other than the
   * application's own server, or srvx, hands the address in:
   *
   * ```ts
   * Bun.serve({ fetch: (request, server) => application.fetch(request, { address: server.requestIP(request)?.address }) });
   * Deno.serve((request, { remoteAddr }) => application.fetch(request, { address: remoteAddr.hostname }));
   * hono.all("*", (c) => application.fetch(c.req.raw, { address: getConnInfo(c).remote.address }));
   * ```
   *
   * It is the address of the socket. Behind a proxy that `APP.trustedProxies` names, the client's is then the one that the
   * proxy says. What is mounted is told the address as well, if it is an application of this framework.
   */
  readonly fetch: ApplicationFetch = (request, options) => {
    const dispatcher = this.#dispatcher;
    if (dispatcher === null) return refusal();
    const { trustedProxies } = this.settings;
    const given = options?.address;
    // Hosts hand in things of their own in this place.
    if (typeof given === "string" && given !== "") setPeerAddress(request, given);
    this.#warnings?.look(request);
    if (servedParts(request) !== undefined) return runApart(this, dispatch, dispatcher, request);
    if (trustedProxies.isEmpty) return runApart(this, fetchTraced, () => dispatcher.dispatch(request));
    const peer = peerAddress(request);
    const forwarded = asForwarded(request, peer, trustedProxies);
    if (forwarded !== request && peer !== null) setPeerAddress(forwarded, peer);
    return runApart(this, fetchTraced, () => dispatcher.dispatch(forwarded));
  };

  readonly #answerer: Answerer = {
    fetch: this.fetch,
    application: this,
    rescue: (request, error) => {
      const dispatcher = this.#dispatcher;
      return dispatcher === null ? refusal() : runApart(this, () => dispatcher.rescue(request, error));
    },
  };

  /**
   * Hands every request under a prefix to another fetch-speaking application, which sees the path without the prefix:
   * mounted at `/trpc`, it sees `/trpc/posts` as `/posts`. The HTTP middleware is run, routes are not looked at.
   *
   * @param prefix such as `/trpc`
   * @throws `E_INVALID_ROUTE` where the prefix is malformed, taken, or would hide a route
   */
  mount(prefix: string, fetch: FetchFunction): void {
    this.#mounts.add(prefix, fetch);
  }

  /**
   * Mounts a tool for the application's author: as {@link Application.mount} does, but in development alone, and only
   * for requests to a loopback host or the host of `APP_URL`. To any other request, nothing is there.
   *
   * @param prefix such as `/dev/mailbox`
   * @throws `E_INVALID_ROUTE` if the prefix is malformed, taken, or would hide a route
   */
  mountDevelopmentTool(prefix: string, fetch: FetchFunction): void {
    const { environment, url } = this.settings;
    if (environment === "development") this.#mounts.add(prefix, fetch, (raw) => isDeveloperHost(raw, url));
  }

  /**
   * Adds a property to every context of this application. It is made when it is first asked for, once for each context.
   * Its type is declared along with it:
   *
   * ```ts
   * declare module "ashlar" { interface HttpContext { readonly cart: Cart } }
   *
   * application.contextProperty("cart", (context) => new Cart(context));
   * ```
   *
   * @throws `E_INVALID_CONFIGURATION` where there is a property of this name
   */
  contextProperty<K extends keyof HttpContext & string>(name: K, make: (context: HttpContext) => HttpContext[K]): void {
    addContextProperty(this.#context, name, make);
  }

  /** Adds a listener that sees each error before it is answered; the first to return something answers. */
  onError(listener: ErrorListener): void {
    this.#errors.listen(listener);
  }

  /** @internal Has errors answered with pages of the site, unless {@link errorPage} says otherwise. */
  useErrorTemplates(templates: ErrorTemplates): void {
    this.#errorTemplates = templates;
  }

  /** Sets the page for errors of a status. A caller that wants JSON gets the problem document all the same. */
  errorPage(status: number, render: ErrorPageRenderer): void {
    this.#errors.page(status, render);
  }

  /**
   * Serves the application over HTTP.
   *
   * @throws `E_INVALID_CONFIGURATION` where it cannot listen there, with what to do about it
   */
  async listen(options: ListenOptions = {}): Promise<RunningServer> {
    const { server, trustedProxies } = this.settings;
    const { port = server.port, hostname = server.hostname } = options;
    const isLocal = this.environment === "development";
    const settings = { ...server, port, hostname };
    const running = await startServer(this.#answerer, settings, trustedProxies, this.logger, isLocal);
    this.#servers.add(running);
    for (const provider of this.#providers) await provider.listening();
    if (options.handleSignals ?? true) {
      const { shutdownTimeoutSeconds: timeoutSeconds } = server;
      const forget = endWithProcess({ logger: this.logger, timeoutSeconds, shutdown: () => this.shutdown() });
      this.#signalHandlers.push(forget);
    }
    return running;
  }

  /**
   * Has every provider delete what has expired: what `ashlar prune` does, and the server once a day.
   *
   * @param signal stops it halfway
   * @returns how many rows there were, by what they are
   * @throws what one of them throws, once the others are done
   */
  async prune(signal?: AbortSignal): Promise<Record<string, number>> {
    const pruned: Record<string, number> = {};
    const errors: unknown[] = [];
    for (const provider of this.#providers) {
      if (signal?.aborted === true) break;
      try {
        Object.assign(pruned, await runFor(this, () => provider.prune(signal)));
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 1) throw new AggregateError(errors, "Several providers could not delete what has expired.");
    if (errors.length === 1) throw errors[0];
    return pruned;
  }

  /**
   * Ends the application: accepts the connections that already wait and then no more, lets the requests under way finish
   * (for `shutdownTimeoutSeconds` at most; those that are cut off say so in the log), waits for what they left to be done
   * after the answer, then shuts down the providers, the last first. It never rejects; what goes wrong is logged.
   */
  shutdown(): Promise<void> {
    this.#stopped ??= runFor(this, () => this.#stop());
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const seconds = this.settings.server.shutdownTimeoutSeconds;
    await Promise.all([...this.#servers].map((server) => server.close(seconds)));
    this.#dispatcher = null;
    for (const forget of this.#signalHandlers) forget();
    await within(seconds, this.background.settled()).catch((error: unknown) => {
      this.logger.error({ err: error, jobs: this.background.pending }, "Jobs in the background were not finished.");
    });
    for (const provider of this.#providers.toReversed()) {
      try {
        await within(seconds, provider.shutdown());
      } catch (error) {
        // What has not come up may have nothing to shut down. The failure of the boot is the one to mend.
        const level = this.#booted.has(provider) ? "error" : "debug";
        this.logger[level]({ err: error, provider: provider.constructor.name }, "A provider could not be shut down.");
      }
    }
    endApplication(this);
  }

  /** @internal Boots the application: what is bound, then what is routed, then what uses both, then the pipelines. */
  async boot(plan: BootPlan): Promise<void> {
    beginApplication(this);
    await runFor(this, () => this.#boot(plan));
  }

  async #boot(plan: BootPlan): Promise<void> {
    const { container, settings } = this;
    const kernel = plan.kernel(container);
    kernel.registerRoutes();
    for (const providerClass of plan.providers) {
      const provider = new providerClass(this);
      await provider.register();
      this.#providers.push(provider);
    }
    this.#router = new Router(await plan.loadRoutes(container), {
      signer: new Signer(settings.key, "signed-url", { previousSecrets: settings.previousKeys }),
      appUrl: () => this.url,
      compilers: container.has("routes.compilers") ? container.make("routes.compilers") : {},
    });
    for (const provider of this.#providers) {
      await provider.boot();
      this.#booted.add(provider);
    }
    for (const provider of this.#providers) await provider.ready();
    const instances = new MiddlewareInstances(container);
    buildRoutes(this.#router.routes, kernel.routeMiddleware, instances, container);
    if (this.#errorTemplates !== null) {
      const steps = () => (kernel.routeMiddleware.web ?? []).map((entry) => stepOf(instances.of(entry)));
      this.#errors.useSite(new SitePages(this.#errorTemplates, steps));
    }
    const files = plan.publicFolder === null ? null : staticFiles(plan.publicFolder, this.environment === "production");
    if (files !== null) this.#paths.isFile = files.hasServed;
    this.#dispatcher = new Dispatcher({
      router: this.#router,
      context: this.#context,
      services: Object.freeze({
        urls: this.#router,
        limits: settings.limits,
        appUrl: settings.url,
        proxies: settings.trustedProxies,
        fieldWarnings: this.environment === "development" ? new RepeatedFieldWarnings(this.logger) : null,
        strictTransportSecurity: settings.hstsMaxAgeSeconds === 0 ? null : `max-age=${settings.hstsMaxAgeSeconds}`,
      }),
      middleware: kernel.httpMiddleware.map((entry) => stepOf(instances.of(entry))),
      errors: this.#errors,
      mounts: this.#mounts,
      files,
      log: settings.log.requests ? new RequestLog(this.logger, this.#paths) : null,
      apiPrefix: container.has("routes.api.prefix") ? container.make("routes.api.prefix") : null,
    });
  }
}

function stepOf(middleware: Middleware): PipelineStep {
  return { middleware, args: [], isEarly: isEarly(middleware, []) };
}

function dispatch(dispatcher: Dispatcher, request: Request): MaybePromise<Response> {
  return dispatcher.dispatch(request);
}

/** Waits for a promise, but no longer than this. */
async function within(seconds: number, work: void | Promise<void>): Promise<void> {
  if (!(work instanceof Promise)) return;
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`It took longer than ${seconds} seconds.`)), seconds * 1000);
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
