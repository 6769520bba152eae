import type { Events } from "../events/index.ts";
import type { HttpContext, HttpResponse, QueryParameters, RouteParameters } from "../http/index.ts";
import { AshlarError, type MaybePromise, type Message, type RegisteredUser } from "../support/index.ts";
import type { Throttle } from "../throttle/index.ts";
import { authRoutes } from "./accounts/pages/auth-routes.ts";
import type { Guard } from "./guards/guard.ts";
import type { GuardRegistry } from "./guards/guard-registry.ts";
import { LoginGuard } from "./guards/login-guard.ts";
import { ACCOUNT_LIMIT, PASSWORD_LIMIT } from "./limits.ts";
import type { UserLogins } from "./logins/user-logins.ts";
import {
  type EntryOptions,
  type LoginOptions,
  LoginPendingError,
  type LoginResult,
  NO_PASSWORD_YET,
  type PendingResult,
  PROOF_FAILED,
} from "./pipeline/complete-login.ts";
import type { PendingClaim, PendingLogin } from "./pipeline/pending-logins.ts";
import { type Answer, answer, answerStep, refuse } from "./requests/answer.ts";
import type { Authenticatable, UserId } from "./users/authenticatable.ts";
import type { GuardOf } from "./web/guards-by-name.ts";
import { WebGuard } from "./web/web-guard.ts";
import "./errors.ts";

declare module "../http/exchange/context.ts" {
  interface FrameworkContext {
    /** The request's user, and operations to log users in and out. */
    readonly auth: Auth;
  }
}

/**
 * Authentication of one request: its guards, of which one is active, and what their last logins came to. Its operations are those
 * of the active guard, initially the default one; its redirects and URLs are those of that guard's pages.
 *
 * ```ts
 * const user = await context.auth.attempt(email, password);
 * ```
 */
export class Auth {
  /** The routes of accounts, from `/login` to `/password_reset`, for the web routes list: `...Auth.routes(controllers)`. */
  static readonly routes: typeof authRoutes = authRoutes;
  /** The application's events; `null` if it has none. */
  readonly events: Events | null;
  /** The application's limits; `null` if it has none. */
  readonly throttle: Throttle | null;
  /** @internal The application's guards. */
  readonly registry: GuardRegistry;
  readonly #context: HttpContext;
  readonly #guards = new Map<string, Guard>();
  /** The results of the last logins in this request, by guard. */
  readonly #results = new Map<string, LoginResult<object>>();
  #guardName: string;

  constructor(context: HttpContext, registry: GuardRegistry, events: Events | null, throttle: Throttle | null = null) {
    this.#context = context;
    this.registry = registry;
    this.#guardName = registry.defaultName;
    this.events = events;
    this.throttle = throttle;
  }

