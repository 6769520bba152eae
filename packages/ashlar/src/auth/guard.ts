import type { HttpContext } from "../http/index.ts";
import { AshlarError, type MaybePromise, type RegisteredUser } from "../support/index.ts";
import { PASSWORD_LIMIT } from "../throttle/index.ts";
import { readAgain } from "./access-epoch.ts";
import type { Authenticatable, AuthenticatableClass, UserId } from "./authenticatable.ts";
import { verifyCredentials } from "./credentials.ts";
import { announce } from "./events.ts";
import { provesOwnPassword } from "./own-password.ts";
import { unlessUntried } from "./untried-passwords.ts";
import { isUserOf } from "./users-of.ts";
import type { UserSessions } from "./web/user-sessions.ts";

/** How a user is to be logged in. */
export interface LoginOptions {
  /** Whether the login outlasts the browser, where the guard can do that. */
  readonly remember?: boolean;
  /** Whether the account was just made, so that nobody needs to be told of a device it was never used on before. */
  readonly firstLogin?: boolean;
  /**
   * Whether the user has just proved the password, so that `password.confirm` need not ask for it. `attempt` says so by
   * itself.
   *
   * Security: set it only if the same request, or a login in several steps that this request completes, has verified the
   * password: never for a login by a link, by another site, or on behalf of a user.
   */
  readonly passwordConfirmed?: boolean;
}

/**
 * Knows the user of one request, by one means: a cookie, a token, a certificate.
 *
 * A guard of one's own extends this class: {@link Guard.retrieve} says who the request's user is; {@link Guard.persist}
 * and {@link Guard.forget} make a login last beyond the request and end it, where the guard can do that. One instance
 * is made per request and guard name, so a field of it belongs to that request alone.
 *
 * `User` is the class of the guard's users: the application's user, unless `guards` of `Register` names another.
 */
export abstract class Guard<User extends object = RegisteredUser> {
  /** The name under which the guard is registered: what stands after the colon in `guard:jwt`. */
  readonly name: string;
  protected readonly context: HttpContext;
  /** The class of the guard's users. */
  protected readonly model: AuthenticatableClass;
  #user: Authenticatable | null = null;
  #known = false;
  #retrieval: Promise<Authenticatable | null> | null = null;

  constructor(name: string, context: HttpContext, model: AuthenticatableClass) {
    this.name = name;
    this.context = context;
    this.model = model;
  }

  /** Finds the user that the request itself proves, or `null`. Called at most once per request. */
  protected abstract retrieve(): MaybePromise<Authenticatable | null>;

  /**
   * Makes the login last beyond this request.
   *
   * Security: store it only while access to the account has not ended since the user was read, and throw `E_STALE_PROOF`
   * otherwise. A login that was under way while the password was reset must not survive that.
   *
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` where the guard cannot
   */
  protected persist(_user: Authenticatable, _options: LoginOptions): MaybePromise<void> {
    throw this.#unsupported("log a user in");
  }

  /**
   * Ends what {@link Guard.persist} or the request's proof would let go on. Called also where the user is not known.
   *
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` where the guard cannot
   */
  protected forget(_user: Authenticatable | null): MaybePromise<void> {
    throw this.#unsupported("log a user out");
  }

  /** The value of `WWW-Authenticate` on an answer that asks for this guard's proof (RFC 9110 §11.6.1); `null`: none. */
  get challenge(): string | null {
    return null;
  }

  /** Whether the browser keeps what this guard knows its users by, so that one who is logged in has forms open. */
  get keepsLogins(): boolean {
    return false;
  }

  /** The user if it is known already, without asking the database. */
  get knownUser(): User | null {
    return this.#user as User | null;
  }

  /** The user of this request, or `null`; fetched when first asked for, and once. */
  async user(): Promise<User | null> {
    return this.load();
  }

