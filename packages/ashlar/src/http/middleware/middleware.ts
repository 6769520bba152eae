import type { HttpContext } from "../exchange/context.ts";

/** Runs the rest of the pipeline. Returns the result of the handler, or of a middleware further in. */
export type Next = () => unknown;

/** A middleware written as a function. */
export type MiddlewareFunction = (context: HttpContext, next: Next, ...args: string[]) => unknown;

/**
 * A middleware written as a class. One instance is created at boot and serves every request, so it must not keep request data.
 */
export interface Middleware {
  /**
   * Handles the request. Return `next()` to continue, or anything that a handler may return to respond instead.
   *
   * @param context the current request
   * @param next runs the rest of the pipeline; to see its result, `await` it
   * @param args the part after the colon where the route names the middleware: `guard:jwt` passes `"jwt"`
   */
  handle(context: HttpContext, next: Next, ...args: string[]): unknown;

  /**
   * Checks the arguments of one use in a routes file. Called at boot, once for each use.
   *
   * @throws any error of the framework; it fails startup, with the route's location added
   */
  checkArguments?(...args: string[]): void;

  /**
   * Reports whether this use may run before a request's body is read, so that refusing a request costs no more than
   * reading its headers. It may if it reads no input from the body, or awaits `request.loadBody()` first, or reads the
   * input in `request.whenBodyIsRead(…)`. Called at boot, once for each use. Without this method, the body is read
   * first. A subclass that overrides `handle` has to declare it again.
   *
   * Security: `VerifyCsrfToken` compares tokens when the body is read. Code that runs before that must not change
   * anything.
   */
  beforeBody?(...args: string[]): boolean;
}

/** The class of a middleware. `Services` is the application's container, which creates the instance. */
export type MiddlewareClass<Services = never> = new (services: Services) => Middleware;
