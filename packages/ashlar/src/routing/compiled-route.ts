import type { HttpContext, RouteInfo, RouteMatch } from "../http/index.ts";
import { AshlarError } from "../support/index.ts";
import type { HttpMethod, RouteAction } from "./controller-action.ts";
import type { DomainPattern } from "./domain-pattern.ts";
import type { RoutePattern } from "./pattern.ts";
import type { ResourceOrigin } from "./route-definition.ts";

/** A route as a router has it, everything that its groups and its routes file say applied. */
export interface CompiledRoute extends RouteInfo {
  /** What answers: a function, a controller's method, a page or a redirect. */
  readonly handler: RouteAction;
  /** Where it was written: `routes/web.ts:12`. */
  readonly location: string;
  /** The host it is limited to, as written. */
  readonly domain: string | null;
  /** Answers a request, its middleware included; set by the application at boot. */
  run: (context: HttpContext) => unknown;
  /** The same for a request whose body has still to be read: before the first middleware that needs it. */
  runWithBody: (context: HttpContext) => unknown;
}

/** A route of a router, and what its pattern captured. */
export interface CompiledMatch extends RouteMatch {
  readonly route: CompiledRoute;
}

/** A compiled route with what the router needs of it beyond that. */
export interface BoundRoute extends CompiledRoute {
  readonly methods: readonly HttpMethod[];
  readonly parsed: RoutePattern;
  readonly host: DomainPattern | null;
  readonly origin: ResourceOrigin | null;
}

/** Stands in for the pipeline until the application has built it. */
export function notYetBuilt(): never {
  throw new AshlarError("E_INTERNAL", "The pipeline of the route has not been built.");
}
