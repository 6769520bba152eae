import type { LoginResult } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import type { HttpContext, HttpResponse } from "../../http/index.ts";
import {
  type CompiledRoute,
  type ControllerClass,
  Route,
  type RouteCollection,
  type RouteDefinition,
} from "../../routing/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import { LOGIN_ROUTE, remedyFor } from "../drivers/drivers.ts";
import { DRIVERS_PLACE, isDriverName } from "../settings/driver-settings.ts";
import { KeysController } from "./keys-controller.ts";
import { respondToLogin, TokenController } from "./token-controller.ts";

/** The paths of the token endpoints, and their driver. */
export interface ApiRouteOptions {
  /**
   * The path at which credentials are exchanged for a token; default: `/api/auth`, or `/api/<driver>/auth` if a driver
   * is named.
   */
  readonly authRoute?: string;
  /** The path at which a token is exchanged for a new one; default: `/api/reauth`, or `/api/<driver>/reauth`. */
  readonly reauthRoute?: string;
  /**
   * The path at which a token is revoked; default: `/api/logout`, or `/api/<driver>/logout`. A route of your own at
   * this path replaces it.
   */
  readonly logoutRoute?: string;
  /** The driver whose tokens are issued; default: the first one of `DRIVERS` that issues any. */
  readonly driver?: string;
}

/** The path of the public keys, and their driver. */
export interface KeyRouteOptions {
  /** The path; default: `/.well-known/jwks.json`, or `/.well-known/<driver>/jwks.json` if a driver is named. */
  readonly path?: string;
  /** The driver whose keys are published; default: the first one of `DRIVERS` that issues tokens. */
  readonly driver?: string;
}

/** The application's controller for the page of personal tokens. */
export interface PersonalTokensController {
  /** `GET /account/tokens`, for users: their tokens, and a form with `name`, `abilities`, `days` and `form`. */
  index(context: HttpContext): unknown;
  /** `POST /account/tokens`, for users: creates a token, which only this response contains. */
  store(context: HttpContext): unknown;
  /** `DELETE /account/tokens/@id`, for users: revokes a token. */
  destroy(context: HttpContext): unknown;
}

/** The token that `Api.respond` issues. */
export interface TokenResponseOptions {
  /** The driver that issues it; default: the first one of `DRIVERS` that issues any. */
  readonly driver?: string;
  /** The token's name for its user; default: the device's name. */
  readonly name?: string | null;
  /** The abilities of the token; default: all that the user may give. */
  readonly abilities?: readonly string[] | null;
}

/** Options of `Api.personalTokens`. */
export interface PersonalTokenRouteOptions {
  /** The name of the guard with the tokens' users; default: the default guard. */
  readonly guard?: string;
  /** `true` for an application without pages: every route then responds with JSON, errors included. */
  readonly json?: true;
}

