import { parseHost, type QueryParameters, type RouteParameters } from "../../http/index.ts";
import { AshlarError, suggestion } from "../../support/index.ts";
import type { BoundRoute } from "../compiled/compiled-route.ts";
import type { DomainPattern } from "../patterns/domain-pattern.ts";
import { encodeSegment } from "../patterns/path-encoding.ts";
import type { PatternParameter } from "../patterns/pattern.ts";
import "../errors.ts";

/** The origin of the application; a function if it is not known until the application listens. */
export type AppUrl = string | (() => string);

/**
 * Returns the path of a route, or the URL if it has a domain.
 *
 * @throws `E_MISSING_ROUTE_PARAMETER`, `E_INVALID_ROUTE_PARAMETER`, `E_INVALID_CONFIGURATION`
 */
export function buildUrl(
  route: BoundRoute,
  parameters: RouteParameters,
  appUrl: AppUrl | null,
  basePath: string,
): string {
  refuseUnknown(route, parameters);
  const origin = route.host === null ? "" : originOf(route, route.host, parameters, appUrl);
  return origin + basePath + buildPath(route, parameters);
}

/** Returns a query with its question mark; empty if there are no values. */
export function buildQuery(query: QueryParameters): string {
  const pairs = queryPairs(query);
  return pairs.length === 0 ? "" : `?${joinPairs(pairs)}`;
}

/** Returns a query's pairs, without those that are `null` or `undefined`. */
export function queryPairs(query: QueryParameters): [name: string, value: string][] {
  return Object.entries(query).flatMap(([name, value]) => {
    if (value === null || value === undefined) return [];
    const pair: [string, string] = [name, String(value)];
    if (pair.every((text) => text.isWellFormed())) return [pair];
    throw new AshlarError("E_INVALID_ROUTE_PARAMETER", "A query cannot contain text that is not well-formed Unicode.");
  });
}

/** Joins pairs as in a query, without the question mark. */
export function joinPairs(pairs: readonly (readonly [name: string, value: string])[]): string {
  return pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&");
}

function buildPath(route: BoundRoute, parameters: RouteParameters): string {
  const segments: string[] = [];
  let left: string | null = null;
  for (const segment of route.parsed.segments) {
    if (typeof segment === "string") {
      segments.push(segment);
      continue;
    }
    const value = valueFor(parameters, segment.name);
    if (value === null && segment.optional) left ??= segment.name;
    else if (value === null || left !== null) throw missing(route, left ?? segment.name);
    else segments.push(encodeValue(route, segment, value));
  }
  return `/${segments.join("/")}`;
}

function encodeValue(route: BoundRoute, { name, compiler, compilerName }: PatternParameter, value: string): string {
  const written = value === "" ? null : compiler.write(value);
  const parts = written === null ? [null] : compiler.takesRest ? written.split("/") : [written];
  const encoded = parts.map((part) => (part === null ? null : encodeSegment(part)));
  if (!encoded.includes(null)) return encoded.join("/");
  const wanted = compilerName === null ? "what a segment of a path can carry" : `what ":${compilerName}" takes`;
  throw invalid(`The value for the parameter "${name}" of the route ${named(route)} is not ${wanted}.`);
}

function originOf(route: BoundRoute, host: DomainPattern, parameters: RouteParameters, appUrl: AppUrl | null): string {
  if (appUrl === null) {
    throw new AshlarError(
      "E_INVALID_CONFIGURATION",
      `The route ${named(route)} has a domain. Set APP_URL to make URLs from it.`,
    );
  }
  const app = new URL(typeof appUrl === "string" ? appUrl : appUrl());
  const labels = host.labels.map((label) => {
    if ("text" in label) return label.text;
    const value = valueFor(parameters, label.parameter);
    if (value === null) throw missing(route, label.parameter);
    if (/^[a-z0-9_-]{1,63}$/.test(value)) return value;
    throw invalid(
      `The value for the parameter "${label.parameter}" of the route ${named(route)} cannot be part of a host.`,
    );
  });
  const name = host.isSubdomain ? `${labels[0]}.${parseHost(app.host).host}` : labels.join(".");
  return `${app.protocol}//${name}${app.port === "" ? "" : `:${app.port}`}`;
}

function valueFor(parameters: RouteParameters, name: string): string | null {
  const value = Object.hasOwn(parameters, name) ? parameters[name] : null;
  if (value === null || value === undefined) return null;
  if (typeof value === "string" || Number.isFinite(value)) return String(value);
  throw invalid(`The value for the parameter "${name}" is neither text nor a finite number.`);
}

function refuseUnknown(route: BoundRoute, parameters: RouteParameters): void {
  const known = [...route.parsed.parameters.map(({ name }) => name), ...(route.host?.parameters ?? [])];
  const unknown = Object.keys(parameters).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const near = suggestion(unknown, known);
  throw invalid(`The route ${named(route)} has no parameter "${unknown}". ${near} Pass query values separately.`);
}

function missing(route: BoundRoute, name: string): AshlarError {
  const message = `The route ${named(route)} needs a value for the parameter "${name}".`;
  return new AshlarError("E_MISSING_ROUTE_PARAMETER", message);
}

function invalid(message: string): AshlarError {
  return new AshlarError("E_INVALID_ROUTE_PARAMETER", message);
}

function named(route: BoundRoute): string {
  return `"${route.name}" (${route.pattern})`;
}
