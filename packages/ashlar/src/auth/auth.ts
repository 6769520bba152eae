import type { Application } from "../boot/index.ts";
import type { HttpContext, HttpResponse, QueryParameters, RouteParameters } from "../http/index.ts";
import type {} from "../session/index.ts";
import { AshlarError, type Message, type RegisteredUser } from "../support/index.ts";
import { authRoutes } from "./accounts/pages/auth-routes.ts";
import type { Guard } from "./guards/guard.ts";
import { LoginGuard } from "./guards/login-guard.ts";
import { RequestAuth } from "./guards/request-auth.ts";
import { deviceName } from "./logins/devices.ts";
import type { UserLogins } from "./logins/user-logins.ts";
import {
  type EntryOptions,
  type LoginOptions,
  LoginPendingError,
  type LoginResult,
  waitsAfterProof,
} from "./pipeline/complete-login.ts";
import type { PendingLogin } from "./pipeline/pending-logins.ts";
import { CONFIRMED_MINUTES, isProvedWithin, provedBy } from "./requests/proved-by.ts";
import { refuseGuest } from "./requests/refuse-guest.ts";
import { isAuthenticatableClass, isUserClassOf, keepsSameRows, type UserId } from "./users/authenticatable.ts";
import type { GuardOf } from "./web/guards-by-name.ts";
import { WebGuard } from "./web/web-guard.ts";
import "./errors.ts";
import "../http/index.ts";

declare module "../http/exchange/context.ts" {
  interface FrameworkContext {
    /** The request's user, and operations to log users in and out. */
    readonly auth: Auth;
  }
}

/** The answer to an API client: members of `data`. Pages show the sentence `message`, if there is one. */
interface Answer {
  /** What happened, in one word: `complete`, `pending`, `mailed`. */
  readonly status?: string;
  /** The sentence for the visitor, in their language. */
  readonly message?: string;
  readonly [name: string]: unknown;
}

/**
 * Authentication of one request. Its operations are those of the active guard, initially the default one; its redirects and
 * URLs lead to that guard's pages.
 *
 * ```ts
 * const user = await context.auth.attempt(email, password);
 * ```
 */
export class Auth extends RequestAuth {
  /** The routes of accounts, from `/login` to `/password_reset`, for the web routes list: `...Auth.routes(controllers)`. */
  static readonly routes: typeof authRoutes = authRoutes;
  /**
   * Reports whether a value of the configuration can be the class of a guard's users, or find them: `isUserClass(User)`.
   */
  static readonly isUserClass: typeof isAuthenticatableClass = isAuthenticatableClass;
  /**
   * Reports whether users of a class are users of a model: the model itself, or a class that extends it and keeps its rows
   * in the same table. `isUserClassOf(user.constructor, model)`.
   *
   * Security: compare users this way wherever a key is stored. The key of another table's user belongs to another person.
   */
  static readonly isUserClassOf: typeof isUserClassOf = isUserClassOf;
  /** Reports whether a primary key means the same user to two classes: both are models of one table, or one class. */
  static readonly keepsSameRows: typeof keepsSameRows = keepsSameRows;
  /** A name for the device that a user agent runs on, for people to recognize: `Firefox on Windows`. */
  static readonly deviceName: typeof deviceName = deviceName;
  /**
   * Makes a guard the active one for the rest of the request, and returns it. Its users are of the class that `guards`
   * of `Register` names for it, or otherwise of the application's user class:
   *
   * ```ts
   * declare module "ashlar" { interface Register { user: User; guards: { staff: Employee } } }
   *
   * await auth.guard("staff").loginAs(employee);
   * const colleague = await auth.guard("staff").user();
   * ```
   *
   * A guard of your own class has the right type if `Guards` names it.
   *
   * @throws `E_UNKNOWN_GUARD`
   */
  guard<Name extends string>(name: Name): GuardOf<Name> {
    return this.activate(name) as GuardOf<Name>;
  }

  /**
   * The active guard, typed as a guard that keeps logins: for operations that only such a guard has, in controllers
   * that serve several guards.
   *
   * ```ts
   * const isConfirmed = await auth.webGuard.confirmPassword(request.input("password"));
   * ```
   *
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` if the active guard's driver is not `web`
   */
  get webGuard(): WebGuard {
    const guard = this.active;
    if (guard instanceof WebGuard) return guard as WebGuard;
    throw unsupported(guard, "does not keep logins: its driver is not web");
  }

  /**
   * Logs a user in with an identifier and a password, using the active guard, and returns the result; see
   * {@link LoginGuard.login}.
   *
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` if the active guard cannot log users in
   */
  async login(identifier: unknown, password: unknown, options?: LoginOptions): Promise<LoginResult> {
    return this.#loginGuard.login(identifier, password, options);
  }

