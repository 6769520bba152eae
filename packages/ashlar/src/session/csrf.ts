import { Route, RouteCollection } from "../routing/index.ts";
import { csrfToken } from "./forms/csrf-field.ts";

/** The endpoint for CSRF tokens, for the web routes list: `ROUTES = [..., ...Csrf.routes()]`. */
export const Csrf: { readonly routes: () => RouteCollection } = Object.freeze({
  /**
   * The route `csrf`: `GET /csrf` responds with `{ "token": … }`, for front ends that don't get their token with a page. They
   * send it as the header `X-CSRF-TOKEN`. It belongs to the session, which starts here if there is none, as with a form: a
   * login, a logout and an expired session require a new one.
   *
   * ```ts
   * export const ROUTES = [...Auth.routes(AuthControllers), ...Csrf.routes()];
   * ```
   *
   * Security: pages of other sites can't read the response, unless `CorsMiddleware` lets their origin.
   */
  routes(): RouteCollection {
    const show = Route.get("/csrf", (context) => {
      context.response.header("cache-control", "private, no-store");
      return { token: csrfToken(context) };
    });
    return new RouteCollection([show.name("csrf").respondsWithJson()]);
  },
});
