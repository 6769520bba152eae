import type { Events } from "../events/index.ts";
import type { HttpContext, HttpResponse, QueryParameters, RouteParameters } from "../http/index.ts";
import type { PasswordHasher } from "../security/index.ts";
import type { GuardUser, MaybePromise, RegisteredUser } from "../support/index.ts";
import type { Throttle } from "../throttle/index.ts";
import { authRoutes } from "./accounts/auth-routes.ts";
import type { UserId } from "./authenticatable.ts";
import type { Guard, LoginOptions } from "./guard.ts";
import type { GuardRegistry } from "./guard-registry.ts";
import type { UserSessions } from "./web/user-sessions.ts";

declare module "../http/context.ts" {
  interface FrameworkContext {
    /** Who the request's user is, and how to log one in and out. */
    readonly auth: Auth;
  }
}

/**
 * Authentication of one request: its operations are those of the guard in force, at first the default guard.
 *
 * ```ts
 * const user = await context.auth.attempt(email, password);
 * ```
 */
export class Auth {
  /** The routes of accounts, from `/login` to `/password_reset`, for the web routes list: `...Auth.routes(controllers)`. */
  static readonly routes: typeof authRoutes = authRoutes;
  /** Where what happens is told; `null` where the application has no events. */
  readonly events: Events | null;
  /** The application's limits; `null` if it has none. */
  readonly throttle: Throttle | null;
  readonly #context: HttpContext;
  readonly #registry: GuardRegistry;
  readonly #guards = new Map<string, Guard>();
  #guardName: string;

  constructor(context: HttpContext, registry: GuardRegistry, events: Events | null, throttle: Throttle | null = null) {
    this.#context = context;
    this.#registry = registry;
    this.#guardName = registry.defaultName;
    this.events = events;
    this.throttle = throttle;
  }

  /** @internal What hashes the passwords of users. */
  get hasher(): PasswordHasher {
    return this.#registry.hasher;
  }

  /** The name of the guard in force. */
  get guardName(): string {
    return this.#guardName;
  }

  /**
   * Puts a guard in force for the rest of the request, and gives it. Its users are of the class that `guards` of
   * `Register` names for it, and otherwise the application's:
   *
   * ```ts
   * declare module "ashlar" { interface Register { user: User; guards: { staff: Employee } } }
   *
   * await auth.guard("staff").loginAs(employee);
   * const colleague = await auth.guard("staff").user();
   * ```
   *
   * @throws `E_UNKNOWN_GUARD`
   */
  guard<Name extends string>(name: Name): Guard<GuardUser<Name>> {
    const guard = this.#made(name);
    this.#guardName = name;
    this.#context.currentUser = guard.knownUser;
    return guard as Guard<GuardUser<Name>>;
  }

  /** The user of this request by the guard in force, or `null`; fetched when first asked for, and once. */
  user(): Promise<RegisteredUser | null> {
    return this.#inForce.user();
  }

  /** @internal The same, without a promise if the guard needs none. */
  load(): MaybePromise<RegisteredUser | null> {
    return this.#inForce.load();
  }

  /** Tells whether the request has a user by the guard in force. */
  check(): Promise<boolean> {
    return this.#inForce.check();
  }

  /**
   * Logs a user in with an identifier and a password, by the guard in force.
   *
   * @returns the user, or `null` where the two do not belong together
   * @throws `E_UNSUPPORTED_GUARD_OPERATION`
   */
  attempt(identifier: unknown, password: unknown, options?: LoginOptions): Promise<RegisteredUser | null> {
    return this.#inForce.attempt(identifier, password, options);
  }

  /**
   * Logs a user in by primary key, by the guard in force.
   *
   * Security: it asks for no proof. The key must never come from an input.
   *
   * @returns the user, or `null` where there is none with this key
   * @throws `E_UNSUPPORTED_GUARD_OPERATION`
   */
  attemptById(id: UserId, options?: LoginOptions): Promise<RegisteredUser | null> {
    return this.#inForce.attemptById(id, options);
  }

  /**
   * Logs a given user in, by the guard in force.
   *
   * @throws `E_UNSUPPORTED_GUARD_OPERATION`; `E_INVALID_MODEL` where the user is of another class than the guard's
   */
  loginAs(user: RegisteredUser, options?: LoginOptions): Promise<RegisteredUser> {
    return this.#inForce.loginAs(user, options);
  }

