import type { HttpContext } from "../exchange/context.ts";

/** Runs the rest of the pipeline; returns the result of the handler, or of a middleware nearer to it. */
export type Next = () => unknown;

/** A middleware written as a function. */
export type MiddlewareFunction = (context: HttpContext, next: Next, ...args: string[]) => unknown;

/**
 * A middleware written as a class. One instance is created at boot and serves every request, so it must not keep request data.
 */
export interface Middleware {
  /**
   * Handles the request: returns `next()` to continue, or anything that a handler may return, to respond instead.
   *
   * @param context the current request
   * @param next the rest of the pipeline; to see its outcome, `await` it
   * @param args the part after the colon in the route's name for the middleware: `guard:jwt` passes `"jwt"`
   */
  handle(context: HttpContext, next: Next, ...args: string[]): unknown;

  /**
   * Checks the arguments of one use in a routes file. Called at boot, once for each use.
   *
   * @throws any error of the framework; it fails startup, with the route's location added
   */
  checkArguments?(...args: string[]): void;

  /**
   * Reports whether this use may run before the body of a request is read, so that refusing a request costs no more than
   * reading its headers: it reads no input of the body, or awaits `request.loadBody()` first, or reads it in
   * `request.whenBodyIsRead(…)`. Called at boot, once for each use. Without this method the body is read first. A subclass
   * that overrides `handle` has to declare it again.
   *
   * Security: `VerifyCsrfToken` compares tokens when the body is read. Code that runs before that must not change
   * anything.
   */
  beforeBody?(...args: string[]): boolean;
}

/** The class of a middleware. `Services` is the application's container, which creates the instance. */
export type MiddlewareClass<Services = never> = new (services: Services) => Middleware;
