import { CheckedHeaders, type CorsMiddleware, type Middleware, SecurityHeadersMiddleware } from "../../http/index.ts";
import {
  BlockedRedirectWarnings,
  buildRoutes,
  Dispatcher,
  entryOf,
  type HttpKernel,
  isEarly,
  type MiddlewareInstances,
  type PipelineStep,
  RepeatedFieldWarnings,
  RequestLog,
  type RequestStats,
  RequestWatch,
  SitePages,
} from "../../kernel/index.ts";
import { staticFiles } from "../../server/index.ts";
import { Health } from "../monitoring/health.ts";
import { Readiness } from "../monitoring/readiness.ts";
import type { Application } from "./application.ts";
import type { Prepared } from "./serving.ts";

/** The dependencies of a dispatcher. */
export interface DispatcherDependencies extends Prepared {
  readonly instances: MiddlewareInstances;
  /** The kernel's CORS middleware; `null` if it has none. */
  readonly cors: CorsMiddleware | null;
  /** Counts the requests. */
  readonly requestStats: RequestStats;
  /** Reports whether the address is about to stop responding. */
  readonly isLeaving: () => boolean;
}

/**
 * Builds the pipelines of all routes, and the dispatcher that passes requests to them.
 *
 * @throws errors of {@link buildRoutes} and {@link Health}
 */
export function createDispatcher(application: Application, dependencies: DispatcherDependencies): Dispatcher {
  const { container, environment, logger, messages, serving, settings } = application;
  const { kernel, instances, router, publicFolder, requestStats } = dependencies;
  const { bodies, context, errors, errorTemplates, mounts, paths } = serving;
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
      redirectWarnings: environment === "production" ? null : new BlockedRedirectWarnings(logger),
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
    requestedOrigins: application.linkOrigin.requests,
    keptBase: settings.server.basePath === "kept" ? settings.basePath : "",
    apiPrefix: container.has("routes.api.prefix") ? container.make("routes.api.prefix") : null,
  });
}

function createHealth({ logger, serving, settings }: Application, dependencies: DispatcherDependencies): Health | null {
  const { health } = settings.server;
  if (health === null) return null;
  const { router, checks, isLeaving } = dependencies;
  const headers = strictTransportSecurity(settings.hstsMaxAgeSeconds)?.entries ?? [];
  return new Health(
    {
      settings: health,
      readiness: new Readiness(checks, logger),
      isLeaving,
      proxies: settings.trustedProxies,
      origins: serving.origins,
      headers: Object.fromEntries(headers.map(([name, values]) => [name, values.join(", ")])),
    },
    router,
  );
}

/** The headers for files, as the kernel's subclass of `SecurityHeadersMiddleware` sets them, if it lists one. */
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
