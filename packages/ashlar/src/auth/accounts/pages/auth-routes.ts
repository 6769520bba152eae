import { Route, RouteCollection, type RouteDefinition } from "../../../routing/index.ts";
import { AshlarError, ConfigurationError, suggestion } from "../../../support/index.ts";
import { message } from "../../messages.ts";
import { ACCOUNT_PATHS } from "../links/account-pages.ts";
import type { AuthControllers, AuthRouteGroup, JsonAuthControllers } from "./auth-controllers.ts";
import "../../../http/index.ts";

/** Returns a route that shows a form, or nothing for API clients, which don't need it. */
type Form = (make: () => RouteDefinition) => readonly RouteDefinition[];

type Groups = {
  readonly [Group in AuthRouteGroup]: (
    controller: Required<AuthControllers>[Group],
    form: Form,
  ) => readonly RouteDefinition[];
};

const PATHS = ACCOUNT_PATHS;

/** How recently a user must have proved who they are to close the account, in minutes. */
const CONFIRMED = "password.confirm:10";

const GROUPS: Groups = {
  login: (controller, form) => [
    ...form(() => Route.get(PATHS.login, [controller, "show"]).name("login")),
    Route.post(PATHS.login, [controller, "store"]).name("login.store").middleware("throttle:login"),
    Route.post("/logout", [controller, "destroy"]).name("logout"),
    ...form(() => Route.get("/logout", refuseToLogOut)),
  ],
  home: (controller) => [Route.get(PATHS.home, [controller, "show"]).name("home").middleware("auth")],
  register: (controller, form) => [
    ...form(() => Route.get(PATHS.register, [controller, "show"]).name("register")),
    Route.post(PATHS.register, [controller, "store"]).name("register.store").middleware("throttle:register"),
  ],
  requestPasswordReset: (controller, form) => [
    ...form(() => Route.get(PATHS.change_password, [controller, "show"]).name("change_password")),
    Route.post(PATHS.change_password, [controller, "store"])
      .name("change_password.store")
      .middleware("throttle:change_password"),
  ],
  resetPassword: (controller) => [
    Route.get(PATHS.password_reset, [controller, "show"])
      .name("password_reset")
      .middleware("auth.page:token", "throttle:password_reset.show"),
    Route.post(PATHS.password_reset, [controller, "store"])
      .name("password_reset.store")
      .middleware("auth.page:token", "throttle:password_reset"),
  ],
  verifyEmail: (controller, form) => [
    ...form(() => Route.get(PATHS["email.verify.notice"], [controller, "notice"]).name("email.verify.notice")),
    Route.get(PATHS["email.verify"], [controller, "verify"]).name("email.verify").middleware("auth.page:token"),
    Route.post(PATHS["email.verify"], [controller, "store"])
      .name("email.verify.store")
      .middleware("auth.page:token", "throttle:email.undo"),
    Route.post("/email/resend", [controller, "resend"])
      .name("email.resend")
      .middleware("auth", "throttle:email.resend,user"),
  ],
  logins: (controller) => [
    Route.get(PATHS.logins, [controller, "index"]).name("logins").middleware("auth"),
    Route.delete(`${PATHS.logins}/@id`, [controller, "destroy"]).name("logins.destroy").middleware("auth"),
    Route.delete(PATHS.logins, [controller, "destroyOthers"])
      .name("logins.destroy_others")
      .middleware("auth", "throttle:logins.destroy_others,user"),
  ],
  confirmPassword: (controller, form) => [
    ...form(() => Route.get(PATHS.confirm_password, [controller, "show"]).name("confirm_password").middleware("auth")),
    Route.post(PATHS.confirm_password, [controller, "store"])
      .name("confirm_password.store")
      .middleware("auth", "throttle:login,user"),
  ],
  security: (controller) => [
    Route.get(PATHS["account.security"], [controller, "show"]).name("account.security").middleware("auth"),
  ],
  changePassword: (controller, form) => [
    ...form(() =>
      Route.get(PATHS["account.password"], [controller, "show"]).name("account.password").middleware("auth"),
    ),
    Route.post(PATHS["account.password"], [controller, "store"])
      .name("account.password.store")
      .middleware("auth", "throttle:login,user"),
  ],
  changeEmail: (controller, form) => [
    ...form(() => Route.get(PATHS["account.email"], [controller, "show"]).name("account.email").middleware("auth")),
    Route.post(PATHS["account.email"], [controller, "store"])
      .name("account.email.store")
      // The password on this page counts under the limit "login".
      .middleware("auth", "throttle:email.resend,user"),
  ],
  closeAccount: (controller, form) => [
    ...form(() =>
      Route.get(PATHS["account.close"], [controller, "show"]).name("account.close").middleware("auth", CONFIRMED),
    ),
    Route.post(PATHS["account.close"], [controller, "store"]).name("account.close.store").middleware("auth", CONFIRMED),
  ],
  undoEmailChange: (controller) => [
    Route.get(PATHS["email.undo"], [controller, "show"]).name("email.undo").middleware("auth.page:token"),
    Route.post(PATHS["email.undo"], [controller, "store"])
      .name("email.undo.store")
      .middleware("auth.page:token", "throttle:email.undo"),
  ],
  allowDevice: (controller) => [
    Route.get(PATHS["login.device"], [controller, "show"]).name("login.device").middleware("auth.page:token"),
    Route.post(PATHS["login.device"], [controller, "store"])
      .name("login.device.store")
      .middleware("auth.page:token", "throttle:email.undo"),
  ],
};

