import type { HttpContext } from "../../http/index.ts";
import { type ControllerClass, Route, RouteCollection, type RouteDefinition } from "../../routing/index.ts";
import { PasskeyOptionController } from "./option-controller.ts";
import { PasskeyTokenController } from "./passkey-token-controller.ts";
import { PasskeyWellKnownController } from "./well-known-controller.ts";

/** The application's controller for logging in, and confirming, with a passkey. */
export interface PasskeyLoginController {
  /** `POST /login/passkey`, for guests and logins that wait for a step, with `assertion` and `remember`. */
  store(context: HttpContext): unknown;
  /** `GET /confirm_passkey`, for users: the form. Only an application without pages leaves it out. */
  show?(context: HttpContext): unknown;
  /** `POST /confirm_passkey`, for users, with `assertion`. */
  confirm(context: HttpContext): unknown;
}

/** The application's controller for the page of a user's passkeys. */
export interface PasskeyController {
  /** `GET /account/passkeys`, for users: their passkeys, and a form that adds one. */
  index(context: HttpContext): unknown;
  /** `POST /account/passkeys`, for users: adds one, with `credential` and `name`. */
  store(context: HttpContext): unknown;
  /** `PATCH /account/passkeys/@id`, for users: renames one, with `name`. */
  update(context: HttpContext): unknown;
  /** `DELETE /account/passkeys/@id`, for users: removes one. */
  destroy(context: HttpContext): unknown;
}

/** The application's controller for accounts that have a passkey and no password. */
export interface PasskeyRegistrationController {
  /** `GET /register/passkey`: the form for the address and the name. Only an application without pages leaves it out. */
  create?(context: HttpContext): unknown;
  /** `POST /register/passkey`: mails the link. */
  request(context: HttpContext): unknown;
  /** `GET /register/passkey/@token`: the page behind the link. */
  show(context: HttpContext): unknown;
  /** `POST /register/passkey/@token`, with `credential`: makes the account. */
  store(context: HttpContext): unknown;
}

/** The application's controllers for passkeys. */
interface PasskeyControllers {
  readonly login: ControllerClass<PasskeyLoginController>;
  readonly passkeys: ControllerClass<PasskeyController>;
  /** Without it, accounts are made with a password. */
  readonly register?: ControllerClass<PasskeyRegistrationController>;
}

/** Options of `Passkeys.routes`. */
interface PasskeyRouteOptions {
  /** `true` for an application without pages: every route responds with JSON, errors included. */
  readonly json?: true;
}

/** Options of `Passkeys.tokens`. */
interface PasskeyTokenOptions {
  /** The driver whose tokens are issued; default: `jwt`. */
  readonly driver?: string;
}

const BODY_LIMIT = "64kb";

