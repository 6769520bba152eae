import {
  CheckedHeaders,
  type CorsMiddleware,
  type HttpContext,
  type Middleware,
  type OriginHeaders,
  SecurityHeadersMiddleware,
} from "../../http/index.ts";
import {
  buildRoutes,
  Dispatcher,
  type ErrorHandler,
  type ErrorTemplates,
  entryOf,
  type HttpKernel,
  isEarly,
  type LoggablePaths,
  type MiddlewareInstances,
  type Mounts,
  type PipelineStep,
  RepeatedFieldWarnings,
  type RequestedOrigins,
  RequestLog,
  type RequestStats,
  RequestWatch,
  SitePages,
} from "../../kernel/index.ts";
import type { Router } from "../../routing/index.ts";
import { staticFiles } from "../../server/index.ts";
import type { Application } from "./application.ts";
import { Health } from "./health.ts";
import { Readiness, type ReadinessCheck } from "./readiness.ts";

/** What responds to an application's requests, besides what everyone sees of the application. */
export interface ServingDependencies {
  readonly kernel: HttpKernel;
  readonly instances: MiddlewareInstances;
  /** The kernel's middleware for other origins, if it has one. */
  readonly cors: CorsMiddleware | null;
  /** What pages of other origins may read of responses that no middleware sees. */
  readonly origins: OriginHeaders;
  readonly router: Router;
  /** The class of the application's contexts. */
  readonly context: typeof HttpContext;
  readonly errors: ErrorHandler;
  /** The site's pages for errors; `null` if it has none. */
  readonly errorTemplates: ErrorTemplates | null;
  readonly mounts: Mounts;
  readonly paths: LoggablePaths;
  /** Counts the requests. */
  readonly requestStats: RequestStats;
  /** The path of the public files; `null` if the application has no folder. */
  readonly publicFolder: string | null;
  /** What requests can't do without. */
  readonly checks: readonly ReadinessCheck[];
  /** Reports whether the address is about to stop responding. */
  readonly isLeaving: () => boolean;
  /** Knows the hosts of the application; `null` if it has one. */
  readonly requestedOrigins: RequestedOrigins | null;
}

/**
 * Builds the pipelines of all routes, and what passes requests to them.
 *
 * @throws what {@link buildRoutes} and {@link Health} throw
 */
export function createDispatcher(application: Application, dependencies: ServingDependencies): Dispatcher {
  const { bodies, container, environment, logger, messages, settings } = application;
  const { kernel, instances, router, context, errors, errorTemplates, mounts, paths, publicFolder, requestStats } =
    dependencies;
  buildRoutes(router.routes, kernel.routeMiddleware, instances, container);
  if (errorTemplates !== null) {
    const steps = () => (kernel.routeMiddleware.web ?? []).map((entry) => stepOf(instances.of(entry)));
    errors.useSite(new SitePages(errorTemplates, steps));
  }
  const fileHeaders = fileHeadersOf(kernel);
  const files = publicFolder === null ? null : staticFiles(publicFolder, environment === "production", fileHeaders);
  if (files !== null) paths.isFile = files.hasServed;
  return new Dispatcher({
    name: settings.name,
    router,
    context,
    services: Object.freeze({
      urls: router,
      limits: settings.limits,
      bodies,
      messages,
      appUrl: settings.url,
      basePath: settings.basePath,
      proxies: settings.trustedProxies,
      origins: settings.trustedOrigins,
      fieldWarnings: environment === "development" ? new RepeatedFieldWarnings(logger) : null,
      strictTransportSecurity: strictTransportSecurity(settings.hstsMaxAgeSeconds),
    }),
    middleware: kernel.httpMiddleware.map((entry) => stepOf(instances.of(entry))),
    errors,
    cors: dependencies.cors,
    mounts,
    files,
    probes: createHealth(application, dependencies),
    watch: new RequestWatch(
      requestStats,
      settings.log.requests ? new RequestLog(logger, paths, settings.log.addresses) : null,
      paths,
    ),
    requestedOrigins: dependencies.requestedOrigins,
    keptBase: settings.server.basePath === "kept" ? settings.basePath : "",
    apiPrefix: container.has("routes.api.prefix") ? container.make("routes.api.prefix") : null,
  });
}

function createHealth({ settings, logger }: Application, dependencies: ServingDependencies): Health | null {
  const { health } = settings.server;
  if (health === null) return null;
  const { router, checks, isLeaving, origins } = dependencies;
  const headers = strictTransportSecurity(settings.hstsMaxAgeSeconds)?.entries ?? [];
  return new Health(
    {
      settings: health,
      readiness: new Readiness(checks, logger),
      isLeaving,
      proxies: settings.trustedProxies,
      origins,
      headers: Object.fromEntries(headers.map(([name, values]) => [name, values.join(", ")])),
    },
    router,
  );
}

/** Those of the kernel's own class, if it lists one. */
function fileHeadersOf(kernel: HttpKernel): CheckedHeaders {
  const entry = entryOf(kernel, SecurityHeadersMiddleware) as typeof SecurityHeadersMiddleware | undefined;
  return new CheckedHeaders(Object.entries((entry ?? SecurityHeadersMiddleware).fileHeaders));
}

function strictTransportSecurity(maxAgeSeconds: number): CheckedHeaders | null {
  return maxAgeSeconds === 0 ? null : new CheckedHeaders([["Strict-Transport-Security", `max-age=${maxAgeSeconds}`]]);
}

function stepOf(middleware: Middleware): PipelineStep {
  return { middleware, args: [], isEarly: isEarly(middleware, []) };
}
