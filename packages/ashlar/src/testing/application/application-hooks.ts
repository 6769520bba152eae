import type { Application } from "../../boot/index.ts";
import type { HttpContext, HttpServices, RouteMatch } from "../../http/index.ts";
import type { CompiledMatch } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";
import "../../http/index.ts";

/** A function that is called for a request before its route's middleware runs. */
export type RequestHook = (context: HttpContext) => void;

type ContextClass = new (raw: Request, services: HttpServices, match: RouteMatch | null) => HttpContext;

const hooks = new WeakMap<Request, RequestHook>();
const prepared = new WeakMap<Application, ContextSource>();

interface ContextSource {
  readonly context: ContextClass;
  readonly services: HttpServices;
}

/**
 * Makes an application call requests' hooks. The application itself doesn't support hooks. Only requests marked with
 * {@link markRequest} in this process have one, so requests from outside can't.
 */
export function prepareApplication(application: Application): void {
  if (prepared.has(application)) return;
  for (const route of application.router.routes) {
    const { run, runWithBody } = route;
    route.run = (context) => {
      hooks.get(context.request.raw)?.(context);
      return run(context);
    };
    route.runWithBody = (context) => {
      hooks.get(context.request.raw)?.(context);
      return runWithBody(context);
    };
  }
  prepared.set(application, contextSource(application));
}

/** Attaches a hook to a request, to be called by a prepared application. */
export function markRequest(request: Request, hook: RequestHook): void {
  hooks.set(request, hook);
}

/** Creates a context of the application, with everything that its providers added, for a request that matches no route. */
export function contextFor(application: Application, request: Request): HttpContext {
  prepareApplication(application);
  const { context, services } = prepared.get(application)!;
  return new context(request, services, null);
}

/**
 * The class of the application's contexts, taken from the context of a request. The request matches none of the
 * application's routes, and runs none of its middleware. While the request is matched, which is synchronous for the
 * host and path of `APP_URL`, the router has an additional route for it.
 */
function contextSource(application: Application): ContextSource {
  const { linkOrigin, router, settings } = application;
  const base = settings.server.basePath === "kept" ? settings.basePath : "";
  const seen: HttpContext[] = [];
  const run = (context: HttpContext): string => {
    seen.push(context);
    return "";
  };
  const route = { pattern: "/.testing", respondsWithJson: false, run };
  router.match = () => ({ route, params: {} }) as unknown as CompiledMatch;
  try {
    void application.fetch(new Request(`${linkOrigin.current}${base}/.testing`));
  } finally {
    // Restores the prototype's own method.
    Reflect.deleteProperty(router, "match");
  }
  const [context] = seen;
  if (context === undefined) throw new AshlarError("E_SHUTTING_DOWN", "The application has been shut down.");
  return { context: context.constructor as ContextClass, services: context.services };
}
