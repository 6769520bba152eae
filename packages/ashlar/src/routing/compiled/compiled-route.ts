import type { HttpContext, RouteInfo, RouteMatch } from "../../http/index.ts";
import { AshlarError } from "../../support/index.ts";
import type { HttpMethod, RouteAction } from "../definitions/controller-action.ts";
import type { ResourceOrigin } from "../definitions/route-definition.ts";
import type { RouteMark } from "../definitions/route-mark.ts";
import type { DomainPattern } from "../patterns/domain-pattern.ts";
import type { RoutePattern } from "../patterns/pattern.ts";

/** A route in a router, with everything that its groups and its routes file set applied. */
export interface CompiledRoute extends RouteInfo {
  /** Its handler: a function, a controller's method, a page or a redirect. */
  readonly handler: RouteAction;
  /** Where it was defined: `routes/web.ts:12`. */
  readonly location: string;
  /** How a feature made the route, or another route with the same handler; `null` if no feature did. */
  readonly mark: RouteMark | null;
  /** The host it is limited to, as written. */
  readonly domain: string | null;
  /** Handles a request, including middleware; set by the application at boot. */
  run: (context: HttpContext) => unknown;
  /** The same for a request whose body has not been read yet: it is read before the first middleware that needs it. */
  runWithBody: (context: HttpContext) => unknown;
}

/** A route of a router, and what its pattern captured. */
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
