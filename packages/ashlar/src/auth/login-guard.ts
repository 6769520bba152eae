import { AshlarError, type MaybePromise, type RegisteredUser } from "../support/index.ts";
import { accessEpochOf, readAgain } from "./access-epoch.ts";
import type { Authenticatable, UserId } from "./authenticatable.ts";
import { verifyCredentials } from "./credentials.ts";
import { announce } from "./events.ts";
import { PASSWORD_LIMIT } from "./limits.ts";
import { judge, type LoginResult, PROOF_FAILED, type UnfinishedLogin } from "./pipeline/login-step.ts";
import type { PendingLogin } from "./pipeline/pending-logins.ts";
import { RequestGuard } from "./request-guard.ts";
import { unlessUntried } from "./untried-passwords.ts";

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
 * A guard that can log users in and out. One of your own says by {@link LoginGuard.persist} and {@link LoginGuard.forget} how a
 * login lasts beyond the request, and how it ends.
 */
export abstract class LoginGuard<User extends object = RegisteredUser> extends RequestGuard<User> {
  /**
   * Makes the login last beyond this request.
   *
   * Security: store it only while access to the account has not ended since the user was read, and throw `E_STALE_PROOF`
   * otherwise. A login that was under way while the password was reset must not survive that.
   */
  protected abstract persist(user: Authenticatable, options: LoginOptions): MaybePromise<void>;

  /** Ends what {@link LoginGuard.persist} or the request's proof would let go on. Called also if the user is not known. */
  protected abstract forget(user: Authenticatable | null): MaybePromise<void>;

  /** What follows a login that took effect. */
  protected afterLogin(_user: User, _options: LoginOptions): void {}

  /**
   * Logs a user in with an identifier and a password, and tells what came of it: `complete`; `pending`, if a step of
   * `GUARDS` asks for more first; or `failed`.
   *
   * ```ts
   * const login = await auth.login(request.input("email"), request.input("password"));
   * if (login.status === "pending") return auth.redirectToStep();
   * if (login.status === "failed") return login.message ?? "Incorrect email address or password.";
   * return auth.redirectToIntended("home");
   * ```
   *
   * It is not limited itself: the route is, by the middleware `throttle:login`. A complete login gives back what the account
   * used up of that limit, and what was sent without an identifier or a password uses up nothing. With
   * `ACCOUNTS.preventEnumeration` it fails for a user whose address is not verified.
   */
  async login(identifier: unknown, password: unknown, options: LoginOptions = {}): Promise<LoginResult<User>> {
    const { throttle } = this.context.auth;
    const counted = { guard: this.name, account: identifier ?? null };
    // A route that counts attempts may have taken this one for an attempt at another guard's accounts.
    await throttle?.aim(this.context, PASSWORD_LIMIT, counted);
    const checking = verifyCredentials(this.context.auth.hasher, this.model, identifier, password);
    const check = await unlessUntried(this.context, checking);
    const user = check.account as User | null;
    if (user !== null && check.valid && this.context.auth.admits(user)) {
      const result = await this.#finishByPassword(user, { ...options, passwordConfirmed: true });
      if (result?.status === "complete") await throttle?.clear(this.context, PASSWORD_LIMIT, counted);
      if (result !== null) return result;
    }
    if (!check.tried) await throttle?.giveBack(this.context, PASSWORD_LIMIT);
    return this.#proofFailed(user, check.identifier);
  }

  /**
   * Logs a user in with an identifier and a password, as {@link login} does.
   *
   * @returns the user if the login is complete; `null` if the two do not belong together, no longer did when the login was to
   * be stored, or a step keeps it from being complete: `auth.pending` then names the step that is asked for
   */
  async attempt(identifier: unknown, password: unknown, options: LoginOptions = {}): Promise<User | null> {
    return userOf(await this.login(identifier, password, options));
  }

