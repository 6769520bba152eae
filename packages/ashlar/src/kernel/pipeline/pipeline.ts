import { closeBodyWithResponse, type HttpContext, isResponse, type Middleware } from "../../http/index.ts";
import type { CompiledRoute, RedirectAction, ViewAction } from "../../routing/index.ts";
import { AshlarError, type ErrorCode, isPromise } from "../../support/index.ts";
import type { Container } from "../container.ts";
import type { RouteMiddleware } from "./http-kernel.ts";
import { isParameter, type MiddlewareInstances, NamedMiddleware } from "./route-middleware.ts";
import "../../routing/index.ts";

/** Runs a request through the middleware and the handler, or through the remaining ones. */
export type Run = (context: HttpContext) => unknown;

/** A middleware in a pipeline, with its arguments there. */
export interface PipelineStep {
  readonly middleware: Middleware;
  /** The arguments as written in the route; `@name` stands for the route's parameter of that name. */
  readonly args: readonly string[];
  /** Whether it may run before the body is read; default: `false`. */
  readonly isEarly?: boolean;
}

/**
 * Wraps a handler in middleware, the first one outermost. This is done once. Requests then run through existing
 * closures, and each middleware adds only its `next`.
 */
export function compose(steps: readonly PipelineStep[], handler: Run): Run {
  return steps.length === 0 ? handler : steps.reduceRight<Run>((next, step) => wrap(step, next), closing(handler));
}

/**
 * Like {@link compose}, for requests whose body hasn't been read yet. The body is read as late as possible: before the
 * first middleware that may read an input, or before the handler. If a request is refused earlier, its body isn't read.
 */
export function composeWithBody(steps: readonly PipelineStep[], handler: Run): Run {
  const firstLate = steps.findIndex(({ isEarly }) => !isEarly);
  const early = firstLate === -1 ? steps : steps.slice(0, firstLate);
  const rest = compose(steps.slice(early.length), early.length === 0 ? handler : closing(handler));
  return early.reduceRight<Run>((next, step) => wrap(step, next), reading(rest));
}

function reading(run: Run): Run {
  return (context) => {
    const loading = context.request.loadBody();
    return loading instanceof Promise ? loading.then(() => run(context)) : run(context);
  };
}

/**
 * Wraps a handler that is preceded by middleware. If a middleware replaces the handler's response, the files and
 * connections of the original body are closed when the response ends.
 */
function closing(handler: Run): Run {
  return (context) => {
    const result = handler(context);
    if (isPromise(result)) return result.then((response) => held(context, response));
    return held(context, result);
  };
}

function held(context: HttpContext, result: unknown): unknown {
  if (isResponse(result)) closeBodyWithResponse(context.request.raw, result);
  return result;
}

function wrap({ middleware, args }: PipelineStep, next: Run): Run {
  if (args.length === 0) return (context) => middleware.handle(context, () => next(context));
  if (args.some(isParameter)) {
    return (context) => middleware.handle(context, () => next(context), ...args.map((arg) => resolve(arg, context)));
  }
  return (context) => middleware.handle(context, () => next(context), ...args);
}

function resolve(arg: string, context: HttpContext): string {
  return isParameter(arg) ? (context.request.param(arg.slice(1)) ?? "") : arg;
}

/**
 * Builds each route's pipeline. Collects all problems before it throws.
 *
 * @throws `E_INVALID_ROUTE`, or the code that all problems share, each with the location of its route
 */
export function buildRoutes(
  routes: readonly CompiledRoute[],
  routeMiddleware: RouteMiddleware,
  instances: MiddlewareInstances,
  container: Container,
): void {
  const named = new NamedMiddleware(routeMiddleware, instances);
  const handlers = new Handlers(container);
  const problems: { readonly code: ErrorCode; readonly text: string; readonly cause: AshlarError }[] = [];
  for (const route of routes) {
    try {
      const steps = named.stepsOf(route);
      const handler = mayChange(route) ? beginning(handlers.of(route)) : handlers.of(route);
      route.run = compose(steps, handler);
      route.runWithBody = composeWithBody(steps, handler);
    } catch (error) {
      if (!(error instanceof AshlarError)) throw error;
      const { code, message } = error;
      problems.push({
        code,
        text: `${route.location}: ${route.methods.join(", ")} ${route.pattern}: ${message}`,
        cause: error,
      });
    }
  }
  const [first] = problems;
  if (first === undefined) return;
  const code = problems.every((problem) => problem.code === first.code) ? first.code : "E_INVALID_ROUTE";
  const texts = [...new Set(problems.map((problem) => problem.text))];
  throw new AshlarError(code, texts.join("\n"), { cause: first.cause });
}

function mayChange({ methods }: CompiledRoute): boolean {
  return methods.some((method) => method !== "GET" && method !== "HEAD" && method !== "OPTIONS");
}

/** Records that the handler has started. A request that fails earlier has not changed anything. */
function beginning(handler: Run): Run {
  return (context) => {
    context.wasHandled = true;
    return handler(context);
  };
}

type Controller = Readonly<Record<string, (context: HttpContext) => unknown>>;

/**
 * Converts routes' handlers to functions.
 *
 * The container instantiates each controller class once, at boot. The instance serves all requests concurrently, so it
 * must not store request data in its fields.
 */
export class Handlers {
  readonly #container: Container;
  readonly #controllers = new Map<unknown, Controller>();

  constructor(container: Container) {
    this.#container = container;
  }

  /**
   * Returns the function that handles a route.
   *
   * @throws `E_INVALID_ROUTE` for a view route in an application without views
   */
  of(route: CompiledRoute): Run {
    const { handler } = route;
    if (typeof handler === "function") return handler;
    if ("kind" in handler) return handler.kind === "view" ? this.#view(handler) : redirect(handler);
    const [controllerClass, method] = handler;
    const controller = this.#controller(controllerClass as new (container: Container) => object);
    return (context) => controller[method]!(context);
  }

  #controller(controllerClass: new (container: Container) => object): Controller {
    let controller = this.#controllers.get(controllerClass);
    if (controller === undefined) {
      controller = new controllerClass(this.#container) as Controller;
      this.#controllers.set(controllerClass, controller);
    }
    return controller;
  }

  #view({ template, data }: ViewAction): Run {
    if (!this.#container.has("routes.view")) {
      throw new AshlarError(
        "E_INVALID_ROUTE",
        `the page "${template}" needs views. Add ViewProvider to PROVIDERS in config/providers.ts.`,
      );
    }
    const render = this.#container.make("routes.view");
    return (context) => render(context, template, data);
  }
}

function redirect({ to, status }: RedirectAction): Run {
  return (context) => context.response.header("location", to).status(status);
}
