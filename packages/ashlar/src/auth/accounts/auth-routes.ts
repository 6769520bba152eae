import { Route, RouteCollection, type RouteDefinition } from "../../routing/index.ts";
import { AshlarError, ConfigurationError, suggestion } from "../../support/index.ts";
import type { AuthControllers, AuthRouteGroup } from "./auth-controllers.ts";

type Groups = {
  readonly [Group in AuthRouteGroup]: (controller: AuthControllers[Group]) => readonly RouteDefinition[];
};

const GROUPS: Groups = {
  login: (controller) => [
    Route.get("/login", [controller, "show"]).name("login"),
    Route.post("/login", [controller, "store"]).name("login.store").middleware("throttle:login"),
    Route.post("/logout", [controller, "destroy"]).name("logout"),
    Route.get("/logout", refuseToLogOut),
  ],
  home: (controller) => [Route.get("/home", [controller, "show"]).name("home").middleware("auth")],
  register: (controller) => [
    Route.get("/register", [controller, "show"]).name("register"),
    Route.post("/register", [controller, "store"]).name("register.store").middleware("throttle:register"),
  ],
  forgotPassword: (controller) => [
    Route.get("/change_password", [controller, "show"]).name("change_password"),
    Route.post("/change_password", [controller, "store"])
      .name("change_password.store")
      .middleware("throttle:change_password"),
  ],
  resetPassword: (controller) => [
    Route.get("/password_reset", [controller, "show"]).name("password_reset").middleware("auth.page:token"),
    Route.post("/password_reset", [controller, "store"])
      .name("password_reset.store")
      .middleware("auth.page:token", "throttle:password_reset"),
  ],
  verifyEmail: (controller) => [
    Route.get("/email/verify/notice", [controller, "notice"]).name("email.verify.notice"),
    Route.get("/email/verify/@token", [controller, "verify"]).name("email.verify").middleware("auth.page:token"),
    Route.post("/email/resend", [controller, "resend"])
      .name("email.resend")
      .middleware("auth", "throttle:email.resend"),
  ],
  sessions: (controller) => [
    Route.get("/sessions", [controller, "index"]).name("sessions").middleware("auth"),
    Route.delete("/sessions/@id", [controller, "destroy"]).name("sessions.destroy").middleware("auth"),
    Route.delete("/sessions", [controller, "destroyOthers"]).name("sessions.destroy_others").middleware("auth"),
  ],
  confirmPassword: (controller) => [
    Route.get("/confirm_password", [controller, "show"]).name("confirm_password").middleware("auth"),
    Route.post("/confirm_password", [controller, "store"])
      .name("confirm_password.store")
      .middleware("auth", "throttle:login"),
  ],
  changePassword: (controller) => [
    Route.get("/account/password", [controller, "show"]).name("account.password").middleware("auth"),
    Route.post("/account/password", [controller, "store"])
      .name("account.password.store")
      .middleware("auth", "throttle:login"),
  ],
  changeEmail: (controller) => [
    Route.get("/account/email", [controller, "show"]).name("account.email").middleware("auth"),
    Route.post("/account/email", [controller, "store"])
      .name("account.email.store")
      .middleware("auth", "throttle:email.resend"),
  ],
};

/**
 * The routes of accounts: `Auth.routes`.
 *
 * ```ts
 * export const ROUTES = [...Auth.routes(AuthControllers, { register: false })];
 * ```
 *
 * The kernel names the middleware they use: `auth.page` (`AuthPageMiddleware`, around all of them), `auth`
 * (`AuthenticationMiddleware`) and `throttle` (`ThrottleMiddleware`, with the limits `login`, `register`,
 * `change_password`, `password_reset` and `email.resend`). One that is missing there ends the boot.
 *
 * The links in mails lead to the routes named `email.verify` and `password_reset`: an application that leaves these out
 * defines its own.
 *
 * @param controllers the application's classes
 * @param options `false` for each group of routes to leave out
 * @throws `E_INVALID_CONFIGURATION` where a controller is missing, or a group is none
 */
export function authRoutes(controllers: AuthControllers): RouteCollection;
export function authRoutes<Out extends AuthRouteGroup>(
  controllers: Omit<AuthControllers, Out>,
  options: Readonly<Record<Out, false>>,
): RouteCollection;
export function authRoutes(
  given: Partial<AuthControllers>,
  left: Readonly<Partial<Record<AuthRouteGroup, false>>> = {},
): RouteCollection {
  const known = Object.keys(GROUPS) as AuthRouteGroup[];
  for (const name of [...Object.keys(given), ...Object.keys(left)]) {
    if (known.includes(name as AuthRouteGroup)) continue;
    throw new ConfigurationError("Auth.routes", `"${name}" is no group of routes.`, suggestion(name, known));
  }
  const routes = known.flatMap((group) => (left[group] === false ? [] : routesOf(group, given)));
  return new RouteCollection(routes.map(keepOutOfCaches));
}

function routesOf<G extends AuthRouteGroup>(
  group: G,
  controllers: Partial<AuthControllers>,
): readonly RouteDefinition[] {
  const controller = controllers[group];
  if (typeof controller === "function") return GROUPS[group](controller as AuthControllers[G]);
  const remedy = `Add ${group}: ${group.charAt(0).toUpperCase()}${group.slice(1)}Controller, or leave the routes out: { ${group}: false }.`;
  throw new ConfigurationError("Auth.routes", `there is no controller "${group}".`, remedy);
}

/** Outermost, so that what the other middleware answers is kept out as well. */
function keepOutOfCaches(route: RouteDefinition): RouteDefinition {
  const { middleware } = route.attributes;
  return middleware[0]?.startsWith("auth.page") ? route : route.with({ middleware: ["auth.page", ...middleware] });
}

function refuseToLogOut(): never {
  throw new AshlarError(
    "E_METHOD_NOT_ALLOWED",
    "You were not logged out. A link cannot log you out, since any other site could have you follow it; go back and use " +
      "the button.",
    { headers: { Allow: "POST" } },
  );
}