  /**
   * Logs a user in by primary key.
   *
   * Security: it asks for no proof. The key must never come from an input.
   *
   * @returns the user; `null` if there is none with this key, or as {@link attempt}
   */
  async attemptById(id: UserId, options: LoginOptions = {}): Promise<User | null> {
    const user = (await this.model.findByAuthId(id)) as User | null;
    const result = user === null ? null : await this.#finishUnlessStale(user, options, []);
    return userOf(result ?? this.#proofFailed(user, null));
  }

  /**
   * Logs a given user in, on the strength of what the user was when it was read. `password.confirm` still asks for the
   * password, unless the options say that the user has just proved it.
   *
   * @returns the user; `null` if a step keeps the login from being complete, as {@link attempt}
   * @throws `E_STALE_PROOF` if access to the account has ended since, or the user is gone; `E_INVALID_MODEL` if the user is of
   * another class than the guard's users
   */
  async loginAs(user: User, options: LoginOptions = {}): Promise<User | null> {
    return userOf(await this.#finish(user, options, []));
  }

  /**
   * The login of this visitor that waits for a step; `null` if none does, ten minutes have passed, or access to the account
   * has ended since.
   */
  async pendingLogin(): Promise<PendingLogin<User> | null> {
    const claim = this.context.auth.pendingClaim(this.name);
    if (claim === null) return null;
    const user = await this.model.findByAuthId(claim.id);
    if (user === null || String(user.authId()) !== claim.id || accessEpochOf(user) !== claim.epoch) {
      this.context.auth.forgetPending(this.name);
      return null;
    }
    const goOn = (passed: readonly string[]) => this.#resume(user as unknown as User, claim.options, passed);
    return {
      user: user as unknown as User,
      step: claim.step,
      resume: () => goOn(claim.passed),
      pass: () => goOn([...claim.passed, claim.step]),
    };
  }

  /** Logs the user out. */
  async logout(): Promise<void> {
    const user = await this.user();
    await this.forget(user as Authenticatable | null);
    this.assumeGuest();
    if (user !== null) announce(this.context, "auth.logout", this.name, { user });
  }

  /**
   * Asks the steps of a login. What keeps it from taking effect is told, and kept if it is pending.
   *
   * @returns `null` if nothing does
   */
  protected async hold(
    user: User,
    options: LoginOptions,
    passed: readonly string[] = [],
  ): Promise<UnfinishedLogin | null> {
    const { auth } = this.context;
    const { name: guard } = this;
    const held = await judge(auth.stepsOf(guard), { context: this.context, guard, user, passed });
    if (held === null) return null;
    if (held.status === "failed") {
      auth.concluded(guard, held, null);
      announce(this.context, "auth.failed", guard, { user, identifier: null });
      return held;
    }
    const { step, page } = held;
    const account = user as unknown as Authenticatable;
    const claim = { id: String(account.authId()), epoch: accessEpochOf(account), step, page, passed, options };
    auth.concluded(guard, held, claim);
    announce(this.context, "auth.pending", guard, { user, step });
    return held;
  }

  /** The one place where a login takes effect: after every step. */
  async #finish(user: User, options: LoginOptions, passed: readonly string[]): Promise<LoginResult<User>> {
    const account = this.requireOwn(user);
    const held = await this.hold(user, options, passed);
    if (held !== null) return held;
    await this.persist(account, options);
    this.once(user);
    announce(this.context, "auth.login", this.name, { user });
    this.afterLogin(user, options);
    const result = { status: "complete", user } as const;
    this.context.auth.concluded(this.name, result, null);
    return result;
  }

  /** Another login at this moment may have replaced the hash that this one rests on, which ends no access. */
  async #finishByPassword(user: User, options: LoginOptions): Promise<LoginResult<User> | null> {
    const result = await this.#finishUnlessStale(user, options, []);
    if (result !== null) return result;
    const fresh = (await readAgain(this.model, user as unknown as Authenticatable)) as User | null;
    return fresh === null ? null : this.#finishUnlessStale(fresh, options, []);
  }

  async #finishUnlessStale(
    user: User,
    options: LoginOptions,
    passed: readonly string[],
  ): Promise<LoginResult<User> | null> {
    try {
      return await this.#finish(user, options, passed);
    } catch (error) {
      if (error instanceof AshlarError && error.code === "E_STALE_PROOF") return null;
      throw error;
    }
  }

  async #resume(user: User, options: LoginOptions, passed: readonly string[]): Promise<LoginResult<User>> {
    const result = (await this.#finishUnlessStale(user, options, passed)) ?? this.#proofFailed(user, null);
    if (result.status !== "complete" || options.passwordConfirmed !== true) return result;
    await this.context.auth.throttle?.clear(this.context, PASSWORD_LIMIT, { guard: this.name, user });
    return result;
  }

  #proofFailed(user: User | null, identifier: string | null): UnfinishedLogin {
    this.context.auth.concluded(this.name, PROOF_FAILED, null);
    announce(this.context, "auth.failed", this.name, { user, identifier });
    return PROOF_FAILED;
  }
}

function userOf<User extends object>(result: LoginResult<User>): User | null {
  return result.status === "complete" ? result.user : null;
}