/** The groups that applications of earlier versions have no controllers for. */
const OPTIONAL: readonly AuthRouteGroup[] = ["allowDevice", "security", "closeAccount"];

/**
 * The address to which password managers send users to change their password (W3C, A Well-Known URL for Changing
 * Passwords). It redirects to the page for that, via the login, or, if the application doesn't have one, to the page
 * for a forgotten password.
 */
const CHANGE_PASSWORD: RouteDefinition = Route.get("/.well-known/change-password", ({ auth }) => {
  return auth.redirectToRoute(auth.hasRoute("account.password") ? "account.password" : "change_password");
}).with({ isWellKnown: true });

/** Options of `Auth.routes`: `false` for each group of routes to leave out, the guard, and whether there are pages. */
export interface AuthRouteOptions extends Readonly<Partial<Record<AuthRouteGroup, false>>> {
  /** The name of the guard whose accounts the routes manage; default: the default guard. */
  readonly guard?: string;
  /**
   * `true` for an application without pages: every route responds with JSON whatever the caller accepts, errors
   * included, and those that only show a form are left out. The controllers then need no methods for forms.
   */
  readonly json?: true;
}

/**
 * The routes of accounts: `Auth.routes`.
 *
 * ```ts
 * export const ROUTES = [...Auth.routes(AuthControllers, { register: false })];
 * ```
 *
 * With the option `guard`, a second guard gets its own routes: the guard is active on each of them, and their names
 * begin with its name, as in `admin.login`. The same controllers and templates serve both, because they use the pages
 * of the active guard (`auth.route("login")`, `auth.redirectToRoute("home")`). To give administrators their own pages,
 * name the guard in `config/auth.ts`, `admin: { driver: "web", model: Admin }`, and add the routes:
 *
 * ```ts
 * class AdminHomeController {
 *   show({ auth }: HttpContext) {
 *     return `Administration by ${auth.guardName}`;
 *   }
 * }
 *
 * export const ROUTES = [
 *   ...Auth.routes(AuthControllers),
 *   ...Auth.routes({ ...AuthControllers, home: AdminHomeController }, { guard: "admin", register: false }).prefix("/admin"),
 *   Route.group({ prefix: "/admin", middleware: ["auth:admin"] }, [Route.get("/orders", () => "The orders")]),
 * ];
 * ```
 *
 * Guests of `/admin/orders` are sent to `/admin/login`, administrators get mails with links to `/admin/…`, and logging
 * out of one guard does not affect the login with the other. If the routes have other names, such as those of
 * `Auth.routes(…, { guard: "admin" }).name("back.")`, set their prefix in `GUARDS.admin.routes`: `back.admin.`.
 *
 * The kernel names the middleware that the routes use: `auth.page` (`AuthPageMiddleware`, around all of them), `auth`
 * (`AuthenticationMiddleware`), `guard` (`GuardMiddleware`, for the option of this name) and `throttle`
 * (`ThrottleMiddleware`, with the limits `login`, `register`, `change_password`, `password_reset`,
 * `password_reset.show`, `email.undo`, `email.resend` and `logins.destroy_others`). If one is missing there, startup
 * fails, so that no password is accepted without a limit.
 *
 * With the option `json`, for front ends with their own pages, all routes respond with JSON, and the routes that only
 * show a form don't exist. Links in mails then lead to the front end: `ACCOUNTS.frontEndUrl`.
 *
 * `/.well-known/change-password`, where password managers look for it, redirects to the default guard's page for a new
 * password, unless `json` is set. It is always at the root of the host, regardless of `.prefix`, and a route of your own at
 * this path replaces it.
 *
 * The links in mails lead to the guard's routes `email.verify`, `email.undo` and `password_reset`: an application that
 * leaves these out defines its own.
 *
 * @param controllers the application's classes
 * @param options `false` for each group of routes to leave out, the guard, and whether there are pages
 * @throws `E_INVALID_CONFIGURATION` if a controller is missing, a group is unknown, or `guard` cannot be a guard's name
 */
