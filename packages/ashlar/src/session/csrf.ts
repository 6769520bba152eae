import type { HttpContext } from "../http/index.ts";
import { Route, RouteCollection } from "../routing/index.ts";
import { csrfToken } from "./forms/view-helpers.ts";

/** CSRF tokens for pages that Ashlar's views don't render: front ends, and pages that you write yourself. */
export const Csrf: {
  readonly routes: () => RouteCollection;
  readonly token: (context: HttpContext) => string;
} = Object.freeze({
  /**
   * The route `csrf`: `GET /csrf` responds with `{ "token": … }`, for front ends that don't get their token with a
   * page. They send it in the header `X-CSRF-TOKEN`. The token belongs to the session, which starts here if there isn't
   * one. A new token is needed after a login, after a logout, and when the session has expired.
   *
   * ```ts
   * export const ROUTES = [...Auth.routes(AuthControllers), ...Csrf.routes()];
   * ```
   *
   * Security: pages of other sites can't read the response, unless `CorsMiddleware` allows their origin.
   */
  routes(): RouteCollection {
    const show = Route.get("/csrf", (context) => {
      context.response.header("cache-control", "private, no-store");
      return { token: csrfToken(context) };
    });
    return new RouteCollection([show.name("csrf").respondsWithJson().madeBy("Csrf.routes")]);
  },
  /**
   * Returns a CSRF token of the request's session, with a new mask on each call, for the input `__token` or the header
   * `X-CSRF-TOKEN`. The session is then saved.
   *
   * @throws `E_SESSION` if the request does not go through `SessionMiddleware`
   */
  token: csrfToken,
});
