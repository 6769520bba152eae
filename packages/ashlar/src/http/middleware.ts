import type { HttpContext } from "./context.ts";

/** Runs the rest of the pipeline; gives what the handler, or a middleware nearer to it, returned. */
export type Next = () => unknown;

/** A middleware written as a function. */
export type MiddlewareFunction = (context: HttpContext, next: Next, ...args: string[]) => unknown;

/**
 * A middleware written as a class. One instance is made at boot and serves every request, so it keeps nothing of one.
 */
export interface Middleware {
  /**
   * Handles the request: returns `next()` to go on, or anything a handler may return to answer instead.
   *
   * @param context the request at hand
   * @param next the rest of the pipeline; to see its outcome, `await` it
   * @param args what stands after the colon where the route names the middleware: `guard:jwt` gives `"jwt"`
   */
  handle(context: HttpContext, next: Next, ...args: string[]): unknown;

  /**
   * Checks the arguments of one use in a routes file. Called at boot, once for each use.
   *
   * @throws any error of the framework; it ends the boot, with the route's place added to it
   */
  checkArguments?(...args: string[]): void;

  /**
   * Tells whether one use may run before the body of a request is read, so that what it refuses costs no more than the
   * headers: it asks for no input of the body, or awaits `request.loadBody()` before it does, or asks in
   * `request.whenBodyIsRead(…)`. Called at boot, once for each use. Without it the body is read first. A subclass with a
   * `handle` of its own has to say so again.
   *
   * Security: `VerifyCsrfToken` compares tokens when the body is read. What runs before that must change nothing.
   */
  beforeBody?(...args: string[]): boolean;
}

/** The class of a middleware. `Services` is the application's container, which the instance is made with. */
export type MiddlewareClass<Services = never> = new (services: Services) => Middleware;