export function authRoutes(controllers: AuthControllers, options?: AuthRouteOptions): RouteCollection;
export function authRoutes<Options extends AuthRouteOptions & { readonly json: true }>(
  controllers: Omit<JsonAuthControllers, keyof Options>,
  options: Options,
): RouteCollection;
export function authRoutes<Options extends AuthRouteOptions>(
  controllers: Omit<AuthControllers, keyof Options>,
  options: Options,
): RouteCollection;
export function authRoutes(given: object, options: AuthRouteOptions = {}): RouteCollection {
  const { guard, json, ...left } = options;
  const known = Object.keys(GROUPS) as AuthRouteGroup[];
  for (const name of [...Object.keys(given), ...Object.keys(left)]) {
    if (known.includes(name as AuthRouteGroup)) continue;
    throw new ConfigurationError("Auth.routes", `"${name}" is not a group of routes.`, suggestion(name, known));
  }
  const form: Form = (make) => (json === true ? [] : [make()]);
  const routes = known.flatMap((group) => {
    if (left[group] !== false) return routesOf(group, given, form);
    // The controllers identify routes that the author has written instead.
    const { [group]: controller } = given as Partial<AuthControllers>;
    if (typeof controller === "function") for (const route of routesOf(group, given, form)) route.madeBy("Auth.routes");
    return [];
  });
  // An origin has only one such address, for the default guard's accounts. A front end has its own.
  const hasPasswords = left.changePassword !== false || left.requestPasswordReset !== false;
  if (guard === undefined && hasPasswords && json !== true) routes.push(CHANGE_PASSWORD);
  const own = (guard === undefined ? routes : routesBy(guard, routes)).map(keepOutOfCaches);
  const all = new RouteCollection(own.map((route) => route.madeBy("Auth.routes")));
  return json === true ? all.respondsWithJson() : all;
}

/** The routes with the guard's own names. The guard is active on each of them. */
function routesBy(guard: unknown, routes: readonly RouteDefinition[]): RouteDefinition[] {
  if (typeof guard !== "string" || !/^[^\s:,]+$/.test(guard)) {
    throw new ConfigurationError("Auth.routes", "guard is not the name of a guard.", 'Write { guard: "admin" }.');
  }
  return routes.map((route) => {
    const { name, middleware } = route.attributes;
    const named = middleware.map((entry) => (entry === "auth" ? `auth:${guard}` : entry));
    // Before the limits, which count for the active guard, and after the middleware that keeps responses out of caches.
    const first = named[0]?.startsWith("auth.page") ? [named.shift()!] : [];
    return route.with({
      name: name === null ? null : `${guard}.${name}`,
      middleware: [...first, `guard:${guard}`, ...named],
    });
  });
}

function routesOf<G extends AuthRouteGroup>(
  group: G,
  controllers: Partial<AuthControllers>,
  form: Form,
): readonly RouteDefinition[] {
  const controller = controllers[group];
  if (typeof controller === "function") {
    const routes = GROUPS[group](controller as Required<AuthControllers>[G], form);
    // The application may extend the registration form, for example with a picture. The other forms are short, and
    // their bodies have to be read before they are counted, since they contain the account to count by.
    return group === "register" ? routes : routes.map((route) => route.bodyLimit("64kb"));
  }
  // Older applications don't have one.
  if (OPTIONAL.includes(group) && controller === undefined) return [];
  const remedy = `Add ${group}: ${group.charAt(0).toUpperCase()}${group.slice(1)}Controller, or leave the routes out: { ${group}: false }.`;
  throw new ConfigurationError("Auth.routes", `the controller "${group}" is missing.`, remedy);
}

/** Outermost, to keep responses from other middleware out of caches too. */
function keepOutOfCaches(route: RouteDefinition): RouteDefinition {
  const { middleware } = route.attributes;
  return middleware[0]?.startsWith("auth.page") ? route : route.with({ middleware: ["auth.page", ...middleware] });
}

function refuseToLogOut(): never {
  throw new AshlarError("E_METHOD_NOT_ALLOWED", message("auth.logout.byLink"), { headers: { Allow: "POST" } });
}
