import { isPlainObject, suggestion } from "../../support/index.ts";
import type { MiddlewareName } from "../middleware-name.ts";
import type { BodyLimit } from "./body-limit.ts";
import { RouteDefinition } from "./route-definition.ts";

/** The contents of a routes file: routes, groups and resources, and lists of these. */
export type RouteEntry = RouteDefinition | RouteCollection | readonly RouteEntry[];

/** The options that a group's routes share. */
export interface GroupOptions<Name extends string = string> {
  /** The prefix of every path: `/admin`. */
  readonly prefix?: string;
  /** The prefix of every name, including its dot: `admin.`. */
  readonly name?: string;
  /** Middleware to run around the routes' own, outermost first. */
  readonly middleware?: readonly MiddlewareName<Name>[];
  /** Middleware to remove from every route. */
  readonly withoutMiddleware?: readonly string[];
  /** The host of every route that doesn't set its own. */
  readonly domain?: string;
}

/**
 * Several routes: what `Route.group`, `Route.api` and `Route.resource` return. It can be spread (`...`) into a list.
 * Each method returns a new collection and leaves this one unchanged.
 */
export class RouteCollection implements Iterable<RouteDefinition> {
  /** The routes, after the options of their groups have been applied. */
  readonly routes: readonly RouteDefinition[];

  constructor(routes: readonly RouteDefinition[]) {
    this.routes = Object.freeze([...routes]);
  }

  [Symbol.iterator](): Iterator<RouteDefinition> {
    return this.routes[Symbol.iterator]();
  }

  /** Prefixes the name of every route that has one. */
  name(prefix: string): RouteCollection {
    return this.group({ name: prefix });
  }

  /**
   * Renames resource routes: `Route.api("orders", …).names("api.orders")` names them `api.orders.index`,
   * `api.orders.show` and so on. Other routes keep their names.
   *
   * @param base the new prefix of their names, without the last dot
   */
  names(base: string): RouteCollection {
    return new RouteCollection(this.routes.map((route) => renamed(route, base)));
  }

  /** Prefixes every path. */
  prefix(prefix: string): RouteCollection {
    return this.group({ prefix });
  }

  /** Adds middleware around every route's own. The first one named is the outermost. */
  middleware<Name extends string>(...names: MiddlewareName<Name>[]): RouteCollection {
    return this.group({ middleware: names });
  }

  /** Removes middleware from every route, by exact text or by name. */
  withoutMiddleware(...names: string[]): RouteCollection {
    return this.group({ withoutMiddleware: names });
  }

  /** Limits every route that doesn't set its own host to this one: `api`, `@account`, `@account.example.com`. */
  domain(pattern: string): RouteCollection {
    return this.group({ domain: pattern });
  }

  /** Makes every route respond with JSON, errors included, whatever the client accepts. */
  respondsWithJson(): RouteCollection {
    return new RouteCollection(this.routes.map((route) => route.respondsWithJson()));
  }

  /** Sets the body limit of every route that does not set its own; see {@link RouteDefinition.bodyLimit}. */
  bodyLimit(limit: BodyLimit): RouteCollection {
    return new RouteCollection(
      this.routes.map((route) => (route.attributes.bodyLimit === null ? route.bodyLimit(limit) : route)),
    );
  }

  /** @internal Applies a group's options to every route. */
  group(options: GroupOptions): RouteCollection {
    return new RouteCollection(this.routes.map((route) => inGroup(route, options)));
  }
}

const TEXT_OPTIONS: readonly string[] = ["prefix", "name", "domain"];
const LIST_OPTIONS: readonly string[] = ["middleware", "withoutMiddleware"];

/**
 * Describes what is wrong with a group; `null` if nothing is. A misspelled `middleware` would leave routes unguarded,
 * and source that Node runs directly has not been type-checked.
 */
export function problemOfGroup(options: GroupOptions, entries: readonly RouteEntry[]): string | null {
  if (!isPlainObject(options)) return "the first argument of a group must be an object with what its routes share.";
  for (const [name, value] of Object.entries(options)) {
    const isList = LIST_OPTIONS.includes(name);
    const known = [...TEXT_OPTIONS, ...LIST_OPTIONS];
    if (!known.includes(name)) return `a group has no option "${name}". ${suggestion(name, known)}`;
    if (value === undefined) continue;
    if (isList ? !Array.isArray(value) : typeof value !== "string") {
      return `the option "${name}" of a group must be ${isList ? "a list" : "text"}.`;
    }
  }
  if (!Array.isArray(entries)) return "the second argument of a group must be the list of its routes.";
  return entries.length === 0 ? "the group has no routes." : null;
}

function renamed(route: RouteDefinition, base: string): RouteDefinition {
  const { origin } = route.attributes;
  if (origin === null) return route;
  if (typeof base === "string" && /[^\s.]$/.test(base)) return route.with({ name: `${base}.${origin.action}` });
  return route.with({ problem: 'names() takes the prefix of the routes\' names, such as "api.orders".' });
}

function inGroup(route: RouteDefinition, options: GroupOptions): RouteDefinition {
  const { path, name, middleware, withoutMiddleware, domain, isWellKnown = false } = route.attributes;
  return route.with({
    path: isWellKnown ? path : joinPaths(options.prefix ?? "", path),
    name: name === null ? null : (options.name ?? "") + name,
    middleware: [...(options.middleware ?? []), ...middleware],
    withoutMiddleware: [...(options.withoutMiddleware ?? []), ...withoutMiddleware],
    domain: domain ?? options.domain ?? null,
  });
}

/** Appends a path to a prefix with exactly one slash between them; both may lack slashes, or be empty. */
export function joinPaths(prefix: string, path: string): string {
  if (typeof prefix !== "string" || typeof path !== "string") return path;
  const before = prefix.replace(/\/$/, "");
  const after = path.replace(/^\//, "");
  const lead = before === "" || before.startsWith("/") ? before : `/${before}`;
  return after === "" && lead !== "" ? lead : `${lead}/${after}`;
}

/**
 * Returns all routes of a list, in order, with lists and collections flattened.
 *
 * @param otherwise called with each list entry that is not a route
 */
export function flattenEntries(entries: readonly RouteEntry[], otherwise: (entry: unknown) => void): RouteDefinition[] {
  const routes: RouteDefinition[] = [];
  for (const entry of entries) {
    if (entry instanceof RouteDefinition) routes.push(entry);
    else if (entry instanceof RouteCollection) routes.push(...entry.routes);
    else if (Array.isArray(entry)) routes.push(...flattenEntries(entry, otherwise));
    else otherwise(entry);
  }
  return routes;
}

/** A routes file, and the options that apply to all of its routes. */
export interface RouteSource {
  /** Its `ROUTES`. */
  readonly entries: readonly RouteEntry[];
  /** The name of its routes' outermost middleware, `web` or `api`; `null` for none. */
  readonly stack: string | null;
  /** The prefix of every path, such as `/api`, or `""`. */
  readonly prefix: string;
  /** Whether its routes always respond with JSON, whatever the client accepts. */
  readonly respondsWithJson: boolean;
  /** The file's name in messages: `routes/web.ts`. */
  readonly file: string;
}
