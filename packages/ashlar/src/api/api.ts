import { Route, type RouteDefinition } from "../routing/index.ts";
import { TokenController } from "./token-controller.ts";

/** The paths of the token endpoints. */
export interface ApiRouteOptions {
  /** Where credentials are exchanged for a token; default: `/api/auth`. */
  readonly authRoute?: string;
  /** Where a token is exchanged for a new one; default: `/api/reauth`. */
  readonly reauthRoute?: string;
}

/** The token endpoints, for the web routes list: `ROUTES = [..., ...Api.routes()]`. */
export const Api: { readonly routes: (options?: ApiRouteOptions) => readonly RouteDefinition[] } = Object.freeze({
  /**
   * The routes `api.auth` and `api.reauth`. They are outside of the `web` stack: no session, no cookie, no CSRF check.
   *
   * ```ts
   * export const ROUTES = [...Api.routes({ authRoute: "/token", reauthRoute: "/token/renew" })];
   * ```
   */
  routes({ authRoute = "/api/auth", reauthRoute = "/api/reauth" }: ApiRouteOptions = {}): readonly RouteDefinition[] {
    return [
      Route.post(authRoute, [TokenController, "issue"])
        .name("api.auth")
        .withoutMiddleware("web")
        .respondsWithJson()
        .bodyLimit("64kb"),
      Route.post(reauthRoute, [TokenController, "renew"])
        .name("api.reauth")
        .withoutMiddleware("web")
        .respondsWithJson()
        .bodyLimit("64kb"),
    ];
  },
});
