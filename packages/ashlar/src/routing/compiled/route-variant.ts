import { routeNodeKeys } from "rou3";
import { type PatternParameter, segmentsByLength, toRou3 } from "../patterns/pattern.ts";
import type { BoundRoute } from "./compiled-route.ts";

/** A route with some or all of its optional parameters. These are what rou3 stores. */
export interface RouteVariant {
  readonly route: BoundRoute;
  /** The pattern in rou3's syntax. */
  readonly path: string;
  readonly captured: readonly PatternParameter[];
  /** The names of the optional parameters that this variant lacks. */
  readonly absent: readonly string[];
  /** Equal for variants that rou3 considers equally specific. Of these, the one defined first wins. */
  readonly tie: string;
  /** The route's position in the order of definition. */
  readonly order: number;
}

/** The variants of all routes, in the order of definition. */
export function variantsOf(routes: readonly BoundRoute[]): RouteVariant[] {
  return routes.flatMap((route, order) =>
    segmentsByLength(route.parsed).map((segments) => {
      const captured = segments.filter((segment) => typeof segment !== "string");
      const path = toRou3(segments);
      const restricted = captured.map(({ compiler }) => (compiler.constraint === null ? "-" : "+")).join("");
      return {
        route,
        path,
        captured,
        absent: route.parsed.parameters.slice(captured.length).map(({ name }) => name),
        tie: `${routeNodeKeys(path)[0]} ${restricted}`,
        order,
      };
    }),
  );
}
