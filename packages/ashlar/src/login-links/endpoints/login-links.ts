import type { HttpContext } from "../../http/index.ts";
import { type ControllerClass, Route, RouteCollection, type RouteDefinition } from "../../routing/index.ts";
import { LoginLinkTokenController } from "./login-link-token-controller.ts";

/** The application's controller for logging in, and confirming, by mail. An application without pages leaves the forms out. */
export interface LoginLinkController {
  /** `GET /login/mail`: the form for the address. */
  create?(context: HttpContext): unknown;
  /** `POST /login/mail`, with `email` and `remember`: mails a link and a code. */
  request(context: HttpContext): unknown;
  /** `GET /login/mail/code`: the form for the code. */
  code?(context: HttpContext): unknown;
  /** `POST /login/mail/code`, with `mailed_code`. */
  store(context: HttpContext): unknown;
  /** `GET /login/mail/link/@token`: the page behind the link, with a button. */
  link(context: HttpContext): unknown;
  /** `POST /login/mail/link/@token`, with `mailed_code` and `remember` if another browser has asked for the mail. */
  follow(context: HttpContext): unknown;
  /** `GET /confirm_mail`, for users: the form. */
  show?(context: HttpContext): unknown;
  /** `POST /confirm_mail/send`, for users: mails a code. */
  send(context: HttpContext): unknown;
  /** `POST /confirm_mail`, for users, with `mailed_code`. */
  confirm(context: HttpContext): unknown;
}

/** The application's controller for accounts that are made by a mailed link, without a password. */
export interface LoginLinkRegistrationController {
  /** `GET /register/mail/@token`: the page behind the link. */
  show(context: HttpContext): unknown;
  /** `POST /register/mail/@token`: makes the account. */
  store(context: HttpContext): unknown;
}

/** The application's controllers for logins by mail. */
interface LoginLinkControllers {
  readonly login: ControllerClass<LoginLinkController>;
  /** Needed if `LOGIN_LINKS.registers` is on. */
  readonly register?: ControllerClass<LoginLinkRegistrationController>;
}

/** Options of `LoginLinks.routes`. */
interface LoginLinkRouteOptions {
  /** `true` for an application without pages: every route responds with JSON, errors included. */
  readonly json?: true;
}

/** Options of `LoginLinks.tokens`. */
interface LoginLinkTokenOptions {
  /** The driver whose tokens are issued; default: `jwt`. */
  readonly driver?: string;
}

const BODY_LIMIT = "64kb";

/** The routes of logins by mail, for the web routes list: `ROUTES = [..., ...LoginLinks.routes({ login: LoginLinkController })]`. */
export const LoginLinks: {
  readonly routes: (controllers: LoginLinkControllers, options?: LoginLinkRouteOptions) => RouteCollection;
  readonly tokens: (options?: LoginLinkTokenOptions) => readonly RouteDefinition[];
} = Object.freeze({
  /**
   * The routes `login_links`, `login_links.code`, `login_links.link`, `login_links.confirm` and `login_links.register`, with the
   * limit of mails.
   *
   * @param controllers the application's classes
   */
  routes({ login, register }: LoginLinkControllers, { json }: LoginLinkRouteOptions = {}): RouteCollection {
    const pages = login as ControllerClass<Required<LoginLinkController>>;
    const forms = (...routes: readonly RouteDefinition[]) => (json === true ? [] : routes);
    const all = new RouteCollection([
      ...behind(
        ["auth.page"],
        [
          ...forms(
            Route.get("/login/mail", [pages, "create"]).name("login_links"),
            Route.get("/login/mail/code", [pages, "code"]).name("login_links.code"),
          ),
          Route.post("/login/mail/code", [login, "store"]).name("login_links.code.store"),
        ],
      ),
      ...behind(
        ["auth.page", "throttle:login_links"],
        [Route.post("/login/mail", [login, "request"]).name("login_links.request")],
      ),
      ...behind(
        ["auth.page:token"],
        [
          Route.get("/login/mail/link/@token", [login, "link"]).name("login_links.link"),
          Route.post("/login/mail/link/@token", [login, "follow"]).name("login_links.link.store"),
          ...(register === undefined
            ? []
            : [
                Route.get("/register/mail/@token", [register, "show"]).name("login_links.register"),
                Route.post("/register/mail/@token", [register, "store"]).name("login_links.register.store"),
              ]),
        ],
      ),
      ...behind(
        ["auth.page", "auth"],
        [
          ...forms(Route.get("/confirm_mail", [pages, "show"]).name("login_links.confirm")),
          Route.post("/confirm_mail/send", [login, "send"]).name("login_links.confirm.send"),
          Route.post("/confirm_mail", [login, "confirm"]).name("login_links.confirm.store"),
        ],
      ),
    ]);
    return json === true ? all.respondsWithJson() : all;
  },

  /**
   * The routes `api.login-mail` and `api.login-mail.token`, for apps: a mail with a code, and a token for it. They are outside of
   * the `web` stack: no session, no cookie, no CSRF check.
   *
   * ```ts
   * export const ROUTES = [...Api.routes(), ...LoginLinks.tokens()];
   * ```
   */
  tokens({ driver }: LoginLinkTokenOptions = {}): readonly RouteDefinition[] {
    const base = driver === undefined ? "/api/login-mail" : `/api/${driver}/login-mail`;
    const prefix = driver === undefined ? "" : `${driver}.`;
    const controller = driver === undefined ? LoginLinkTokenController : tokensOf(driver);
    const routes = [
      Route.post(base, [controller, "request"]).name(`${prefix}api.login-mail`).middleware("throttle:login_links"),
      Route.post(`${base}/token`, [controller, "issue"]).name(`${prefix}api.login-mail.token`),
    ];
    return routes.map((route) => {
      return route.withoutMiddleware("web").respondsWithJson().bodyLimit(BODY_LIMIT).madeBy("LoginLinks.tokens");
    });
  },
});

function behind(middleware: readonly string[], routes: readonly RouteDefinition[]): readonly RouteDefinition[] {
  return routes.map((route) => route.with({ middleware }).bodyLimit(BODY_LIMIT).madeBy("LoginLinks.routes"));
}

/** The controller of a driver: a separate class, since an instance serves all of its class's routes. */
function tokensOf(driver: string): typeof LoginLinkTokenController {
  return class extends LoginLinkTokenController {
    static override readonly driver: string = driver;
  };
}
