import { AshlarError } from "../../support/index.ts";
import { bodyLimitBytes } from "../definitions/body-limit.ts";
import { HTTP_METHODS, type HttpMethod, problemOfAction } from "../definitions/controller-action.ts";
import { flattenEntries, joinPaths, type RouteSource } from "../definitions/route-collection.ts";
import type { RouteDefinition } from "../definitions/route-definition.ts";
import { markOfAction } from "../definitions/route-mark.ts";
import type { CompilerSet } from "../patterns/compilers.ts";
import { type DomainPattern, parseDomain } from "../patterns/domain-pattern.ts";
import { parsePattern, type RoutePattern } from "../patterns/pattern.ts";
import { type BoundRoute, notYetBuilt } from "./compiled-route.ts";
import "../errors.ts";

/** The stack whose routes respond with JSON, wherever they are defined. */
const API_STACK = "api";

/** Receives all problems in the routes files. */
export type Report = (location: string, problem: string) => void;

/** Returns the routes of all sources, in order; a route with a problem is reported and omitted. */
export function compileRoutes(sources: readonly RouteSource[], compilers: CompilerSet, report: Report): BoundRoute[] {
  const listed = sources.flatMap((source) => {
    if (!Array.isArray(source.entries)) {
      report(source.file, "ROUTES is not a list.");
      return [];
    }
    const foreign = () => report(source.file, "ROUTES lists something that is not a route.");
    return flattenEntries(source.entries, foreign).map((definition) => ({ definition, source }));
  });
  const taken = new Set(listed.map(({ definition, source }) => pathOf(definition, source, "")));
  return listed.flatMap(({ definition, source }) => {
    if (definition.attributes.isWellKnown === true) {
      const { path } = definition.attributes;
      if (taken.has(path)) return [];
      taken.add(path);
    }
    if (
      definition.attributes.isReplaceable === true &&
      listed.some((other) => replaces(other, { definition, source }))
    ) {
      return [];
    }
    return compileRoute(definition, source, compilers, report) ?? [];
  });
}

interface ListedRoute {
  readonly definition: RouteDefinition;
  readonly source: RouteSource;
}

/** Reports whether a route is the application's own, and has the path and one of the methods of another route. */
function replaces(own: ListedRoute, other: ListedRoute): boolean {
  const { isReplaceable = false, methods, domain } = own.definition.attributes;
  if (isReplaceable || domain !== other.definition.attributes.domain) return false;
  if (!other.definition.attributes.methods.some((method) => methods.includes(method))) return false;
  return pathOf(own.definition, own.source) === pathOf(other.definition, other.source);
}

/** @param wellKnown the value for a well-known address, which has no prefix */
function pathOf({ attributes }: RouteDefinition, { prefix }: RouteSource, wellKnown = attributes.path): string {
  return attributes.isWellKnown === true ? wellKnown : joinPaths(prefix, attributes.path);
}

function compileRoute(
  definition: RouteDefinition,
  source: RouteSource,
  compilers: CompilerSet,
  report: Report,
): BoundRoute | null {
  const { attributes } = definition;
  const path = pathOf(definition, source);
  const problems: string[] = [];
  const attempt = <T>(make: () => T): T | null => {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof AshlarError)) throw error;
      problems.push(error.message);
      return null;
    }
  };
  if (attributes.problem !== null) {
    report(attributes.location.toString(), attributes.problem);
    return null;
  }
  const methods = attempt(() => checkMethods(attributes.methods));
  const parsed = attempt(() => parsePattern(path, compilers));
  const host = attempt(() => (attributes.domain === null ? null : parseDomain(attributes.domain)));
  const { bodyLimit, streamsBody = false, streamsFiles = false } = attributes;
  const isStreamed = streamsBody || streamsFiles;
  const limit = attempt(() => (bodyLimit === null ? null : bodyLimitBytes(bodyLimit, isStreamed)));
  if (streamsBody && streamsFiles) problems.push("choose one of streamsBody() and streamsFiles().");
  problems.push(...problemsOf({ attributes }, parsed, host));
  for (const problem of problems) {
    report(attributes.location.toString(), `${labelOf(attributes.methods, path)}: ${problem}`);
  }
  if (problems.length > 0 || methods === null || parsed === null) return null;
  const stack = source.stack === null ? [] : [source.stack];
  const middleware = activeMiddleware([...stack, ...attributes.middleware], attributes.withoutMiddleware);
  return {
    name: attributes.name,
    pattern: parsed.text,
    methods,
    middleware,
    // An API caller gets JSON for every error, including errors outside of the route's stack.
    respondsWithJson: attributes.respondsWithJson ?? (source.respondsWithJson || usesMiddleware(middleware, API_STACK)),
    bodyLimitBytes: limit,
    streamsBody,
    streamsFiles,
    handler: attributes.action,
    // Computed on demand: it is expensive, and only messages and listings need it.
    get location() {
      return attributes.location.toString();
    },
    mark: attributes.mark ?? markOfAction(attributes.action),
    domain: attributes.domain,
    run: notYetBuilt,
    runWithBody: notYetBuilt,
    parsed,
    host,
    origin: attributes.origin,
  };
}