/** The token endpoints, for the web routes list: `ROUTES = [..., ...Api.routes()]`. */
export const Api: {
  readonly routes: (options?: ApiRouteOptions) => readonly RouteDefinition[];
  readonly keys: (options?: KeyRouteOptions) => readonly RouteDefinition[];
  readonly respond: (context: HttpContext, login: LoginResult, options?: TokenResponseOptions) => Promise<HttpResponse>;
  readonly personalTokens: (
    controller: ControllerClass<PersonalTokensController>,
    options?: PersonalTokenRouteOptions,
  ) => RouteCollection;
} = Object.freeze({
  /**
   * The routes `api.auth`, `api.reauth` and `api.logout`. They are outside of the `web` stack: no session, no cookie, no CSRF check.
   *
   * ```ts
   * export const ROUTES = [...Api.routes({ authRoute: "/token", reauthRoute: "/token/renew" })];
   * ```
   *
   * The names of another driver's routes begin with its name, such as `admin.api.auth` for `Api.routes({ driver:
   * "admin" })`.
   *
   * @throws `E_INVALID_CONFIGURATION` if `driver` is not a valid name for a driver
   */
  routes({ driver, ...paths }: ApiRouteOptions = {}): readonly RouteDefinition[] {
    const base = driver === undefined ? "/api" : `/api/${driver}`;
    const { authRoute = `${base}/auth`, reauthRoute = `${base}/reauth`, logoutRoute = `${base}/logout` } = paths;
    const controller = ofDriver(TokenController, driver, "Api.routes");
    const prefix = driver === undefined ? "" : `${driver}.`;
    const endpoint = (path: string, method: "issue" | "renew" | "revoke", name: string): RouteDefinition => {
      return Route.post(path, [controller, method])
        .name(`${prefix}${name}`)
        .withoutMiddleware("web")
        .respondsWithJson()
        .bodyLimit("64kb")
        .madeBy("Api.routes", { countsBy: TokenController.limits[method] });
    };
    return [
      endpoint(authRoute, "issue", LOGIN_ROUTE),
      endpoint(reauthRoute, "renew", "api.reauth"),
      endpoint(logoutRoute, "revoke", "api.logout").with({ isReplaceable: true }),
    ];
  },

  /**
   * The route `api.keys`, which publishes the public keys with which other services can verify tokens (RFC 7517). It is
   * outside of the `web` stack, and responds with 404 if the tokens are signed with a secret.
   *
   * ```ts
   * export const ROUTES = [...Api.routes(), ...Api.keys()];
   * ```
   *
   * @throws `E_INVALID_CONFIGURATION` if `driver` is not a valid name for a driver
   */
  keys({ driver, ...options }: KeyRouteOptions = {}): readonly RouteDefinition[] {
    const { path = driver === undefined ? "/.well-known/jwks.json" : `/.well-known/${driver}/jwks.json` } = options;
    const controller = ofDriver(KeysController, driver, "Api.keys");
    return [
      Route.get(path, [controller, "show"])
        .name(`${driver === undefined ? "" : `${driver}.`}api.keys`)
        .withoutMiddleware("web")
        .respondsWithJson()
        .madeBy("Api.keys"),
    ];
  },

  /**
   * Responds to a login with a token, as `POST /api/auth` does, regardless of the proof. Use it for a token endpoint
   * with your own kind of proof.
   *
   * ```ts
   * declare function ownerOf(assertion: unknown): Promise<User | null>; // yours: verifies a passkey
   *
   * async function tokenForPasskey(context: HttpContext) {
   *   const guard = context.auth.guard("jwt");
   *   const user = await ownerOf(context.request.bodyInput("assertion"));
   *   const login = user === null ? await guard.fail({ by: "passkey" }) : await guard.enter(user, { by: "passkey" });
   *   return Api.respond(context, login);
   * }
   * ```
   *
   * Use the driver's guard, which logs in for this request only, and a route outside of the stack `web` that responds
   * with JSON.
   *
   * @throws `E_LOGIN_PENDING` with the name of the required `step`; `E_LOGIN_REFUSED` with the step's message;
   * `E_INVALID_CREDENTIALS` if the proof failed, or access to the account has ended since; `E_INVALID_MODEL` for a user of
   * another class than the driver's; `E_INVALID_INPUT` if the user may not give one of the abilities
   */
  respond(context: HttpContext, login: LoginResult, { driver, ...wanted }: TokenResponseOptions = {}) {
    return respondToLogin(context, login, context.apiTokens.drivers.issuer(driver), wanted);
  },

  /**
   * The routes `account.tokens`, `account.tokens.store` and `account.tokens.destroy`: the page on which users create
   * and revoke personal tokens. They require a login with a cookie, and a password confirmation within the last three
   * hours (`password.confirm`).
   *
   * ```ts
   * export const ROUTES = [...Auth.routes(AuthControllers), ...Api.personalTokens(TokensController)];
   * ```
   *
   * To keep users with an unverified address out, add `.middleware("verified")`. The names of another guard's routes
   * begin with its name, such as `admin.account.tokens` of `Api.personalTokens(Controller, { guard: "admin" })`.
   *
   * @param controller the application's class
   * @throws `E_INVALID_CONFIGURATION` if `guard` is not a valid name for a guard
   */
  personalTokens(
    controller: ControllerClass<PersonalTokensController>,
    { guard, json }: PersonalTokenRouteOptions = {},
  ): RouteCollection {
    const path = "/account/tokens";
    const routes = [
      Route.get(path, [controller, "index"]).name("account.tokens"),
      Route.post(path, [controller, "store"]).name("account.tokens.store").middleware("throttle:personal_tokens,user"),
      Route.delete(`${path}/@id`, [controller, "destroy"]).name("account.tokens.destroy"),
    ].map((route) => route.bodyLimit("64kb").madeBy("Api.personalTokens"));
    const own = guard === undefined ? null : checked(guard, "Api.personalTokens", "guard");
    const asked = own === null ? ["auth"] : [`guard:${own}`, `auth:${own}`];
    const middleware = ["auth.page", ...asked, "password.confirm"];
    const all = Route.group({ name: own === null ? "" : `${own}.`, middleware }, routes);
    return json === true ? all.respondsWithJson() : all;
  },
});

const GUARD = "guard:";

type DriverController = typeof TokenController | typeof KeysController;

const controllersOfDrivers = new WeakMap<DriverController, Map<string, DriverController>>();

/** A driver's controller. Each driver has its own class, because an instance serves all of its class's routes. */
function ofDriver<C extends DriverController>(controller: C, driver: string | undefined, where: string): C {
  if (driver === undefined) return controller;
  const name = checked(driver, where);
  const ofDrivers = controllersOfDrivers.get(controller) ?? new Map<string, DriverController>();
  controllersOfDrivers.set(controller, ofDrivers);
  let own = ofDrivers.get(name);
  if (own === undefined) {
    own = class extends (controller as typeof TokenController) {
      static override readonly driver: string | null = name;
    };
    ofDrivers.set(name, own);
  }
  return own as C;
}

/** Reports whether a route is one of `Api.routes()`, whatever its path and name. */
export function isTokenEndpoint({ mark }: CompiledRoute): boolean {
  return mark?.madeBy === "Api.routes";
}

/**
 * Makes sure that the users of each route of `Api.personalTokens` can have personal tokens.
 *
 * @throws `E_INVALID_CONFIGURATION` if no driver with these users has the setting `personal`
 */
export function requirePersonalTokens({ container, router }: Application): void {
  const [guards, drivers] = [container.make("auth"), container.make("apiDrivers")];
  for (const { mark, location, middleware } of router.routes) {
    if (mark?.madeBy !== "Api.personalTokens") continue;
    // The innermost guard is the active one.
    const guard = middleware.findLast((text) => text.startsWith(GUARD))?.slice(GUARD.length) ?? guards.defaultName;
    const model = guards.modelOf(guard);
    if (model === null) continue;
    const users = model.userClass ?? model;
    if (drivers.findPersonal(users) !== null) continue;
    const problem = `no entry has personal tokens for users of the guard "${guard}", which Api.personalTokens() in ${location} needs.`;
    throw new ConfigurationError(DRIVERS_PLACE, problem, remedyFor(users.name));
  }
}

function checked(name: unknown, where: string, option: "driver" | "guard" = "driver"): string {
  if (typeof name === "string" && isDriverName(name)) return name;
  throw new ConfigurationError(where, `${option} is not the name of a ${option}.`, `Write { ${option}: "admin" }.`);
}
