import type { HttpContext } from "../../http/index.ts";
import { type ControllerClass, Route, RouteCollection, type RouteDefinition } from "../../routing/index.ts";
import { IdentityFormController } from "./identity-form-controller.ts";
import { IdentityTokenController } from "./identity-token-controller.ts";

/** The application's controller for logins and confirmations by accounts at other sites. */
export interface IdentityLoginController {
  /** `POST /login/with/@provider`: sends the visitor to the provider, to log in. */
  store(context: HttpContext): unknown;
  /** `GET /login/with/@provider/callback`: ends a visit to a provider, whatever it was for. */
  callback(context: HttpContext): unknown;
  /** `GET /confirm_identity`, for users: a form for each provider that can confirm who they are. Left out without pages. */
  show?(context: HttpContext): unknown;
  /** `POST /confirm_identity/@provider`, for users: sends them to the provider, to confirm who they are. */
  confirm(context: HttpContext): unknown;
}

/** The application's controller for the page of a user's accounts at other sites. */
export interface IdentityController {
  /** `GET /account/identities`, for users: their accounts, and a form for each provider that connects another. */
  index(context: HttpContext): unknown;
  /** `POST /account/identities/@provider`, for users: sends them to the provider, to connect their account there. */
  store(context: HttpContext): unknown;
  /** `DELETE /account/identities/@id`, for users: disconnects one. */
  destroy(context: HttpContext): unknown;
}

/** The application's controllers for accounts at other sites. */
interface IdentityControllers {
  readonly login: ControllerClass<IdentityLoginController>;
  readonly identities: ControllerClass<IdentityController>;
}

/** Options of `Identities.routes`. */
interface IdentityRouteOptions {
  /** `true` for an application without pages: every route responds with JSON, errors included. */
  readonly json?: true;
}

/** Options of `Identities.tokens`. */
interface IdentityTokenOptions {
  /** The driver whose tokens are issued; default: `jwt`. */
  readonly driver?: string;
}

const BODY_LIMIT = "16kb";

/** The routes of accounts at other sites, for the web routes list: `ROUTES = [..., ...Identities.routes(controllers)]`. */
export const Identities: {
  readonly routes: (controllers: IdentityControllers, options?: IdentityRouteOptions) => RouteCollection;
  readonly tokens: (options?: IdentityTokenOptions) => readonly RouteDefinition[];
} = Object.freeze({
  /**
   * The routes `identities.login`, `identities.callback`, `identities.confirm` and `account.identities`. The page of accounts
   * requires a confirmation within the last three hours (`password.confirm`).
   *
   * Visitors begin with a POST, so that no link can send them away. At each provider, enter the URL of `identities.callback` as
   * the one where visitors come back: `https://shop.example/login/with/google/callback`.
   *
   * @param controllers the application's classes
   */
  routes({ login, identities }: IdentityControllers, { json }: IdentityRouteOptions = {}): RouteCollection {
    const pages = login as ControllerClass<Required<IdentityLoginController>>;
    const form = json === true ? [] : [Route.get("/confirm_identity", [pages, "show"]).name("identities.confirm")];
    const page = "/account/identities";
    const all = new RouteCollection([
      ...behind(["auth.page"], [Route.post("/login/with/@provider", [login, "store"]).name("identities.login")]),
      ...behind(
        ["auth.page:token"],
        [Route.get("/login/with/@provider/callback", [login, "callback"]).name("identities.callback")],
      ),
      ...behind(
        ["auth.page", "auth"],
        [...form, Route.post("/confirm_identity/@provider", [login, "confirm"]).name("identities.confirm.store")],
      ),
      ...behind(
        ["auth.page", "auth", "password.confirm"],
        [
          Route.get(page, [identities, "index"]).name("account.identities"),
          Route.post(`${page}/@provider`, [identities, "store"]).name("account.identities.store"),
          Route.delete(`${page}/@id`, [identities, "destroy"]).name("account.identities.destroy"),
        ],
      ),
    ]);
    return new RouteCollection([...(json === true ? all.respondsWithJson() : all), ...fromProviders()]);
  },

  /**
   * The routes `api.identities` and `api.identities.token`, for apps: the URL of a provider to open in the system's browser, and a token
   * for the code that the app is sent back with. The app keeps the verifier of PKCE, and finds its state again. They are outside of
   * the `web` stack: no session, no cookie, no CSRF check.
   *
   * ```ts
   * export const ROUTES = [...Api.routes(), ...Identities.tokens()];
   * ```
   */
  tokens({ driver }: IdentityTokenOptions = {}): readonly RouteDefinition[] {
    const base = driver === undefined ? "/api/identities/@provider" : `/api/${driver}/identities/@provider`;
    const prefix = driver === undefined ? "" : `${driver}.`;
    const controller = driver === undefined ? IdentityTokenController : tokensOf(driver);
    const routes = [
      Route.post(base, [controller, "begin"]).name(`${prefix}api.identities`),
      Route.post(`${base}/token`, [controller, "issue"]).name(`${prefix}api.identities.token`),
    ];
    return routes.map((route) => {
      return route.withoutMiddleware("web").respondsWithJson().bodyLimit(BODY_LIMIT).madeBy("Identities.tokens");
    });
  },
});

function behind(middleware: readonly string[], routes: readonly RouteDefinition[]): readonly RouteDefinition[] {
  return routes.map((route) => route.with({ middleware }).bodyLimit(BODY_LIMIT).madeBy("Identities.routes"));
}

/** What providers send, or have browsers send, without a session. */
function fromProviders(): readonly RouteDefinition[] {
  const routes = [
    Route.post("/login/with/@provider/callback", [IdentityFormController, "receive"]).name("identities.callback.form"),
  ];
  return routes.map((route) => route.withoutMiddleware("web").bodyLimit(BODY_LIMIT).madeBy("Identities.routes"));
}

/** The controller of a driver: a separate class, since an instance serves all of its class's routes. */
function tokensOf(driver: string): typeof IdentityTokenController {
  return class extends IdentityTokenController {
    static override readonly driver: string = driver;
  };
}
