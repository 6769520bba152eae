import { closeBodyWithResponse, type HttpContext, isResponse, type Middleware } from "../../http/index.ts";
import { isClass, isPromise } from "../../support/index.ts";
import type { Container } from "../container.ts";
import type { MiddlewareEntry } from "./http-kernel.ts";

/** Runs a request through middleware and handler, or what remains of them. */
export type Run = (context: HttpContext) => unknown;

/** A middleware at its place in a pipeline, with its arguments there. */
export interface PipelineStep {
  readonly middleware: Middleware;
  /** As written in the route; `@name` stands for that parameter of the route. */
  readonly args: readonly string[];
  /** Whether it may run before the body is read; default: `false`. */
  readonly isEarly?: boolean;
}

/**
 * Wraps a handler in middleware, the first outermost. Everything is arranged here, once: a request runs through existing
 * closures, and each middleware adds only one, its `next`.
 */
export function compose(steps: readonly PipelineStep[], handler: Run): Run {
  return steps.length === 0 ? handler : steps.reduceRight<Run>((next, step) => wrap(step, next), closing(handler));
}

/**
 * Does the same for requests whose body has not been read yet: it is read as late as possible, before the first
 * middleware that may read an input, or before the handler. A request refused earlier is refused without reading it.
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
 * Reports whether this use of a middleware may run before the body is read.
 *
 * Security: a subclass that overrides `handle` may read inputs there, whatever its parent declares.
 */
export function isEarly(middleware: Middleware, args: readonly string[]): boolean {
  if (middleware.beforeBody === undefined || args.some(isParameter)) return false;
  for (let owner: object | null = middleware; owner !== null; owner = Object.getPrototypeOf(owner)) {
    if (Object.hasOwn(owner, "beforeBody")) return middleware.beforeBody(...args);
    if (Object.hasOwn(owner, "handle")) return false;
  }
  return false;
}

/**
 * Wraps a handler preceded by middleware, any of which may return another response instead: what the body of the
 * handler's response holds open is then closed when the response ends.
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

/** Reports whether an argument stands for a parameter of the route. */
export function isParameter(arg: string): boolean {
  return arg.startsWith("@");
}

function resolve(arg: string, context: HttpContext): string {
  return isParameter(arg) ? (context.request.param(arg.slice(1)) ?? "") : arg;
}

/** Creates one instance of each middleware class, at boot, for all routes of the application. */
export class MiddlewareInstances {
  readonly #container: Container;
  readonly #instances = new Map<MiddlewareEntry, Middleware>();

  constructor(container: Container) {
    this.#container = container;
  }

  /** Returns the single instance of an entry of a middleware list. */
  of(entry: MiddlewareEntry): Middleware {
    let instance = this.#instances.get(entry);
    if (instance === undefined) {
      instance = isMiddlewareClass(entry) ? new entry(this.#container) : { handle: entry as Middleware["handle"] };
      this.#instances.set(entry, instance);
    }
    return instance;
  }
}

function isMiddlewareClass(entry: MiddlewareEntry): entry is new (container: Container) => Middleware {
  return isClass(entry);
}
