import { resolve } from "node:path";
import {
  CorsMiddleware,
  createContextClass,
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
  type TrustedProxies,
} from "../../http/index.ts";
import {
  busyPages,
  type Dispatcher,
  ErrorHandler,
  type ErrorTemplates,
  entryOf,
  fetchTraced,
  type HttpKernel,
  LoggablePaths,
  MiddlewareInstances,
  Mounts,
  refusal,
  runApart,
  servedExchange,
  throughProxies,
} from "../../kernel/index.ts";
import type { Router } from "../../routing/index.ts";
import {
  AddressWarnings,
  hasPossibleHost,
  isKnownCoding,
  type RequestHandler,
  type SheddingFacts,
  sheddingFacts,
} from "../../server/index.ts";
import { AshlarError, type MaybePromise } from "../../support/index.ts";
import { showsErrorDetails } from "../environment/developer-host.ts";
import type { StatsCollector } from "../monitoring/application-stats.ts";
import type { ReadinessCheck } from "../monitoring/readiness.ts";
import type { Application } from "./application.ts";
import { createDispatcher } from "./create-dispatcher.ts";

/** The parts that startup has prepared for serving requests. */
export interface Prepared {
  readonly kernel: HttpKernel;
  readonly router: Router;
  /** The path of the public files; `null` if the application has no folder. */
  readonly publicFolder: string | null;
  /** The providers' readiness checks. */
  readonly checks: readonly ReadinessCheck[];
}

/** Responds to an application's requests, from the end of its startup until it shuts down. At other times, it refuses them. */
export class Serving {
  /** The class of the application's contexts. */
  readonly context: typeof HttpContext = createContextClass();
  readonly errors: ErrorHandler;
  readonly mounts: Mounts;
  readonly paths: LoggablePaths;
  /** The bodies that are held while their requests are handled. */
  readonly bodies: HeldBodies;
  /** Only in production: in tests and development there is one client, so limits don't matter. */
  readonly warnings: AddressWarnings | null;
  /** The site's error pages, for errors without an {@link Application.errorPage}; `null` if it has none. */
  errorTemplates: ErrorTemplates | null = null;
  /** Handles the requests that a server receives. */
  readonly handler: RequestHandler;
  readonly #application: Application;
  readonly #proxies: TrustedProxies;
  readonly #stats: StatsCollector;
  #origins: OriginHeaders = NO_ORIGIN_HEADERS;
  #dispatcher: Dispatcher | null = null;

  constructor(application: Application, stats: StatsCollector) {
    const { logger, root, settings } = application;
    const { clientAddress, environment, limits, trustedProxies, uploadFolder, url } = settings;
    this.#application = application;
    this.#proxies = trustedProxies;
    this.#stats = stats;
    this.bodies = new HeldBodies(limits, uploadFolder === null ? null : resolve(root, uploadFolder));
    this.mounts = new Mounts(() => application.router);
    this.paths = new LoggablePaths(() => application.router, this.mounts);
    this.errors = new ErrorHandler(logger, (raw) => showsErrorDetails(raw, environment, url), this.paths, stats.errors);
    const isProduction = environment === "production";
    this.warnings = isProduction ? new AddressWarnings(trustedProxies, logger, clientAddress === "unknown") : null;
    this.handler = { fetch: this.fetch, application, rescue: (request, error) => this.#rescue(request, error) };
  }

  /** Responds to requests; `null` unless the application is running. */
  get dispatcher(): Dispatcher | null {
    return this.#dispatcher;
  }

  /** The CORS headers for responses that no middleware sees. */
  get origins(): OriginHeaders {
    return this.#origins;
  }

  /** What another process needs to know to refuse requests on behalf of this process. */
  get shedding(): SheddingFacts {
    const { messages, settings } = this.#application;
    const { basePath, server, trustedOrigins } = settings;
    return sheddingFacts(server, basePath, originTable(this.#origins, trustedOrigins), busyPages(messages));
  }

  /** See {@link Application.fetch}. */
  readonly fetch: Application["fetch"] = (request, options) => {
    const dispatcher = this.#dispatcher;
    if (dispatcher === null) return this.refusal(request);
    const given = options?.address;
    if (isAddress(given)) setPeerAddress(request, given);
    this.warnings?.look(request);
    if (servedExchange(request) !== undefined) return runApart(this.#application, dispatch, dispatcher, request);
    if (!hasPossibleHost(request)) return new FastResponse(null, { status: 400 });
    if (!isKnownCoding(request.headers.get("transfer-encoding"))) return new FastResponse(null, { status: 501 });
    const forwarded = this.#proxies.isEmpty ? request : throughProxies(request, this.#proxies);
    return runApart(this.#application, fetchTraced, () => dispatcher.dispatch(forwarded));
  };

  #rescue(request: Request, error: unknown): MaybePromise<Response> {
    const dispatcher = this.#dispatcher;
    if (dispatcher === null) return this.refusal(request);
    return runApart(this.#application, () => dispatcher.rescue(request, error));
  }

  /** The response of an application that isn't running. */
  refusal(request: Request): Response {
    const asked = preflightOf(request);
    const preflight = this.#origins.ofPreflight(asked);
    if (preflight !== null) return new FastResponse(null, { status: 204, headers: preflight });
    this.#stats.errors.count({ code: "E_SHUTTING_DOWN" });
    const { messages } = this.#application;
    return refusal(messages, request.headers.get("accept-language"), this.#origins.of(asked.origin));
  }

  /**
   * Creates a context outside of a request, for work that continues a request of another process.
   *
   * @throws `E_SHUTTING_DOWN` unless the application is running
   */
  contextFor(raw: Request): HttpContext {
    if (this.#dispatcher === null) throw new AshlarError("E_SHUTTING_DOWN");
    return this.#dispatcher.contextFor(raw);
  }

  /**
   * Starts to respond to requests.
   *
   * @param isLeaving reports whether the address is about to stop responding
   * @throws errors of {@link createDispatcher}
   */
  open({ kernel, ...prepared }: Prepared, isLeaving: () => boolean): void {
    const instances = new MiddlewareInstances(this.#application.container);
    const entry = entryOf(kernel, CorsMiddleware);
    const cors = entry === undefined ? null : (instances.of(entry) as CorsMiddleware);
    this.#origins = originHeaders(cors, this.#application.settings.trustedOrigins);
    this.#dispatcher = createDispatcher(this.#application, {
      ...prepared,
      ...{ kernel, instances, cors, isLeaving },
      requestStats: this.#stats.requests,
    });
  }

  /** Refuses requests from now on. */
  close(): void {
    this.#dispatcher = null;
    this.errors.stop();
  }
}

function dispatch(dispatcher: Dispatcher, request: Request): MaybePromise<Response> {
  return dispatcher.dispatch(request);
}
