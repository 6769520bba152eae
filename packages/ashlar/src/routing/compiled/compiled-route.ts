import type { HttpContext, RouteInfo, RouteMatch } from "../../http/index.ts";
import { AshlarError } from "../../support/index.ts";
import type { HttpMethod, RouteAction } from "../definitions/controller-action.ts";
import type { ResourceOrigin } from "../definitions/route-definition.ts";
import type { RouteMark } from "../definitions/route-mark.ts";
import type { DomainPattern } from "../patterns/domain-pattern.ts";
import type { RoutePattern } from "../patterns/pattern.ts";

/** A route in a router, after the options of its groups and its routes file have been applied. */
export interface CompiledRoute extends RouteInfo {
  /** Its handler: a function, a controller's method, a page or a redirect. */
  readonly handler: RouteAction;
  /** Where it was defined: `routes/web.ts:12`. */
  readonly location: string;
  /**
   * Which of a feature's functions made this route, or another route with the same handler; `null` if no feature made
   * it.
   */
  readonly mark: RouteMark | null;
  /** The host that the route is limited to, as written in the routes file. */
  readonly domain: string | null;
  /** Handles a request, including middleware; set by the application at boot. */
  run: (context: HttpContext) => unknown;
  /** Handles a request whose body has not been read yet. The body is read before the first middleware that needs it. */
  runWithBody: (context: HttpContext) => unknown;
}

/** A matched route, and the values that its pattern captured. */
export interface CompiledMatch extends RouteMatch {
  readonly route: CompiledRoute;
}

/** A compiled route with additional data for the router. */
export interface BoundRoute extends CompiledRoute {
  readonly methods: readonly HttpMethod[];
  readonly parsed: RoutePattern;
  readonly host: DomainPattern | null;
  readonly origin: ResourceOrigin | null;
}

/** Used as the pipeline until the application has built it. */
export function notYetBuilt(): never {
  throw new AshlarError("E_INTERNAL", "The pipeline of the route has not been built.");
}
