import { Route, type RouteDefinition } from "../routing/index.ts";
import { TokenController } from "./token-controller.ts";

/** Where the token endpoints are. */
export interface ApiRouteOptions {
  /** Where credentials are exchanged for a token; `/api/auth` where left out. */
  readonly authRoute?: string;
  /** Where a token is exchanged for a new one; `/api/reauth` where left out. */
  readonly reauthRoute?: string;
}

/** The token endpoints, for the web routes list: `ROUTES = [..., ...Api.routes()]`. */
export const Api: { readonly routes: (options?: ApiRouteOptions) => readonly RouteDefinition[] } = Object.freeze({
  /**
   * The routes `api.auth` and `api.reauth`. They stand outside of the `web` stack: no session, no cookie, no CSRF check.
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
        .answersJson()
        .bodyLimit("64kb"),
      Route.post(reauthRoute, [TokenController, "renew"])
        .name("api.reauth")
        .withoutMiddleware("web")
        .answersJson()
        .bodyLimit("64kb"),
    ];
  },
});
