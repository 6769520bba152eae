import type { Events } from "../events/index.ts";
import type { HttpContext } from "../http/index.ts";
import type { GuardUser, RegisteredUser } from "../support/index.ts";
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
  readonly #context: HttpContext;
  readonly #registry: GuardRegistry;
  readonly #guards = new Map<string, Guard>();
  #guardName: string;

  constructor(context: HttpContext, registry: GuardRegistry, events: Events | null) {
    this.#context = context;
    this.#registry = registry;
    this.#guardName = registry.defaultName;
    this.events = events;
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
   * const employee = await auth.guard("staff").user();
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
