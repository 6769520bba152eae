import type { Middleware, MiddlewareClass, MiddlewareFunction } from "../../http/index.ts";
import { isOrExtends } from "../../support/index.ts";
import type { Container } from "../container.ts";

/** An entry of a middleware list: a function, or a class, which the container instantiates once at boot. */
export type MiddlewareEntry = MiddlewareClass<Container> | (new () => Middleware) | MiddlewareFunction;

/** The stacks and single middleware that routes can name. */
export type RouteMiddleware = Readonly<Record<string, readonly MiddlewareEntry[]>>;

/** Declares the application's middleware and the location of its routes. The application extends it in `app/kernel.ts`. */
export class HttpKernel {
  protected readonly container: Container;

  constructor(container: Container) {
    this.container = container;
  }

  /** Middleware around every request, even if no route matches it; outermost first. */
  httpMiddleware: readonly MiddlewareEntry[] = [];

  /**
   * Lists of middleware, by name. `web` and `api` are the stacks of the two routes files; routes can name any other,
   * with arguments after a colon: `.middleware("auth:jwt")`.
   */
  routeMiddleware: Readonly<Record<string, readonly MiddlewareEntry[]>> = {};

  /** Binds the locations of the routes files: `routes.location`, `routes.api.location`, `routes.api.prefix`. */
  registerRoutes(): void {}
}

/** The class of a kernel. */
export type KernelClass = new (container: Container) => HttpKernel;

/** Returns the first entry in a kernel's lists that is a certain middleware class, or a subclass of it. */
export function entryOf(
  { httpMiddleware, routeMiddleware }: Pick<HttpKernel, "httpMiddleware" | "routeMiddleware">,
  middleware: object,
): MiddlewareEntry | undefined {
  const entries = [httpMiddleware, ...Object.values(routeMiddleware)].flat();
  return entries.find((entry): entry is MiddlewareEntry => isOrExtends(entry, middleware));
}