  /** Makes a user the request's own, for this request alone: nothing is stored and no event tells of it. */
  once(user: RegisteredUser): void {
    this.#inForce.once(user);
  }

  /**
   * Logs the user out, by the guard in force.
   *
   * @throws `E_UNSUPPORTED_GUARD_OPERATION`
   */
  logout(): Promise<void> {
    return this.#inForce.logout();
  }

  /**
   * The devices that the user is logged in on by the guard in force: to list them, and to end their logins.
   *
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` where the guard keeps no sessions
   */
  sessions(): UserSessions {
    return this.#inForce.sessions();
  }

  /**
   * Ends the user's logins on all devices but this one, by the guard in force.
   *
   * @returns whether the password was the user's; otherwise nothing is ended
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` where the guard keeps no sessions
   */
  logoutOtherDevices(password: unknown): Promise<boolean> {
    return this.#inForce.logoutOtherDevices(password);
  }

  /**
   * Has the user prove anew who he is, as the middleware `password.confirm` asks for.
   *
   * @returns whether the password was the user's
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` where the guard does not remember it
   */
  confirmPassword(password: unknown): Promise<boolean> {
    return this.#inForce.confirmPassword(password);
  }

  /**
   * The URL of a page of the active guard, by the name that `Auth.routes` gives it: the same controllers and templates
   * serve every guard. Templates know `auth` as well: `{{ auth.route("login") }}`.
   *
   * ```ts
   * auth.route("login"); // "/login", or "/admin/login" with the guard admin active
   * ```
   *
   * Without a route of that name, the pages `login`, `home`, `confirm_password` and `email.verify.notice` of a guard that
   * has no `routes` of its own are at `/login` and so on.
   *
   * @throws `E_UNKNOWN_ROUTE`, `E_MISSING_ROUTE_PARAMETER`, `E_INVALID_ROUTE_PARAMETER`
   */
  route(page: string, parameters?: RouteParameters, query?: QueryParameters): string {
    return this.#registry.pages.to(this.#guardName, page, parameters, query);
  }

  /** Tells whether the active guard has a page: whether `Auth.routes` was not told to leave it out. */
  hasRoute(page: string): boolean {
    return this.#registry.pages.has(this.#guardName, page);
  }

  /**
   * Redirects to a page of the active guard.
   *
   * @throws as {@link route}
   */
  redirectToRoute(page: string, parameters?: RouteParameters, query?: QueryParameters): HttpResponse {
    const { response } = this.#context;
    if (!this.hasRoute(page)) return response.redirect(this.route(page, parameters, query));
    // By name, since a guard's pages may have a host of their own.
    return response.redirectToRoute(this.#registry.pages.nameOf(this.#guardName, page), parameters, query);
  }

  /**
   * Redirects to where the visitor was heading when the active guard asked for the login, or for the password.
   *
   * @param page where to go otherwise, as in {@link route}
   * @throws as {@link route}
   */
  redirectToIntended(page: string): HttpResponse {
    const target = this.#context.visitor?.intended("", this.intendedScope) ?? "";
    return target === "" ? this.redirectToRoute(page) : this.#context.response.redirect(target);
  }

  /** @internal Tells whether a user may log in with a password. */
  admits(user: object): boolean {
    return this.#registry.admits(user);
  }

  /** @internal Under which name the visitor's memory keeps where they were heading. */
  get intendedScope(): string | null {
    return this.#guardName === this.#registry.defaultName ? null : this.#guardName;
  }

  /**
   * @internal Tells whether the visitor is logged in by another guard that, as this one, knows its users by what the
   * browser keeps. A guard that cannot tell counts as one that knows no one.
   */
  async isLoggedInElsewhere(name: string): Promise<boolean> {
    for (const other of this.#registry.names) {
      if (other === name) continue;
      const guard = this.#made(other);
      if (guard.keepsLogins && (await guard.check().catch(() => false))) return true;
    }
    return false;
  }

  get #inForce(): Guard {
    return this.#made(this.#guardName);
  }

  #made(name: string): Guard {
    const made = this.#guards.get(name);
    if (made !== undefined) return made;
    const guard = this.#registry.make(name, this.#context);
    this.#guards.set(name, guard);
    return guard;
  }
}
