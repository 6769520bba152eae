import type { Middleware, MiddlewareClass, MiddlewareFunction } from "../http/index.ts";
import type { Container } from "./container.ts";

/** One entry of a middleware list: a class, made once at boot with the container, or a function. */
export type MiddlewareEntry = MiddlewareClass<Container> | (new () => Middleware) | MiddlewareFunction;

/** The stacks and single middleware that routes can name. */
export type RouteMiddleware = Readonly<Record<string, readonly MiddlewareEntry[]>>;

/** Says which middleware the application has and where its routes are. The application extends it in `app/kernel.ts`. */
export class HttpKernel {
  protected readonly container: Container;

  constructor(container: Container) {
    this.container = container;
  }

  /** Middleware around every request, matched by a route or not; outermost first. */
  httpMiddleware: readonly MiddlewareEntry[] = [];

  /**
   * Middleware by name, each a list. `web` and `api` are the stacks of the two routes files; any other name is used
   * where a route names it, with arguments after a colon: `.middleware("guard:jwt")`.
   */
  routeMiddleware: RouteMiddleware = {};

  /** Binds where the routes files are: `routes.location`, `routes.api.location`, `routes.api.prefix`. */
  registerRoutes(): void {}
}

/** The class of a kernel. */
export type KernelClass = new (container: Container) => HttpKernel;