  /**
   * The login with the active guard that waits for a step, for the step's page:
   *
   * ```ts
   * const login = await auth.pendingLogin();
   * if (login === null) return auth.redirectToRoute("login");
   * const { status } = await login.resume();
   * return status === "complete" ? auth.redirectToIntended("home") : auth.redirectToStep();
   * ```
   *
   * @returns `null` if no login waits: ten minutes have passed, it was completed or canceled, or access to the account
   * has ended
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` if the active guard cannot log users in
   */
  async pendingLogin(): Promise<PendingLogin | null> {
    return this.#loginGuard.pendingLogin();
  }

  /**
   * Redirects to the page of the step that a login with the active guard is waiting for. The page shows the reason, as
   * an error if the given proof was wrong, and otherwise as a status message. If no login is waiting, redirects to the
   * login page, which shows why if a step refused the login.
   *
   * @throws `E_LOGIN_PENDING` if the step has no page
   */
  redirectToStep(): HttpResponse {
    const pending = this.pendingStep;
    if (pending !== null) {
      const { page, message } = pending;
      if (page === null) throw new LoginPendingError(pending);
      if (message !== null && waitsAfterProof(pending)) this.#flash(message);
      else if (message !== null && this.context.visitor !== null) {
        this.context.session.flash("status", this.context.t(message));
      }
      return this.redirectToRoute(page);
    }
    const { refusal } = this;
    if (refusal !== null) this.#flash(refusal);
    return this.redirectToRoute("login");
  }

  /**
   * Responds to a form or an API client: a client that wants JSON gets `{ "data": … }`; a visitor gets the page, which
   * shows the sentence `message`. For an API client, the status is 200 unless another one is set before.
   *
   * ```ts
   * await auth.logout();
   * const message = t("pages.status.loggedOut");
   * return auth.answer({ status: "logged_out", message }, () => auth.redirectToRoute("login"));
   * ```
   *
   * Security: both kinds of callers learn the same. If responses must not be distinguishable, for example by whether an
   * address has an account, they must have the same `data`.
   *
   * @param data the data for an API client
   * @param page returns the response for a visitor, such as a redirect; without it, everyone gets the data
   */
  answer<Page = never>(data: Answer, page?: () => Page): HttpResponse | Page {
    const { context } = this;
    if (page === undefined || context.request.wantsJson()) return this.#respond(data);
    if (data.message !== undefined && context.visitor !== null) context.session.flash("status", data.message);
    return page();
  }

  /**
   * Responds to a login that isn't complete: an API client that wants JSON gets
   * `{ "data": { "status": "pending", "step", "flows" } }`, with a `message` if the step says why it waits, and a visitor
   * is redirected as by {@link redirectToStep}.
   *
   * @throws for an API client: `E_LOGIN_REFUSED` if a step refused the login, `E_UNAUTHENTICATED` if no login waits; and as
   * {@link redirectToStep}
   */
  answerStep(): HttpResponse {
    const { context, pendingStep: pending, refusal } = this;
    if (!context.request.wantsJson()) return this.redirectToStep();
    if (pending !== null) {
      const { step, message: reason, flows } = pending;
      return this.#respond({ status: "pending", step, ...(reason !== null && { message: context.t(reason) }), flows });
    }
    if (refusal === null) throw new AshlarError("E_UNAUTHENTICATED");
    throw new AshlarError("E_LOGIN_REFUSED", refusal);
  }

  /**
   * Responds to a request that can't be fulfilled: an API client that wants JSON gets the error; a visitor gets the
   * page, which shows the error's sentence.
   *
   * ```ts
   * const error = new AshlarError("E_INVALID_LINK", t.message("pages.status.verifyInvalid"));
   * return auth.refuse(error, () => auth.redirectToRoute("email.verify.notice"));
   * ```
   *
   * @param page returns the response for a visitor, such as a redirect
   * @throws the error, for an API client
   */
  refuse<Page>(error: AshlarError, page: () => Page): Page {
    if (this.context.request.wantsJson()) throw error;
    this.#flash(error.detail);
    return page();
  }

  /**
   * Responds to a request that needs a user of the active guard and has none, as the middleware `auth` does: a visitor of a
   * page is sent to the login, and from there to the page they wanted.
   *
   * @throws `E_UNAUTHENTICATED` for an API client, with the guard's challenge
   */
  refuseGuest(): unknown {
    return refuseGuest(this.context, this.active);
  }

  /**
   * Logs a user in with an identifier and a password, using the active guard.
   *
   * @returns the user; `null` if identifier or password is incorrect, or if a step keeps the login from being
   * complete: {@link pending} then names the step that it waits for
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` if the active guard cannot log users in
   */
  async attempt(identifier: unknown, password: unknown, options?: LoginOptions): Promise<RegisteredUser | null> {
    return this.#loginGuard.attempt(identifier, password, options);
  }

  /**
   * Logs a user in by primary key, using the active guard.
   *
   * Security: it doesn't require a proof. The key must never come from an input.
   *
   * @returns the user, or `null` if none has this key
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` if the active guard cannot log users in
   */
  async attemptById(id: UserId, options?: LoginOptions): Promise<RegisteredUser | null> {
    return this.#loginGuard.attemptById(id, options);
  }

