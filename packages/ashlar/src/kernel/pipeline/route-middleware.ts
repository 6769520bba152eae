import type { Middleware } from "../../http/index.ts";
import type { CompiledRoute } from "../../routing/index.ts";
import { AshlarError, isClass, suggestion } from "../../support/index.ts";
import type { Container } from "../container.ts";
import type { MiddlewareEntry, RouteMiddleware } from "./http-kernel.ts";
import type { PipelineStep } from "./pipeline.ts";
import "../../routing/index.ts";

const PARAMETER = /[@?]([A-Za-z_][A-Za-z0-9_]*)/g;

/**
 * The line that fixes a kernel that lacks one of the two stacks. An empty `api` would leave every API route
 * unprotected.
 */
const STACKS: ReadonlyMap<string, string> = new Map([
  ["web", "web: []"],
  ["api", "api: [JWTAuthenticationMiddleware]"],
]);

/** Looks up the middleware that routes name. */
export class NamedMiddleware {
  readonly #lists: RouteMiddleware;
  readonly #instances: MiddlewareInstances;

  /** @param lists the kernel's `routeMiddleware` */
  constructor(lists: RouteMiddleware, instances: MiddlewareInstances) {
    this.#lists = lists;
    this.#instances = instances;
  }

  /**
   * Returns the steps that run before a route's handler, outermost first.
   *
   * @throws `E_INVALID_ROUTE` if a name or a parameter is unknown; the errors of a middleware's `checkArguments`
   */
  stepsOf(route: CompiledRoute): PipelineStep[] {
    return route.middleware.flatMap((use) => this.#steps(use, route));
  }

  #steps(use: string, route: CompiledRoute): PipelineStep[] {
    const colon = use.indexOf(":");
    const name = colon === -1 ? use : use.slice(0, colon);
    const args =
      colon === -1
        ? []
        : use
            .slice(colon + 1)
            .split(",")
            .map((arg) => arg.trim());
    checkParameters(use, args, route);
    return this.#list(name).map((entry) => {
      const middleware = this.#instances.of(entry);
      // A parameter's value is not known before the request.
      if (!args.some(isParameter)) middleware.checkArguments?.(...args);
      return { middleware, args, isEarly: isEarly(middleware, args) };
    });
  }

  #list(name: string): readonly MiddlewareEntry[] {
    const list = Object.hasOwn(this.#lists, name) ? this.#lists[name] : undefined;
    if (list !== undefined) return list;
    const stack = STACKS.get(name);
    if (stack !== undefined) {
      const problem = `the kernel's routeMiddleware has no stack "${name}", which every route of this file goes through.`;
      throw new AshlarError("E_INVALID_ROUTE", `${problem} Add it to app/kernel.ts: ${stack}`);
    }
    const near = suggestion(name, Object.keys(this.#lists));
    throw new AshlarError(
      "E_INVALID_ROUTE",
      `the middleware "${name}" is unknown. ${near} Middleware is named in routeMiddleware in app/kernel.ts.`,
    );
  }
}

function checkParameters(use: string, args: readonly string[], route: CompiledRoute): void {
  const known = [...`${route.domain ?? ""}${route.pattern}`.matchAll(PARAMETER)].map(([, name]) => name!);
  for (const arg of args) {
    if (!isParameter(arg) || known.includes(arg.slice(1))) continue;
    const near = suggestion(arg.slice(1), known);
    throw new AshlarError("E_INVALID_ROUTE", `"${use}" names a parameter that the route does not have. ${near}`);
  }
}

/** Creates one instance of each middleware class, at boot, for all routes of the application. */
export class MiddlewareInstances {
  readonly #container: Container;
  readonly #instances = new Map<MiddlewareEntry, Middleware>();

  constructor(container: Container) {
    this.#container = container;
  }

  /** Returns the instance for an entry of a middleware list. */
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

/** Reports whether an argument stands for a parameter of the route. */
export function isParameter(arg: string): boolean {
  return arg.startsWith("@");
}