  /** @internal The same, without a promise if {@link retrieve} gives none: what waits for nothing is quicker. */
  load(): MaybePromise<User | null> {
    if (this.#known) return this.knownUser;
    if (this.#retrieval !== null) return this.#retrieval.then(() => this.knownUser);
    const retrieved = this.retrieve();
    if (retrieved instanceof Promise) return this.#settleLater(retrieved);
    this.#settle(retrieved);
    this.#markAnswer(retrieved);
    return this.knownUser;
  }

  /** Tells whether the request has a user. */
  async check(): Promise<boolean> {
    return (await this.load()) !== null;
  }

  /**
   * Logs a user in with an identifier and a password.
   *
   * It is not limited itself: the route is, by the middleware `throttle:login`. A success gives back what the account used
   * up of that limit, and what was sent without an identifier or a password uses up nothing.
   *
   * @returns the user, or `null` if the two do not belong together, or no longer did when the login was to be
   * stored; with `ACCOUNTS.preventEnumeration` also for a user whose address is not verified
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` if the guard cannot log anyone in
   */
  async attempt(identifier: unknown, password: unknown, options: LoginOptions = {}): Promise<User | null> {
    const { throttle } = this.context.auth;
    const counted = { guard: this.name, account: identifier ?? null };
    // A route that counts attempts may have taken this one for an attempt at another guard's accounts.
    await throttle?.aim(this.context, PASSWORD_LIMIT, counted);
    const checking = verifyCredentials(this.context.auth.hasher, this.model, identifier, password);
    const check = await unlessUntried(this.context, checking);
    const user = check.account as User | null;
    if (user !== null && check.valid && this.context.auth.admits(user)) {
      const loggedIn = await this.#logInByPassword(user, { ...options, passwordConfirmed: true });
      if (loggedIn !== null) {
        await throttle?.clear(this.context, PASSWORD_LIMIT, counted);
        return loggedIn;
      }
    }
    if (!check.tried) await throttle?.giveBack(this.context, PASSWORD_LIMIT);
    announce(this.context, "auth.failed", this.name, { user, identifier: check.identifier });
    return null;
  }

  /**
   * Logs a user in by primary key.
   *
   * Security: it asks for no proof. The key must never come from an input.
   *
   * @returns the user, or `null` where there is none with this key
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` where the guard cannot log anybody in
   */
  async attemptById(id: UserId, options: LoginOptions = {}): Promise<User | null> {
    const user = (await this.model.findByAuthId(id)) as User | null;
    if (user !== null && (await this.#logIn(user, options))) return user;
    announce(this.context, "auth.failed", this.name, { user, identifier: null });
    return null;
  }

  /**
   * Logs a given user in, on the strength of what the user was when it was read. `password.confirm` still asks for the
   * password, unless the options say that the user has just proved it.
   *
   * @throws `E_STALE_PROOF` if access to the account has ended since, or the user is gone;
   * `E_UNSUPPORTED_GUARD_OPERATION` if the guard cannot log anyone in; `E_INVALID_MODEL` if the user is of another class
   * than the guard's users
   */
  async loginAs(user: User, options: LoginOptions = {}): Promise<User> {
    await this.persist(this.#owned(user), options);
    this.once(user);
    announce(this.context, "auth.login", this.name, { user });
    return user;
  }

  /**
   * Makes a user the request's own, for this request alone: nothing is stored and no event tells of it.
   *
   * @throws `E_INVALID_MODEL` where the user is of another class than the guard's users
   */
  once(user: User): void {
    this.#settle(this.#owned(user));
  }

  /**
   * Logs the user out.
   *
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` where the guard cannot log anybody out
   */
  async logout(): Promise<void> {
    const user = await this.user();
    await this.forget(user as Authenticatable | null);
    this.#settle(null);
    if (user !== null) announce(this.context, "auth.logout", this.name, { user });
  }

  /**
   * The devices that the user is logged in on.
   *
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` where the guard keeps no sessions
   */
  sessions(): UserSessions {
    throw this.#unsupported("list the sessions of a user");
  }

  /**
   * Ends the user's logins on all devices but this one.
   *
   * @returns whether the password was the user's; otherwise nothing is ended
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` where the guard keeps no sessions
   */
  async logoutOtherDevices(_password: unknown): Promise<boolean> {
    throw this.#unsupported("end the sessions of a user");
  }

  /**
   * Has the user prove anew who he is, for what a login some hours ago is not enough.
   *
   * @returns whether the password was the user's
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` where the guard does not remember it
   */
  async confirmPassword(_password: unknown): Promise<boolean> {
    throw this.#unsupported("confirm a password");
  }

  /**
   * When the user last proved the password, at login or since; `null` if they never did, or that is not known.
   *
   * @throws `E_UNSUPPORTED_GUARD_OPERATION` where the guard does not remember it
   */
  async passwordConfirmedAt(): Promise<Date | null> {
    throw this.#unsupported("confirm a password");
  }

  /**
   * Tells whether a password is that of the request's user. A wrong one counts, and is told, as a failed login.
   *
   * @throws `E_TOO_MANY_REQUESTS`
   */
  protected async provePassword(password: unknown): Promise<boolean> {
    const user = await this.user();
    return provesOwnPassword(this.context, this.name, user as Authenticatable | null, password);
  }

  /** Tells that the request's user could not prove who they are. */
  protected proofFailed(): false {
    announce(this.context, "auth.failed", this.name, { user: this.knownUser, identifier: null });
    return false;
  }

  /** Takes the request for a guest's, whatever it brought. */
  protected assumeGuest(): void {
    this.#settle(null);
  }

  /** Another login at this moment may have replaced the hash that this one rests on, which ends no access. */
  async #logInByPassword(user: User, options: LoginOptions): Promise<User | null> {
    if (await this.#logIn(user, options)) return user;
    const fresh = (await readAgain(this.model, user as unknown as Authenticatable)) as User | null;
    return fresh !== null && (await this.#logIn(fresh, options)) ? fresh : null;
  }

  async #logIn(user: User, options: LoginOptions): Promise<boolean> {
    try {
      await this.loginAs(user, options);
      return true;
    } catch (error) {
      if (error instanceof AshlarError && error.code === "E_STALE_PROOF") return false;
      throw error;
    }
  }

  #owned(user: User): Authenticatable {
    if (isUserOf(user, this.model)) return user as unknown as Authenticatable;
    // A guard stores keys: the key of another table's user would log a different user in at the next request.
    const problem = `The guard "${this.name}" has users of the class ${this.model.name}, not ${user.constructor.name}.`;
    throw new AshlarError("E_INVALID_MODEL", problem);
  }

  async #settleLater(retrieval: Promise<Authenticatable | null>): Promise<User | null> {
    this.#retrieval = retrieval;
    const user = await retrieval;
    // A login or logout that finished while the database was asked has the last word.
    if (this.#retrieval === retrieval) this.#settle(user);
    this.#markAnswer(user);
    return this.knownUser;
  }

  #markAnswer(user: Authenticatable | null): void {
    // By a cookie, the same URL gives other visitors something else, which no cache may hand on. By a token, caches know
    // that only if it came in the header (RFC 9111 §3.5), and not in the query.
    if (this.keepsLogins || user !== null) this.context.response.dependsOnVisitor(user !== null);
  }

  #settle(user: Authenticatable | null): void {
    this.#user = user;
    this.#known = true;
    this.#retrieval = null;
    if (this.context.auth.guardName === this.name) this.context.currentUser = this.knownUser;
  }

  #unsupported(operation: string): AshlarError {
    return new AshlarError("E_UNSUPPORTED_GUARD_OPERATION", `The guard "${this.name}" cannot ${operation}.`);
  }
}
