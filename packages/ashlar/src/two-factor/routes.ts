import type { HttpContext } from "../http/index.ts";
import { Route, RouteCollection, type RouteDefinition } from "../routing/index.ts";
import { ConfigurationError } from "../support/index.ts";

/** The application's controllers for second factors. */
export interface TwoFactorControllers {
  readonly login: new (services: never) => TwoFactorLoginController;
  readonly account: new (services: never) => TwoFactorAccountController;
}

/** Asks for the second factor while a login waits for it. */
export interface TwoFactorLoginController {
  /** `GET /login/two_factor`: the form, with `code`, `recovery_code` and `trust_device`. */
  show(context: HttpContext): unknown;
  /** `POST /login/two_factor`. */
  store(context: HttpContext): unknown;
  /** `GET /login/two_factor/setup`: the form, with `code`, for a user who has to set it up first. */
  setUp(context: HttpContext): unknown;
  /** `POST /login/two_factor/setup`. The response is the only one that has the recovery codes. */
  finish(context: HttpContext): unknown;
}

/** The page about the second factor of a user who is logged in. */
export interface TwoFactorAccountController {
  /** `GET /account/two_factor`: what there is. */
  index(context: HttpContext): unknown;
  /** `GET /account/two_factor/app`: the form, with `code`, to set up an app. */
  setUp(context: HttpContext): unknown;
  /** `POST /account/two_factor/app`. The response is the only one that has the recovery codes. */
  store(context: HttpContext): unknown;
  /** `DELETE /account/two_factor`: turns it off. */
  destroy(context: HttpContext): unknown;
  /** `POST /account/two_factor/codes`: replaces the recovery codes. The response is the only one that has them. */
  renew(context: HttpContext): unknown;
  /** `DELETE /account/two_factor/devices/@id`: stops trusting a device. */
  forget(context: HttpContext): unknown;
}

/** Options of `TwoFactor.routes`. */
export interface TwoFactorRouteOptions {
  /** The name of the guard whose users have the second factors; default: the default guard. */
  readonly guard?: string;
  /** `true` for an application without pages: every route responds with JSON, errors included. */
  readonly json?: true;
}

const MADE_BY = "TwoFactor.routes";
/** How recently a user must have proved who they are to change the second factor, in minutes. */
const CONFIRMED = "password.confirm:10";
const CHANGE = "throttle:two_factor,user";

/** Second factors, for the web routes list: `ROUTES = [..., ...TwoFactor.routes({ login, account })]`. */
export const TwoFactor: {
  readonly routes: (controllers: TwoFactorControllers, options?: TwoFactorRouteOptions) => RouteCollection;
} = Object.freeze({
  /**
   * The routes `two_factor` and `two_factor.setup`, where a login waits, and `account.two_factor`, the page about the second factor
   * of a user.
   *
   * List them in `ROUTES`, next to those of accounts, as `ashlar auth --two-factor` does.
   *
   * Those that change something require a proof within the last ten minutes (`password.confirm`), by two factors if the user has
   * them (`two-factor:own`): the kernel names both. The names of another guard's routes begin with its name, such as
   * `admin.two_factor` of `TwoFactor.routes(controllers, { guard: "admin" })`.
   *
   * @param controllers the application's classes
   * @throws `E_INVALID_CONFIGURATION` if `guard` cannot be the name of a guard
   */
  routes({ login, account }: TwoFactorControllers, { guard, json }: TwoFactorRouteOptions = {}): RouteCollection {
    const own = guard === undefined ? null : checked(guard);
    const user = own === null ? "auth" : `auth:${own}`;
    const path = "/account/two_factor";
    const routes: readonly (readonly [RouteDefinition, string, readonly string[]])[] = [
      [Route.get("/login/two_factor", [login, "show"]), "two_factor", []],
      [Route.post("/login/two_factor", [login, "store"]), "two_factor.store", []],
      [Route.get("/login/two_factor/setup", [login, "setUp"]), "two_factor.setup", []],
      [Route.post("/login/two_factor/setup", [login, "finish"]), "two_factor.setup.store", []],
      [Route.get(path, [account, "index"]), "account.two_factor", [user]],
      [Route.get(`${path}/app`, [account, "setUp"]), "account.two_factor.app", changing(user)],
      [Route.post(`${path}/app`, [account, "store"]), "account.two_factor.app.store", [...changing(user), CHANGE]],
      [Route.delete(path, [account, "destroy"]), "account.two_factor.destroy", [...changing(user), CHANGE]],
      [Route.post(`${path}/codes`, [account, "renew"]), "account.two_factor.codes", [...changing(user), CHANGE]],
      [Route.delete(`${path}/devices/@id`, [account, "forget"]), "account.two_factor.devices.destroy", [user]],
    ];
    const all = new RouteCollection(
      routes.map(([route, name, middleware]) => {
        const active = own === null ? [] : [`guard:${own}`];
        const complete = route.bodyLimit("64kb").with({
          name: own === null ? name : `${own}.${name}`,
          middleware: ["auth.page", ...active, ...middleware],
        });
        return complete.madeBy(MADE_BY);
      }),
    );
    return json === true ? all.respondsWithJson() : all;
  },
});

function changing(user: string): readonly string[] {
  return [user, CONFIRMED, "two-factor:own"];
}

function checked(name: unknown): string {
  if (typeof name === "string" && /^[^\s:,]+$/.test(name)) return name;
  throw new ConfigurationError(MADE_BY, "guard is not the name of a guard.", 'Write { guard: "admin" }.');
}