  /**
   * Logs in the given user, using the active guard.
   *
   * @returns the user; `null` if a step keeps the login from being complete
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` if the active guard cannot log users in; `E_INVALID_MODEL` if the user is
   * of another class than the guard's; `E_STALE_PROOF` if access to the account has ended since the user was read
   */
  async loginAs(user: RegisteredUser, options?: LoginOptions): Promise<RegisteredUser | null> {
    return this.#loginGuard.loginAs(user, options);
  }

  /**
   * Logs in a user who has just given any kind of proof, using the active guard; see {@link LoginGuard.enter}.
   *
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` if the active guard cannot log users in; `E_INVALID_MODEL`;
   * `E_INVALID_CONFIGURATION` if no proof has the name in `by`
   */
  async enter(user: RegisteredUser, options: EntryOptions): Promise<LoginResult> {
    return this.#loginGuard.enter(user, options);
  }

  /**
   * Logs the user out, using the active guard.
   *
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` if the active guard cannot log users out
   */
  async logout(): Promise<void> {
    return this.#loginGuard.logout();
  }

  /**
   * Reports whether the user has proved who they are in a certain way, within a number of minutes: in this login, or if a
   * token identifies them, in the login that it was issued for, if the token's driver has `authenticationClaims`.
   *
   * ```ts
   * const mayDelete = await auth.confirmedWith("passkey", 10);
   * ```
   *
   * The middleware `password.confirm:passkey,10` also leads users to the proof's page.
   *
   * @param proof the name of a proof or a step, such as `passkey`, or a factor as a value of RFC 8176: `otp`, `mfa`. A token
   * doesn't name proofs: one counts if the token has all its factors
   * @param minutes default: 180
   * @returns `false` for a guest
   */
  async confirmedWith(proof: string, minutes: number = CONFIRMED_MINUTES): Promise<boolean> {
    const { active, registry } = this;
    await active.user();
    return isProvedWithin(provedBy(active), registry.proofs, proof, minutes);
  }

  /**
   * The user's logins with the active guard on all devices, to list and end them.
   *
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` if the active guard's driver is not `web`
   */
  logins(): UserLogins {
    return this.webGuard.logins();
  }

  /**
   * The URL of a page of the active guard, by the name that `Auth.routes` gives it: the same controllers and templates
   * serve every guard. `auth` is also available in templates: `{{ auth.route("login") }}`.
   *
   * ```ts
   * auth.route("login"); // "/login", or "/admin/login" with the guard admin active
   * ```
   *
   * If there is no route of that name, the pages `login`, `home`, `confirm_password` and `email.verify.notice` of a
   * guard without its own `routes` are at `/login` and so on.
   *
   * @throws `E_UNKNOWN_ROUTE`, `E_MISSING_ROUTE_PARAMETER`, `E_INVALID_ROUTE_PARAMETER`
   */
  route(page: string, parameters?: RouteParameters, query?: QueryParameters): string {
    return this.registry.pages.to(this.guardName, page, parameters, query);
  }

  /** Reports whether the active guard has a page, that is, whether `Auth.routes` created it. */
  hasRoute(page: string): boolean {
    return this.registry.pages.has(this.guardName, page);
  }

  /**
   * Redirects to a page of the active guard.
   *
   * @throws the errors of {@link route}
   */
  redirectToRoute(page: string, parameters?: RouteParameters, query?: QueryParameters): HttpResponse {
    const { response } = this.context;
    if (!this.hasRoute(page)) return response.redirect(this.route(page, parameters, query));
    // Uses the route's name, since a guard's pages may have their own host.
    return response.redirectToRoute(this.registry.pages.nameOf(this.guardName, page), parameters, query);
  }

  /**
   * Redirects to the page that the visitor wanted when the active guard asked for the login, or for the password.
   *
   * @param page the page to redirect to otherwise, as in {@link route}
   * @throws the errors of {@link route}
   */
  redirectToIntended(page: string): HttpResponse {
    const target = this.context.visitor?.intended("", this.intendedScope) ?? "";
    return target === "" ? this.redirectToRoute(page) : this.context.response.redirect(target);
  }

  #respond(data: Answer): HttpResponse {
    return this.context.response.header("cache-control", "private, no-store").json({ data });
  }

  /** Makes the next page show a sentence about the form as a whole. */
  #flash(sentence: string | Message): void {
    if (this.context.visitor !== null) this.context.session.flashErrors({ "": [sentence] });
  }

  get #loginGuard(): LoginGuard {
    const guard = this.active;
    if (guard instanceof LoginGuard) return guard as LoginGuard;
    throw unsupported(guard, "cannot log users in or out");
  }
}

function unsupported({ name }: Guard, problem: string): AshlarError {
  return new AshlarError("E_UNSUPPORTED_GUARD_OPERATION", `The guard "${name}" ${problem}.`);
}

/** The authentication of a request, with its application's events and limits. */
export function authOf(context: HttpContext, { container }: Pick<Application, "container">): Auth {
  return new Auth(context, container.make("auth"), container);
}