/** The routes of passkeys, for the web routes list: `ROUTES = [..., ...Passkeys.routes(PasskeyControllers)]`. */
export const Passkeys: {
  readonly routes: (controllers: PasskeyControllers, options?: PasskeyRouteOptions) => RouteCollection;
  readonly tokens: (options?: PasskeyTokenOptions) => readonly RouteDefinition[];
} = Object.freeze({
  /**
   * The routes `passkeys.login`, `passkeys.confirm`, `passkeys.register`, `account.passkeys`, and those of the options that scripts need. The page
   * of passkeys requires a confirmation within the last three hours (`password.confirm`).
   *
   * `/.well-known/webauthn` and `/.well-known/passkey-endpoints`, where browsers and password managers look for them, are at
   * the root of the host, and a route of your own at these paths replaces them.
   *
   * @param controllers the application's classes
   */
  routes({ login, passkeys, register }: PasskeyControllers, { json }: PasskeyRouteOptions = {}): RouteCollection {
    const options = PasskeyOptionController;
    const pages = login as ControllerClass<Required<PasskeyLoginController>>;
    const form = json === true ? [] : [Route.get("/confirm_passkey", [pages, "show"]).name("passkeys.confirm")];
    const page = "/account/passkeys";
    const all = new RouteCollection([
      ...behind(
        ["auth.page"],
        [
          Route.post("/login/passkey/options", [options, "login"]).name("passkeys.login.options").respondsWithJson(),
          Route.post("/login/passkey", [login, "store"]).name("passkeys.login"),
        ],
      ),
      ...(register === undefined ? [] : registrationRoutes(register, json === true)),
      ...behind(
        ["auth.page", "auth"],
        [
          Route.post("/confirm_passkey/options", [options, "confirm"])
            .name("passkeys.confirm.options")
            .respondsWithJson(),
          ...form,
          Route.post("/confirm_passkey", [login, "confirm"]).name("passkeys.confirm.store"),
          Route.post(`${page}/signals`, [options, "signals"]).name("account.passkeys.signals").respondsWithJson(),
        ],
      ),
      ...behind(
        ["auth.page", "auth", "password.confirm"],
        [
          Route.get(page, [passkeys, "index"]).name("account.passkeys"),
          Route.post(`${page}/options`, [options, "create"]).name("account.passkeys.options").respondsWithJson(),
          Route.post(page, [passkeys, "store"]).name("account.passkeys.store"),
          Route.patch(`${page}/@id`, [passkeys, "update"]).name("account.passkeys.update"),
          Route.delete(`${page}/@id`, [passkeys, "destroy"]).name("account.passkeys.destroy"),
        ],
      ),
    ]);
    return new RouteCollection([...(json === true ? all.respondsWithJson() : all), ...wellKnown()]);
  },

  /**
   * The routes `api.passkey.options` and `api.passkey`, for apps: the options that `navigator.credentials.get` or the system
   * needs, and a token for the credential that it returns, in the input `assertion`. They are outside of the `web` stack: no
   * session, no cookie, no CSRF check.
   *
   * ```ts
   * export const ROUTES = [...Api.routes(), ...Passkeys.tokens()];
   * ```
   */
  tokens({ driver }: PasskeyTokenOptions = {}): readonly RouteDefinition[] {
    const base = driver === undefined ? "/api/passkey" : `/api/${driver}/passkey`;
    const prefix = driver === undefined ? "" : `${driver}.`;
    const controller = driver === undefined ? PasskeyTokenController : tokensOf(driver);
    const routes = [
      Route.post(`${base}/options`, [controller, "options"]).name(`${prefix}api.passkey.options`),
      Route.post(base, [controller, "issue"]).name(`${prefix}api.passkey`),
    ];
    return routes.map((route) => {
      return route.withoutMiddleware("web").respondsWithJson().bodyLimit(BODY_LIMIT).madeBy("Passkeys.tokens");
    });
  },
});

function registrationRoutes(
  register: ControllerClass<PasskeyRegistrationController>,
  isJson: boolean,
): readonly RouteDefinition[] {
  const pages = register as ControllerClass<Required<PasskeyRegistrationController>>;
  const path = "/register/passkey";
  const form = isJson ? [] : [Route.get(path, [pages, "create"]).name("passkeys.register")];
  return [
    ...behind(["auth.page"], form),
    ...behind(
      ["auth.page", "throttle:passkeys.register"],
      [Route.post(path, [register, "request"]).name("passkeys.register.request")],
    ),
    ...behind(
      ["auth.page:token"],
      [
        Route.get(`${path}/@token`, [register, "show"]).name("passkeys.register.finish"),
        Route.post(`${path}/@token/options`, [PasskeyOptionController, "register"])
          .name("passkeys.register.options")
          .respondsWithJson(),
        Route.post(`${path}/@token`, [register, "store"]).name("passkeys.register.store"),
      ],
    ),
  ];
}

function behind(middleware: readonly string[], routes: readonly RouteDefinition[]): readonly RouteDefinition[] {
  return routes.map((route) => route.with({ middleware }).bodyLimit(BODY_LIMIT).madeBy("Passkeys.routes"));
}

function wellKnown(): readonly RouteDefinition[] {
  const controller = PasskeyWellKnownController;
  const routes = [
    Route.get("/.well-known/webauthn", [controller, "related"]),
    Route.get("/.well-known/passkey-endpoints", [controller, "endpoints"]),
  ];
  return routes.map((route) => {
    return route.withoutMiddleware("web").respondsWithJson().with({ isWellKnown: true }).madeBy("Passkeys.routes");
  });
}

/** The controller of a driver: a separate class, since an instance serves all of its class's routes. */
function tokensOf(driver: string): typeof PasskeyTokenController {
  return class extends PasskeyTokenController {
    static override readonly driver: string = driver;
  };
}
