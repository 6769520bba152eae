import type { HttpContext } from "../../http/index.ts";
import { type SourceLocation, suggestion } from "../../support/index.ts";
import type { ControllerClass, HttpMethod } from "./controller-action.ts";
import { RouteCollection } from "./route-collection.ts";
import { plainRoute, type ResourceOrigin, RouteDefinition } from "./route-definition.ts";

/** The actions of an API resource. */
export type ApiAction = "index" | "show" | "store" | "update" | "destroy";

/** The actions of a resource with pages: those of an API resource, and a page for each of the two forms. */
export type PageAction = ApiAction | "create" | "edit";

/** The type of a resource's controller, which must have a method for each action. */
export type ResourceController<Action extends PageAction> = {
  readonly [Name in Action]: (context: HttpContext) => unknown;
};

/** Which actions a resource has. */
export interface ResourceOptions<Only extends PageAction, Except extends PageAction> {
  /** Only these actions. */
  readonly only?: readonly Only[];
  /** All actions except these. */
  readonly except?: readonly Except[];
}

interface ResourceRoute {
  readonly action: PageAction;
  readonly methods: readonly HttpMethod[];
  readonly path: string;
}

const RESOURCE_ROUTES: readonly ResourceRoute[] = [
  { action: "index", methods: ["GET"], path: "" },
  { action: "create", methods: ["GET"], path: "/create" },
  { action: "store", methods: ["POST"], path: "" },
  { action: "show", methods: ["GET"], path: "/@id" },
  { action: "edit", methods: ["GET"], path: "/@id/edit" },
  { action: "update", methods: ["PUT", "PATCH"], path: "/@id" },
  { action: "destroy", methods: ["DELETE"], path: "/@id" },
];

const API_ACTIONS: readonly ApiAction[] = ["index", "show", "store", "update", "destroy"];

/** Each builder's actions. */
const ACTIONS: Readonly<Record<ResourceOrigin["builder"], readonly PageAction[]>> = {
  api: API_ACTIONS,
  resource: [...API_ACTIONS, "create", "edit"],
};

/**
 * The routes of a resource.
 *
 * @param resource `orders`; a dot nests (`users.orders` is `/users/@user_id/orders`), a slash is a plain prefix
 * (`admin/orders`); either becomes a dot in the names
 */
export function resourceRoutes(
  builder: ResourceOrigin["builder"],
  resource: string,
  controller: ControllerClass,
  options: ResourceOptions<PageAction, PageAction>,
  location: SourceLocation,
): RouteCollection {
  const known = ACTIONS[builder];
  const base = plainRoute(["GET"], "/", [controller, "index"], location);
  const problem = problemOfResource(resource, known, options);
  if (problem !== null) return new RouteCollection([new RouteDefinition({ ...base, problem })]);
  const name = resource.replace(/^\/|\/$/g, "");
  const path = resourcePath(name);
  const names = name.replaceAll("/", ".");
  const wanted = RESOURCE_ROUTES.filter(
    ({ action }) =>
      known.includes(action) && (options.only?.includes(action) ?? true) && !options.except?.includes(action),
  );
  return new RouteCollection(
    wanted.map(
      (route) =>
        new RouteDefinition({
          ...base,
          methods: route.methods,
          path: path + route.path,
          action: [controller, route.action],
          name: `${names}.${route.action}`,
          origin: { builder, resource, action: route.action },
        }),
    ),
  );
}

/** The path of a resource's collection. Each part before a dot is followed by the parameter for its member. */
function resourcePath(resource: string): string {
  const parts = resource.split(".");
  const owners = parts.slice(0, -1).map((part) => `/${part}/@${memberParameter(part)}`);
  return `${owners.join("")}/${parts.at(-1)}`;
}

/** The parameter for a member of an outer resource: `user_id` for `users`, `order_item_id` for `order-items`. */
function memberParameter(resource: string): string {
  const word = resource.split("/").at(-1)!.replaceAll("-", "_");
  return `${singular(word)}_id`;
}

function singular(word: string): string {
  if (/[^aeiou]ies$/.test(word)) return `${word.slice(0, -3)}y`;
  if (/(?:ss|sh|ch|x|[^ao]us)es$/.test(word)) return word.slice(0, -2);
  return /[^s]s$/.test(word) ? word.slice(0, -1) : word;
}

function problemOfResource(
  resource: string,
  known: readonly PageAction[],
  { only, except }: ResourceOptions<PageAction, PageAction>,
): string | null {
  if (typeof resource !== "string" || !/^\/?[\w-]+(?:[./][\w-]+)*\/?$/.test(resource)) {
    return `"${resource}" is not the name of a resource; use letters, digits, "-", "_", "." and "/".`;
  }
  for (const action of [...(only ?? []), ...(except ?? [])]) {
    if (!known.includes(action)) return `the resource has no action "${action}". ${suggestion(action, known)}`;
  }
  const left = known.filter((action) => (only?.includes(action) ?? true) && !except?.includes(action));
  return left.length === 0 ? "the resource has no actions left." : null;
}
