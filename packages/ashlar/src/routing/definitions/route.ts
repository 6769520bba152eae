import { SourceLocation } from "../../support/index.ts";
import {
  type ControllerAction,
  type ControllerClass,
  HTTP_METHODS,
  type HttpMethod,
  type RouteAction,
  type RouteFunction,
} from "./controller-action.ts";
import {
  type ApiAction,
  type PageAction,
  type ResourceController,
  type ResourceOptions,
  resourceRoutes,
} from "./resource.ts";
import {
  flattenEntries,
  type GroupOptions,
  problemOfGroup,
  RouteCollection,
  type RouteEntry,
} from "./route-collection.ts";
import { plainRoute, RouteDefinition } from "./route-definition.ts";

/** The functions that define routes; see {@link Route}. */
export interface RouteBuilder {
  /**
   * A route for `GET`, and for `HEAD`, which responds with the headers only.
   *
   * @param path literal text and parameters: `/orders/@id`, `/orders/@id:int`, `/archive/?year:int`. A parameter fills
   * a whole segment; `?name` is optional, together with all parameters after it. Optional parameters come last.
   * Compilers: `int`, `integer` (digits), `string` (letters), `slug` (`a-title-2`), `uuid`, `signed` (a value signed by
   * the router), `any` (the rest of the path), and the application's own
   * @param handler a function that takes the context, or `[Controller, "method"]`
   */
  get<C extends object>(path: string, handler: RouteFunction | ControllerAction<C>): RouteDefinition;
  /** A route for `POST`. */
  post<C extends object>(path: string, handler: RouteFunction | ControllerAction<C>): RouteDefinition;
  /** A route for `PUT`. */
  put<C extends object>(path: string, handler: RouteFunction | ControllerAction<C>): RouteDefinition;
  /** A route for `PATCH`. */
  patch<C extends object>(path: string, handler: RouteFunction | ControllerAction<C>): RouteDefinition;
  /** A route for `DELETE`. */
  delete<C extends object>(path: string, handler: RouteFunction | ControllerAction<C>): RouteDefinition;
  /** A route for `OPTIONS`, instead of every path's default response. */
  options<C extends object>(path: string, handler: RouteFunction | ControllerAction<C>): RouteDefinition;
  /** A route for every method. */
  any<C extends object>(path: string, handler: RouteFunction | ControllerAction<C>): RouteDefinition;
  /** A route for several methods. */
  match<C extends object>(
    methods: readonly HttpMethod[],
    path: string,
    handler: RouteFunction | ControllerAction<C>,
  ): RouteDefinition;
  /** A page: a route for `GET` that renders a template. */
  view(path: string, template: string, data?: Readonly<Record<string, unknown>>): RouteDefinition;
  /**
   * A route for `GET` that redirects the client.
   *
   * @param to a path or an absolute URL
   * @param status 301, 302, 303, 307 or 308; default: 302
   */
  redirect(from: string, to: string, status?: number): RouteDefinition;
  /**
   * The five routes of an API resource: `orders.index`, `.show`, `.store`, `.update` (`PUT`, `PATCH`), `.destroy`.
   * `.names("api.orders")` names them `api.orders.index` and so on.
   *
   * @param resource its name and path, `orders`; `users.orders` is `/users/@user_id/orders`
   * @param controller a class with a method for each action
   * @param options `only` or `except`, for a controller that lacks some of them
   */
  api<Only extends ApiAction = ApiAction, Except extends ApiAction = never>(
    resource: string,
    controller: ControllerClass<ResourceController<Exclude<Only, Except>>>,
    options?: ResourceOptions<Only, Except>,
  ): RouteCollection;
  /** The routes of a resource with pages: those of {@link RouteBuilder.api}, and `.create` and `.edit` for forms. */
  resource<Only extends PageAction = PageAction, Except extends PageAction = never>(
    resource: string,
    controller: ControllerClass<ResourceController<Exclude<Only, Except>>>,
    options?: ResourceOptions<Only, Except>,
  ): RouteCollection;
  /**
   * Routes that share a prefix, middleware or a host. Groups can be nested. The outer group's middleware runs around
   * the inner group's.
   */
  group<Name extends string>(options: GroupOptions<Name>, entries: readonly RouteEntry[]): RouteCollection;
}

type AnyHandler = RouteFunction | ControllerAction<never>;

function define(
  below: (...args: never[]) => unknown,
  methods: readonly string[],
  path: string,
  action: RouteAction | AnyHandler,
  problem: string | null = null,
): RouteDefinition {
  const attributes = plainRoute(methods, path, action as RouteAction, new SourceLocation(below));
  return new RouteDefinition({ ...attributes, problem });
}

/**
 * Defines the routes of an application. It returns plain data for the `ROUTES` of a routes file:
 *
 * ```ts
 * export const ROUTES = [
 *   Route.get("/", () => "hello"),
 *   Route.get("/orders/@id:int", [OrdersController, "show"]).name("orders.show").middleware("verified"),
 *   Route.api("products", ProductsController),
 * ];
 * ```
 *
 * At boot, all problems with routes are reported at once, each with its file and line.
 */
export const Route: RouteBuilder = {
  get: function get(path, handler) {
    return define(get, ["GET"], path, handler);
  },
  post: function post(path, handler) {
    return define(post, ["POST"], path, handler);
  },
  put: function put(path, handler) {
    return define(put, ["PUT"], path, handler);
  },
  patch: function patch(path, handler) {
    return define(patch, ["PATCH"], path, handler);
  },
  delete: function remove(path, handler) {
    return define(remove, ["DELETE"], path, handler);
  },
  options: function options(path, handler) {
    return define(options, ["OPTIONS"], path, handler);
  },
  any: function any(path, handler) {
    return define(any, HTTP_METHODS, path, handler);
  },
  match: function match(methods, path, handler) {
    return define(match, methods, path, handler);
  },
  view: function view(path, template, data = {}) {
    return define(view, ["GET"], path, { kind: "view", template, data });
  },
  redirect: function redirect(from, to, status = 302) {
    return define(redirect, ["GET"], from, { kind: "redirect", to, status });
  },
  api: function api(resource, controller, options = {}) {
    return resourceRoutes("api", resource, controller, options, new SourceLocation(api));
  },
  resource: function resource(name, controller, options = {}) {
    return resourceRoutes("resource", name, controller, options, new SourceLocation(resource));
  },
  group: function group(options, entries) {
    const broken = (problem: string) => define(group, ["GET"], "/", () => null, problem);
    const problem = problemOfGroup(options, entries);
    if (problem !== null) return new RouteCollection([broken(problem)]);
    const foreign: RouteDefinition[] = [];
    const routes = flattenEntries(entries, () =>
      foreign.push(broken("the group lists something that is not a route.")),
    );
    return new RouteCollection([...routes, ...foreign]).group(options);
  },
};
