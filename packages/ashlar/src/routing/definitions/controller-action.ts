import type { HttpContext } from "../../http/index.ts";
import { isClass } from "../../support/index.ts";

/** A handler written as a function. It takes the context, and returns the result to respond with. */
export type RouteFunction = (context: HttpContext) => unknown;

/** The class of a controller. The container creates one instance of it at boot. */
export type ControllerClass<C extends object = object> = new (services: never) => C;

/** The names of the methods of `C` that can handle a request. They take a context, or no arguments. */
export type ActionName<C> = {
  [K in keyof C]-?: C[K] extends (...args: infer Arguments) => unknown
    ? Arguments extends []
      ? K
      : [HttpContext] extends Arguments
        ? K
        : never
    : never;
}[keyof C] &
  string;

/** A handler written as a method: `[OrdersController, "show"]`. */
export type ControllerAction<C extends object> = readonly [controller: ControllerClass<C>, method: ActionName<C>];

/** A route's handler as stored, unless the route is only a page or a redirect. */
export type RouteHandler = RouteFunction | readonly [controller: ControllerClass, method: string];

/** Responds with a rendered template: made by `Route.view`. */
export interface ViewAction {
  readonly kind: "view";
  readonly template: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Responds with a redirect: made by `Route.redirect`. */
export interface RedirectAction {
  readonly kind: "redirect";
  readonly to: string;
  readonly status: number;
}

/** What a route does when it matches. */
export type RouteAction = RouteHandler | ViewAction | RedirectAction;

/** A method that a route can handle. `HEAD` is not among them: a route for `GET` handles it too. */
export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

/** Every method that a route can handle, in the order in which `Allow` lists them. */
export const HTTP_METHODS: readonly HttpMethod[] = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Describes what is wrong with an action's shape; `null` if nothing is. */
export function problemOfAction(action: RouteAction): string | null {
  if (typeof action === "function") {
    return isClass(action) ? `the class ${action.name} needs the name of a method: [${action.name}, "show"]` : null;
  }
  if (Array.isArray(action)) return problemOfControllerAction(action);
  if (typeof action !== "object" || action === null) return `the handler is ${describe(action)}, not a function`;
  if ("kind" in action && action.kind === "view") return problemOfView(action);
  if ("kind" in action && action.kind === "redirect") return problemOfRedirect(action);
  return 'the handler is an object, not a function or [Controller, "method"]';
}

function problemOfControllerAction(action: readonly unknown[]): string | null {
  const [controller, method] = action;
  if (action.length !== 2 || typeof controller !== "function" || typeof method !== "string") {
    return `a controller's method is named by two things, the class and the method: [OrdersController, "show"]`;
  }
  if (!isClass(controller)) return `the controller "${controller.name}" is a function, not a class`;
  const prototype = controller.prototype as Readonly<Record<string, unknown>>;
  const inherited = (Object.prototype as Readonly<Record<string, unknown>>)[method];
  if (typeof prototype[method] === "function" && prototype[method] !== inherited && method !== "constructor")
    return null;
  return `${controller.name} has no method "${method}" (a field that holds a function does not count)`;
}

function problemOfView(action: ViewAction): string | null {
  return typeof action.template === "string" && action.template !== "" ? null : "the name of the template is empty";
}

function problemOfRedirect(action: RedirectAction): string | null {
  if (typeof action.to !== "string" || action.to === "") return "the target of the redirect is empty";
  if (REDIRECT_STATUSES.has(action.status)) return null;
  return `${action.status} is not the status of a redirect; use ${[...REDIRECT_STATUSES].join(", ")}`;
}

function describe(value: unknown): string {
  return value === null || value === undefined ? String(value) : `a ${typeof value}`;
}