  /** The name of the active guard. */
  get guardName(): string {
    return this.#guardName;
  }

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
    const guard = this.#made(name);
    this.#guardName = name;
    this.#context.currentUser = guard.knownUser;
    return guard as GuardOf<Name>;
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
    const guard = this.#active;
    if (guard instanceof WebGuard) return guard as WebGuard;
    throw unsupported(guard, "does not keep logins: its driver is not web");
  }

  /** The user of this request according to the active guard, or `null`; looked up once, on the first call. */
  async user(): Promise<RegisteredUser | null> {
    return this.#active.user();
  }

  /** @internal The same, without a promise if the guard needs none. */
  load(): MaybePromise<RegisteredUser | null> {
    return this.#active.user();
  }

  /** Reports whether the request has a user according to the active guard. */
  check(): Promise<boolean> {
    return this.#active.check();
  }

  /**
   * Reports whether what identifies the user, according to the active guard, may be used for something: an API token only
   * for its abilities, if it has any; a login for everything.
   *
   * ```ts
   * const canWrite = auth.tokenCan("orders.write");
   * ```
   *
   * Security: it says nothing about the user's own permissions, which your code has to check, too.
   *
   * @param ability as tokens have it
   */
  tokenCan(ability: string): boolean {
    return this.#active.tokenCan?.(ability) ?? true;
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
   * The name of the step that a login with the active guard waits for: the last login of this request, or one that this
   * visitor began up to ten minutes ago. `null` if no login waits.
   */
  get pending(): string | null {
    return this.#pending?.step ?? null;
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
   * The sentence of the step that refused the last login of this request with the active guard; after a user without a
   * password tried to confirm one, the sentence that says so. Otherwise `null`.
   */
  get refusal(): Message | null {
    const last = this.#results.get(this.#guardName);
    if (last?.status !== "failed") return null;
    return last.step !== null || last === NO_PASSWORD_YET ? last.message : null;
  }

  /** Why the last login of this request waits for a step, if the step has said so; otherwise `null`. */
  get pendingReason(): Message | null {
    return this.#pending?.message ?? null;
  }

  /**
   * Redirects to the page of the step that a login with the active guard waits for. If no login waits, it redirects to
   * the login; if a step refused the login, that page says why.
   *
   * @throws `E_LOGIN_PENDING` if the step has no page
   */
  redirectToStep(): HttpResponse {
    const pending = this.#pending;
    if (pending !== null) {
      const { step, page, message } = pending;
      if (page === null) throw new LoginPendingError(step, null, message);
      if (message !== null && this.#context.visitor !== null) this.#context.session.flashErrors({ "": [message] });
      return this.redirectToRoute(page);
    }
    const { refusal } = this;
    if (refusal !== null && this.#context.visitor !== null) this.#context.session.flashErrors({ "": [refusal] });
    return this.redirectToRoute("login");
  }

  /**
   * Responds to a form, or to an API client: a client that wants JSON gets `{ "data": … }`, and a visitor the page,
   * which shows the sentence `message`. For an API client, the status is 200 unless another one is set before.
   *
   * ```ts
   * await auth.logout();
   * const message = t("pages.status.loggedOut");
   * return auth.answer({ status: "logged_out", message }, () => auth.redirectToRoute("login"));
   * ```
   *
   * Security: both callers learn the same. Answers that must not be distinguishable, such as whether an address has an
   * account, must have the same `data`.
   *
   * @param data the data for an API client
   * @param page returns the response for a visitor, such as a redirect; without it, everyone gets the data
   */
  answer<Page = never>(data: Answer, page?: () => Page): HttpResponse | Page {
    return answer(this.#context, data, page ?? null);
  }

  /**
   * Responds to a login that isn't complete: an API client that wants JSON gets
   * `{ "data": { "status": "pending", "step" } }`, with a `message` if the step says why it waits, and a visitor is
   * redirected as by {@link redirectToStep}.
   *
   * @throws `E_LOGIN_REFUSED` if a step refused the login, for an API client; and as {@link redirectToStep}
   */
  answerStep(): HttpResponse {
    return answerStep(this.#context);
  }

  /**
   * Responds to a request that can't be fulfilled: an API client that wants JSON gets the error, and a visitor the
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
    return refuse(this.#context, error, page);
  }

  /** @internal Throws `E_LOGIN_PENDING` if a login with the active guard waits for a step: forms lead on to its page. */
  requireNoPendingStep(): void {
    const pending = this.#pending;
    if (pending !== null) throw new LoginPendingError(pending.step, pending.page, pending.message);
  }

  /**
   * @internal The page where a guest continues: the page of the step that a login waits for, or else the login page.
   */
  get guestPage(): string {
    const page = this.#pending?.page ?? "login";
    // A page of a step that refuses guests would redirect to itself.
    return this.#context.request.route()?.name === this.registry.pages.nameOf(this.#guardName, page) ? "login" : page;
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
   * Security: it asks for no proof. The key must never come from an input.
   *
   * @returns the user, or `null` if none has this key
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` if the active guard cannot log users in
   */
  async attemptById(id: UserId, options?: LoginOptions): Promise<RegisteredUser | null> {
    return this.#loginGuard.attemptById(id, options);
  }

  /**
   * Logs a given user in, using the active guard.
   *
   * @returns the user; `null` if a step keeps the login from being complete
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` if the active guard cannot log users in; `E_INVALID_MODEL` if the user is
   * of another class than the guard's; `E_STALE_PROOF` if access to the account has ended since the user was read
   */
  async loginAs(user: RegisteredUser, options?: LoginOptions): Promise<RegisteredUser | null> {
    return this.#loginGuard.loginAs(user, options);
  }

  /**
   * Logs a user in who has just proved who they are, by whatever proof, using the active guard; see
   * {@link LoginGuard.enter}.
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
   * The devices that the user is logged in on with the active guard: to list them, and to end their logins.
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
    return this.registry.pages.to(this.#guardName, page, parameters, query);
  }

  /** Reports whether the active guard has a page, that is, whether `Auth.routes` was not told to leave it out. */
  hasRoute(page: string): boolean {
    return this.registry.pages.has(this.#guardName, page);
  }

  /**
   * Redirects to a page of the active guard.
   *
   * @throws as {@link route}
   */
  redirectToRoute(page: string, parameters?: RouteParameters, query?: QueryParameters): HttpResponse {
    const { response } = this.#context;
    if (!this.hasRoute(page)) return response.redirect(this.route(page, parameters, query));
    // By name, since a guard's pages may have their own host.
    return response.redirectToRoute(this.registry.pages.nameOf(this.#guardName, page), parameters, query);
  }

  /**
   * Redirects to the page that the visitor wanted when the active guard asked for the login, or for the password.
   *
   * @param page where to go otherwise, as in {@link route}
   * @throws as {@link route}
   */
  redirectToIntended(page: string): HttpResponse {
    const target = this.#context.visitor?.intended("", this.intendedScope) ?? "";
    return target === "" ? this.redirectToRoute(page) : this.#context.response.redirect(target);
  }

  /**
   * @internal Gives the account of a user who has proved the password its attempts back, under each name that the user
   * can log in with.
   */
  async clearAttempts(guard: string, user: object): Promise<void> {
    const { throttle } = this;
    // Only its own attempt at the account: otherwise, each login of the owner would be another budget for guesses.
    await throttle?.clear(this.#context, PASSWORD_LIMIT, { guard, user }, [ACCOUNT_LIMIT]);
    const { email } = user as { readonly email?: unknown };
    if (typeof email !== "string" || this.registry.modelOf(guard)?.identifiesByEmail !== true) return;
    await throttle?.clear(this.#context, PASSWORD_LIMIT, { guard, account: email });
  }

  /** @internal Reports whether the request's visitor is logged in as a user of a guard, with any guard of the same users. */
  async isLoggedInAs(guard: string, user: Authenticatable): Promise<boolean> {
    const rows = this.registry.rowsOf(guard);
    for (const name of this.registry.names) {
      if (this.registry.rowsOf(name) !== rows) continue;
      const made = this.#made(name);
      if (name !== this.#guardName && !made.keepsLogins) continue;
      const current = (await made.user()) as Authenticatable | null;
      if (current !== null && String(current.authId()) === String(user.authId())) return true;
    }
    return false;
  }

  /** @internal Stores the result of a login with a guard. */
  concluded(guard: string, result: LoginResult<object>): void {
    this.#results.set(guard, result);
  }

  /** @internal Forgets the result of an earlier confirmation in this request, such as the step that it waits for. */
  beginConfirmation(guard: string): void {
    this.concluded(guard, PROOF_FAILED);
  }

  /** @internal What the visitor's session stores about a guard's login that waits for a step. */
  pendingClaim(guard: string): PendingClaim | null {
    return this.registry.pendingLogins.read(this.#context, guard);
  }

  /**
   * @internal A text that names the user whom this request's pages are shown to, as found so far; `null` for a guest,
   * and for a user who isn't identified by a login.
   */
  get ownerName(): string | null {
    const { keepsLogins, knownUser } = this.#active;
    return keepsLogins && knownUser !== null ? this.nameOfOwner(this.#guardName, knownUser) : null;
  }

  /** @internal The same for a user of a guard. Guards of the same users have the same names for them. */
  nameOfOwner(guard: string, user: object): string {
    return `${this.registry.rowsOf(guard)} ${(user as Authenticatable).authId()}`;
  }

  /** @internal The name under which the visitor's session stores the page they wanted. */
  get intendedScope(): string | null {
    return this.#guardName === this.registry.defaultName ? null : this.#guardName;
  }

  /**
   * @internal Reports whether the visitor is logged in with another guard that, like this one, identifies its users by
   * something the browser keeps. A guard that fails counts as one without a user.
   */
  async isLoggedInElsewhere(name: string): Promise<boolean> {
    for (const other of this.registry.names) {
      if (other === name) continue;
      const guard = this.#made(other);
      if (guard.keepsLogins && (await guard.check().catch(() => false))) return true;
    }
    return false;
  }

  get #pending(): Omit<PendingResult, "status"> | null {
    const last = this.#results.get(this.#guardName);
    if (last !== undefined) return last.status === "pending" ? last : null;
    const claim = this.pendingClaim(this.#guardName);
    return claim === null ? null : { ...claim, message: null };
  }

  get #active(): Guard {
    return this.#made(this.#guardName);
  }

  get #loginGuard(): LoginGuard {
    const guard = this.#active;
    if (guard instanceof LoginGuard) return guard as LoginGuard;
    throw unsupported(guard, "cannot log users in or out");
  }

  #made(name: string): Guard {
    const made = this.#guards.get(name);
    if (made !== undefined) return made;
    const guard = this.registry.make(name, this.#context);
    this.#guards.set(name, guard);
    return guard;
  }
}

function unsupported({ name }: Guard, problem: string): AshlarError {
  return new AshlarError("E_UNSUPPORTED_GUARD_OPERATION", `The guard "${name}" ${problem}.`);
}
