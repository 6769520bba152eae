import type { PatternParameter } from "../patterns/pattern.ts";
import { labelOf, type Report } from "./compile-routes.ts";
import type { BoundRoute } from "./compiled-route.ts";
import type { RouteVariant } from "./route-variant.ts";

/** Reports routes with the same name. */
export function reportDuplicateNames(routes: readonly BoundRoute[], report: Report): void {
  const named = new Map<string, BoundRoute>();
  for (const route of routes) {
    if (route.name === null) continue;
    const first = named.get(route.name);
    if (first === undefined) named.set(route.name, route);
    else report(route.location, sameName(route, first));
  }
}

function sameName(route: BoundRoute, first: BoundRoute): string {
  const problem = `two routes are named "${route.name}"; the other is at ${first.location}.`;
  // Suggest renaming the API resource, because pages link to the other one by its routes' names.
  const origin = [route, first].map((one) => one.origin).find((one) => one?.builder === "api") ?? route.origin;
  if (origin === null) return problem;
  const { builder, resource } = origin;
  const base = `${builder === "api" ? "api" : "pages"}.${resource.replace(/^\/|\/$/g, "").replaceAll("/", ".")}`;
  return `${problem} To rename those of the resource, write Route.${builder}("${resource}", …).names("${base}").`;
}

/**
 * Reports every route that can't be reached, with or without its optional parameters, because an earlier route matches
 * all of its paths.
 */
export function reportConflicts(variants: readonly RouteVariant[], report: Report): void {
  const earlier = new Map<string, RouteVariant[]>();
  const reported = new Set<string>();
  for (const variant of variants) {
    for (const method of variant.route.methods) {
      const key = `${method} ${variant.route.host?.shape ?? ""} ${variant.tie}`;
      const rivals = earlier.get(key) ?? [];
      const winner = rivals.find((rival) => takesAllOf(rival, variant));
      rivals.push(variant);
      earlier.set(key, rivals);
      if (winner === undefined || reported.has(`${winner.order} ${variant.order}`)) continue;
      reported.add(`${winner.order} ${variant.order}`);
      report(variant.route.location, describe(variant, winner, method));
    }
  }
}

/**
 * Whether every path that matches `later` also matches `rival`. Both are on the same node of the tree, and equally
 * specific.
 */
function takesAllOf(rival: RouteVariant, later: RouteVariant): boolean {
  return later.captured.every((parameter, index) => takesAllValues(rival.captured[index]!, parameter));
}

function takesAllValues(wide: PatternParameter, narrow: PatternParameter): boolean {
  return wide.compiler === narrow.compiler || narrow.compiler.within.includes(wide.compilerName ?? "");
}

function describe(loser: RouteVariant, winner: RouteVariant, method: string): string {
  const label = labelOf([method], loser.route.pattern);
  const without = loser.absent.length > 0 ? ` without ${loser.absent.map((name) => `?${name}`).join(", ")}` : "";
  const by = `${winner.route.pattern} at ${winner.route.location}`;
  return `${label}: is never reached${without}; ${by} matches all of its paths.`;
}
