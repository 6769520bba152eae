import { CheckedHeaders, type HttpContext, type Middleware } from "../http/index.ts";
import {
  buildRoutes,
  Dispatcher,
  type ErrorHandler,
  type ErrorTemplates,
  type HttpKernel,
  isEarly,
  type LoggablePaths,
  MiddlewareInstances,
  type Mounts,
  type PipelineStep,
  RepeatedFieldWarnings,
  RequestLog,
  SitePages,
} from "../kernel/index.ts";
import type { Router } from "../routing/index.ts";
import { staticFiles } from "../server/index.ts";
import type { Application } from "./application.ts";

/** What responds to an application's requests, besides what everyone sees of the application. */
export interface ServingDependencies {
  readonly kernel: HttpKernel;
  readonly router: Router;
  /** The class of the application's contexts. */
  readonly context: typeof HttpContext;
  readonly errors: ErrorHandler;
  /** The site's pages for errors; `null` if it has none. */
  readonly errorTemplates: ErrorTemplates | null;
  readonly mounts: Mounts;
  readonly paths: LoggablePaths;
  /** The path of the public files; `null` if the application has no folder. */
  readonly publicFolder: string | null;
}

/**
 * Builds the pipelines of all routes, and what passes requests to them.
 *
 * @throws what {@link buildRoutes} throws
 */
export function createDispatcher(application: Application, dependencies: ServingDependencies): Dispatcher {
  const { container, environment, logger, messages, settings } = application;
  const { kernel, router, context, errors, errorTemplates, mounts, paths, publicFolder } = dependencies;
  const instances = new MiddlewareInstances(container);
  buildRoutes(router.routes, kernel.routeMiddleware, instances, container);
  if (errorTemplates !== null) {
    const steps = () => (kernel.routeMiddleware.web ?? []).map((entry) => stepOf(instances.of(entry)));
    errors.useSite(new SitePages(errorTemplates, steps));
  }
  const files = publicFolder === null ? null : staticFiles(publicFolder, environment === "production");
  if (files !== null) paths.isFile = files.hasServed;
  return new Dispatcher({
    router,
    context,
    services: Object.freeze({
      urls: router,
      limits: settings.limits,
      messages,
      appUrl: settings.url,
      proxies: settings.trustedProxies,
      fieldWarnings: environment === "development" ? new RepeatedFieldWarnings(logger) : null,
      strictTransportSecurity: strictTransportSecurity(settings.hstsMaxAgeSeconds),
    }),
    middleware: kernel.httpMiddleware.map((entry) => stepOf(instances.of(entry))),
    errors,
    mounts,
    files,
    log: settings.log.requests ? new RequestLog(logger, paths) : null,
    apiPrefix: container.has("routes.api.prefix") ? container.make("routes.api.prefix") : null,
  });
}

function strictTransportSecurity(maxAgeSeconds: number): CheckedHeaders | null {
  return maxAgeSeconds === 0 ? null : new CheckedHeaders([["Strict-Transport-Security", `max-age=${maxAgeSeconds}`]]);
}

function stepOf(middleware: Middleware): PipelineStep {
  return { middleware, args: [], isEarly: isEarly(middleware, []) };
}