function problemsOf(
  { attributes }: Pick<RouteDefinition, "attributes">,
  parsed: RoutePattern | null,
  host: DomainPattern | null,
): string[] {
  const problems: string[] = [];
  const action = problemOfAction(attributes.action);
  if (action !== null) problems.push(`${action}.`);
  const named = [...attributes.middleware, ...attributes.withoutMiddleware];
  if (!areMiddlewareNames(named)) problems.push("middleware must be named by text that is not empty.");
  if (attributes.name !== null && (typeof attributes.name !== "string" || attributes.name.trim() === "")) {
    problems.push("the name of the route is empty.");
  }
  const twice = host?.parameters.find((name) => parsed?.parameters.some((parameter) => parameter.name === name));
  if (twice !== undefined) problems.push(`the path and the domain both have a parameter named "${twice}".`);
  return problems;
}

function checkMethods(methods: readonly string[]): readonly HttpMethod[] {
  if (!Array.isArray(methods) || methods.length === 0) throw new AshlarError("E_INVALID_ROUTE", "it has no method.");
  const known = [...new Set(methods.map((method) => String(method).toUpperCase()))].map((method) => {
    const found = HTTP_METHODS.find((one) => one === method);
    if (found !== undefined) return found;
    const remedy = method === "HEAD" ? "a route for GET handles it too" : `use ${HTTP_METHODS.join(", ")}`;
    throw new AshlarError("E_INVALID_ROUTE", `"${method}" is not a method of a route; ${remedy}.`);
  });
  return Object.freeze(known);
}

/** The name of a route in messages: `GET /orders/@id`. */
export function labelOf(methods: readonly string[], pattern: string): string {
  const every = methods.length === HTTP_METHODS.length;
  return `${every ? "ANY" : Array.isArray(methods) ? methods.join("|") : "?"} ${pattern}`;
}

/**
 * Returns the middleware that applies to a route, outermost first, without duplicates.
 *
 * @param names the middleware of the routes file, the groups and the route, outermost first
 * @param without exact texts (`guard:jwt`), or names (`guard`), which remove the middleware with any arguments
 */
export function activeMiddleware(names: readonly string[], without: readonly string[]): readonly string[] {
  const removed = new Set(without);
  return Object.freeze([...new Set(names)].filter((text) => !removed.has(text) && !removed.has(nameOf(text))));
}

/** Reports whether a list names a middleware, with or without arguments. */
export function usesMiddleware(texts: readonly string[], name: string): boolean {
  return texts.some((text) => nameOf(text) === name);
}

/** Reports whether a list contains only valid names of middleware. */
export function areMiddlewareNames(texts: readonly unknown[]): boolean {
  return texts.every((text) => typeof text === "string" && nameOf(text).trim() !== "");
}

/** The text before the colon. */
function nameOf(text: string): string {
  const colon = text.indexOf(":");
  return colon === -1 ? text : text.slice(0, colon);
}
