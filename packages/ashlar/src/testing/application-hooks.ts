import type { Application } from "../boot/index.ts";
import type { HttpContext, HttpServices, RouteMatch } from "../http/index.ts";
import type { CompiledMatch } from "../routing/index.ts";
import { AshlarError } from "../support/index.ts";

/** What is done to a request before its route's middleware sees it. */
export type RequestHook = (context: HttpContext) => void;

type ContextClass = new (raw: Request, services: HttpServices, match: RouteMatch | null) => HttpContext;

const hooks = new WeakMap<Request, RequestHook>();
const prepared = new WeakMap<Application, ContextParts>();

interface ContextParts {
  readonly context: ContextClass;
  readonly services: HttpServices;
}

/**
 * Makes an application call the hooks of requests. The application itself knows of none: only requests that were marked
 * in this process with {@link markRequest} have one, so that nothing that comes from outside can be one of them.
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
  prepared.set(application, contextParts(application));
}

/** Has a hook called for a request, by an application that was prepared. */
export function markRequest(request: Request, hook: RequestHook): void {
  hooks.set(request, hook);
}

/** Makes a context of the application, with all that its providers added, for a request that no route answers. */
export function contextFor(application: Application, request: Request): HttpContext {
  prepareApplication(application);
  const { context, services } = prepared.get(application)!;
  return new context(request, services, null);
}

/**
 * The class of the application's contexts, taken from the context of a request. The request goes to no route of the
 * application and through none of its middleware: while it is matched, which is synchronous, the router knows one more.
 */
function contextParts(application: Application): ContextParts {
  const { router } = application;
  const seen: HttpContext[] = [];
  const run = (context: HttpContext): string => {
    seen.push(context);
    return "";
  };
  const route = { pattern: "/.testing", answersJson: false, run };
  router.match = () => ({ route, params: {} }) as unknown as CompiledMatch;
  try {
    void application.fetch(new Request("http://localhost/.testing"));
  } finally {
    // The prototype's own is in force again.
    Reflect.deleteProperty(router, "match");
  }
  const [context] = seen;
  if (context === undefined) throw new AshlarError("E_SHUTTING_DOWN", "The application has been shut down.");
  return { context: context.constructor as ContextClass, services: context.services };
}
