import { AshlarError, type MaybePromise, now, type RegisteredUser } from "../../support/index.ts";
import { accessEpochOf, type LoginProof, proofOf, readAgain, staleProof } from "../access/access-epoch.ts";
import { announce } from "../events.ts";
import { ACCOUNT_LIMIT, PASSWORD_LIMIT } from "../limits.ts";
import { verifyCredentials } from "../passwords/verify-credentials.ts";
import {
  CompleteLogin,
  type EntryOptions,
  type FailedProof,
  type LoginOptions,
  type LoginResult,
  NOTHING_PROVED,
  type PendingResult,
  PROOF_FAILED,
  type ProvedOptions,
  type UnfinishedLogin,
  unproved,
} from "../pipeline/complete-login.ts";
import type { PendingClaim, PendingLogin, WaitingLogin } from "../pipeline/pending-logins.ts";
import { proveStep } from "../pipeline/prove-step.ts";
import { flowsOf } from "../proofs/login-flow.ts";
import type { PassedStep } from "../proofs/login-methods.ts";
import type { LoginInProgress, LoginPurpose } from "../proofs/login-step.ts";
import { PASSWORD } from "../proofs/proof.ts";
import { type Authenticatable, closesAtOf, type UserId } from "../users/authenticatable.ts";
import { Confirmation } from "./confirmation.ts";
import { clearGuesses, comparePassword } from "./guesses.ts";
import { RequestGuard } from "./request-guard.ts";

/** A login before the steps are asked. */
interface Attempt {
  readonly options: ProvedOptions;
  readonly purpose: LoginPurpose;
  /** The steps that were passed by their own proof. */
  readonly passed: readonly PassedStep[];
  /** The pending login that it continues; `null` if it is a new one. */
  readonly resumed: PendingClaim | null;
}

/**
 * A guard that can log users in and out. A subclass implements {@link LoginGuard.persist} and
 * {@link LoginGuard.forget}, which make a login last beyond the request, and end it.
 *
 * It takes a user from the proof to the login: it compares the password, runs the steps, keeps pending logins, and
 * announces the result.
 */
export abstract class LoginGuard<User extends object = RegisteredUser> extends RequestGuard<User> {
  /**
   * Makes a login last beyond this request.
   *
   * Security: store it only if access to the account has not ended since the user was read, and throw `E_STALE_PROOF`
   * otherwise. A login that is in progress while the password is reset must not survive that.
   */
  protected abstract persist(login: CompleteLogin<User>, options: LoginOptions): MaybePromise<void>;

  /** Ends the login that `persist` stored, or that the request carries. Also called if the user is not known. */
  protected abstract forget(user: Authenticatable | null): MaybePromise<void>;

  /** Called after a login has taken effect. */
  protected afterLogin(_user: User, _options: LoginOptions): void {}

  /** The confirmation of the known user in the visitor's session, if it is still valid; otherwise `null`. */
  protected get confirmationSubject(): string | null {
    const user = this.knownUser as unknown as Authenticatable;
    return `${user.authId()} ${accessEpochOf(user)}`;
  }

  /**
   * Logs a user in with an identifier and a password, and returns the result: `complete`; `pending`, if a step of
   * `GUARDS` asks for more first; or `failed`.
   *
   * ```ts
   * const login = await auth.login(request.input("email"), request.input("password"));
   * if (login.status === "pending") return auth.redirectToStep();
   * if (login.status === "failed") return t(login.message);
   * return auth.redirectToIntended("home");
   * ```
   *
   * Attempts at the account are limited by `login.account`, wherever they come from. The route limits those of each
   * address, by the middleware `throttle:login`. A complete login gives back what the account used up of the latter; a
   * login that waits for a step gives back only its count by address, because its password was right. A request without
   * an identifier or a password uses up nothing. With `ACCOUNTS.preventEnumeration`, it fails for a user whose address
   * is not verified.
   */
  async login(identifier: unknown, password: unknown, given: LoginOptions = {}): Promise<LoginResult<User>> {
    // The options may come from an input, so the proof must be set here.
    const { proof: _proof, ...options } = unproved(given);
    const { throttle } = this.context.auth;
    const counted = { guard: this.name, account: identifier ?? null };
    // A route that counts attempts may have counted this one for another guard's accounts.
    await throttle?.aim(this.context, PASSWORD_LIMIT, counted);
    const { hasher } = this.context.auth.registry;
    const check = await verifyCredentials(hasher, this.model, identifier, password, (account, normalized, compare) => {
      return comparePassword(this.context, { guard: this.name, user: account, identifier: normalized }, compare);
    });
    const user = check.account as User | null;
    if (user !== null && check.valid && this.context.auth.registry.admits(user)) {
      const result = await this.#finishByPassword(user, options);
      if (result !== null) {
        await this.#giveBackAttempts(user, result);
        return result;
      }
    }
    if (!check.tried) await throttle?.giveBack(this.context, PASSWORD_LIMIT);
    return this.#proofFailed(user, check.identifier, PASSWORD);
  }

  /**
   * Logs in a user who has just given any kind of proof; every way to log in uses this method. The steps of `GUARDS`
   * and of installed features run as after a password.
   *
   * ```ts
   * declare function ownerOf(assertion: unknown): Promise<User | null>; // yours: verifies a passkey
   *
   * async function enterByPasskey({ auth, request }: HttpContext) {
   *   const user = await ownerOf(request.bodyInput("assertion"));
   *   if (user === null) return auth.webGuard.fail({ by: "passkey" });
   *   return auth.webGuard.enter(user, { by: "passkey" });
   * }
   * ```
   *
   * @param user the user as read when the proof was verified
   * @returns the result: `complete`; `pending`, if a step asks for more first; `failed`, if a step refuses the login,
   * access to the account has ended since the user was read, or with `ACCOUNTS.preventEnumeration`, the address is not
   * verified
   * @throws `E_INVALID_MODEL` if the user is of another class than the guard's users; `E_INVALID_CONFIGURATION` if no proof
   * has the name in `by`
   */
  async enter(user: User, options: EntryOptions = {}): Promise<LoginResult<User>> {
    const attempt = newAttempt(this.#proved(options));
    const result = this.context.auth.registry.admits(user) ? await this.#finishUnlessStale(user, attempt) : null;
    return result ?? this.#proofFailed(user, null, options.by ?? null);
  }

  /**
   * Ends an attempt to log in whose proof didn't hold: announces `auth.failed`, and ends a login that waits for a step. Count
   * attempts by a limit of your own, before you verify them, and give back those that held:
   * `throttle.hit(context, "passkeys", { user })`.
   *
   * @returns the result, whose sentence doesn't reveal why it failed
   */
  async fail({ by, user = null, identifier = null }: FailedProof<User>): Promise<UnfinishedLogin> {
    this.context.auth.registry.proofs.of(by);
    return this.#proofFailed(user, identifier, by);
  }

  /**
   * Logs a user in with an identifier and a password, like {@link login}.
   *
   * @returns the user if the login is complete; `null` if identifier or password is incorrect, or no longer correct
   * when the login was to be stored, or if a step keeps it from being complete: `auth.pending` then names the step that
   * it waits for
   */
  async attempt(identifier: unknown, password: unknown, options: LoginOptions = {}): Promise<User | null> {
    return userOf(await this.login(identifier, password, options));
  }

  /**
   * Logs a user in by primary key.
   *
   * Security: it doesn't require a proof. The key must never come from an input.
   *
   * @returns the user; `null` if there isn't one with this key, or as {@link attempt}
   */
  async attemptById(id: UserId, options: LoginOptions = {}): Promise<User | null> {
    const user = (await this.model.findByAuthId(id)) as User | null;
    const result = user === null ? null : await this.#finishUnlessStale(user, newAttempt(unproved(options)));
    return userOf(result ?? (await this.#proofFailed(user, null, null)));
  }

  /**
   * Logs in a given user without a proof, based on the user's state when read, so `password.confirm` asks for a proof
   * later. For a user who has just given one, see {@link enter}.
   *
   * @returns the user; `null` if a step keeps the login from being complete, as {@link attempt}
   * @throws `E_STALE_PROOF` if access to the account has ended since, or the user no longer exists; `E_INVALID_MODEL`
   * if the user is of another class than the guard's users
   */
  async loginAs(user: User, options: LoginOptions = {}): Promise<User | null> {
    return userOf(await this.#finish(user, newAttempt(unproved(options))));
  }

  /**
   * This visitor's login that waits for a step; `null` if no login waits: ten minutes have passed since it began, it
   * was completed or canceled, or access to the account has ended.
   *
   * ```ts
   * async function continueLogin(context: HttpContext) {
   *   const login = await context.auth.guard("jwt").pendingLogin(context.request.bearerToken());
   *   return login === null ? null : Api.respond(context, await login.resume());
   * }
   * ```
   *
   * @param text for a client without a session: the text `pending` of a {@link LoginResult} with this guard, as it was sent,
   * of any type
   */
  async pendingLogin(text?: unknown): Promise<PendingLogin<User> | null> {
    const { auth } = this.context;
    const { pendingLogins } = auth.registry;
    const claim =
      text === undefined ? pendingLogins.read(this.context, this.name) : pendingLogins.open(this.name, text);
    if (claim === null) return null;
    const account = (await pendingLogins.isOpen(this.name, claim)) ? await this.model.findByAuthId(claim.id) : null;
    if (account === null || String(account.authId()) !== claim.id || accessEpochOf(account) !== claim.epoch) {
      await pendingLogins.drop(this.context, this.name, claim);
      return null;
    }
    const user = account as unknown as User;
    const { step } = claim;
    return {
      user,
      step,
      flows: async () => (await this.#waiting(user, claim)).flows,
      resume: () => this.#resume(user, claim, claim.passed),
      pass: async (passed, verify, by) => {
        // One step's page must not pass another step, because it verifies something else.
        if (passed !== step) return this.#waiting(user, claim);
        if (!(await proveStep(this.context, this.name, user, step, verify, by))) return this.#waiting(user, claim);
        const passedNow = { name: step, at: now(), ...(by !== undefined && { by }) };
        return this.#resume(user, claim, [...claim.passed, passedNow]);
      },
      cancel: () => pendingLogins.drop(this.context, this.name, claim),
    };
  }

  /** Logs the user out. */
  async logout(): Promise<void> {
    const user = await this.user();
    await this.leave();
    if (user !== null) announce(this.context, "auth.logout", this.name, { user });
  }

  /** @internal Logs the user out without announcing it: access to the account has ended in this request. */
  async leave(): Promise<void> {
    const user = await this.user();
    await this.context.auth.registry.pendingLogins.drop(this.context, this.name);
    await this.forget(user as Authenticatable | null);
    this.assumeGuest();
  }

  /**
   * @internal Asks the steps. If one of them does not let the user pass, that is announced, and a pending login is
   * kept. This is the only way to get a {@link CompleteLogin}.
   *
   * @throws `E_STALE_PROOF` if a step is pending, and access to the account has ended since the user was read
   */
  protected async admit(user: User, attempt: Partial<Attempt> = {}): Promise<CompleteLogin<User> | UnfinishedLogin> {
    const { options = NOTHING_PROVED, purpose = "login", passed = [], resumed = null } = attempt;
    const { proof } = options;
    const { auth } = this.context;
    const { context, name: guard } = this;
    const prove = (step: string, ...proof: Parameters<LoginInProgress["prove"]>) => {
      return proveStep(context, guard, user, step, ...proof);
    };
    const judged = { context, guard, user, purpose, proof, passed };
    const login = await CompleteLogin.judge(auth.registry.stepsOf(guard), judged, prove);
    if (login instanceof CompleteLogin) return login;
    const { outcome } = login;
    if (outcome.status === "failed") {
      await auth.registry.pendingLogins.drop(context, guard, resumed);
      auth.concluded(guard, outcome);
      announce(context, "auth.failed", guard, { user, identifier: null, by: proof?.by ?? null });
      return outcome;
    }
    const { step, page } = outcome;
    const account = user as unknown as Authenticatable;
    const waiting = { epoch: accessEpochOf(account), purpose, step, page, passed: login.passed, options };
    const pending = await this.#keep(waiting, proofOf(this.model, account), resumed);
    const result = pending === null ? outcome : { ...outcome, pending };
    auth.concluded(guard, result);
    announce(context, "auth.pending", guard, { user, step });
    return result;
  }

  /** Keeps a login that waits, in the visitor's session or as a text, which is returned; `null` without a text. */
  async #keep(waiting: WaitingLogin, proof: LoginProof, resumed: PendingClaim | null): Promise<string | null> {
    const { context, name } = this;
    const { pendingLogins } = context.auth.registry;
    // A guard whose logins the browser keeps must not complete one that began elsewhere.
    const isByText = context.visitor === null && !this.keepsLogins && waiting.purpose === "login";
    if (resumed === null ? isByText : resumed.text !== undefined) {
      return await pendingLogins.hand(context, name, waiting, proof, resumed);
    }
    await pendingLogins.keep(context, name, waiting, proof, resumed);
    return null;
  }

  /**
   * @internal Asks the steps whether a confirmation counts in which the user has just proved who they are. Those that were
   * passed by a proof, or on their page, are not asked again for ten minutes in the same login: a form that asks for the
   * password can be sent again after the visit to a step's page.
   *
   * @param takeEffect called once all steps have let the user pass; returns whether the confirmation still counts
   * @returns whether it counts; otherwise `auth.pending` names the step that it waits for, if any
   */
  async admitConfirmed(
    user: User,
    options: ProvedOptions,
    takeEffect: (login: CompleteLogin<User>) => MaybePromise<boolean> = () => true,
  ): Promise<boolean> {
    const ask = (passed: readonly PassedStep[]) => this.admit(user, { options, purpose: "confirmation", passed });
    return this.#confirmation.admit(user, options, ask, takeEffect);
  }

  get #confirmation(): Confirmation {
    return new Confirmation(this.context, this.name, () => this.confirmationSubject);
  }

  /** The only place where a login takes effect: after every step. */
  async #finish(user: User, attempt: Attempt): Promise<LoginResult<User>> {
    this.requireOwn(user);
    const login = await this.admit(user, attempt);
    if (login.status !== "complete") return login;
    const { auth } = this.context;
    const { options, resumed } = attempt;
    // Before the login takes effect: if two requests complete it in parallel, only one of them can use it up.
    if (resumed === null) await auth.registry.pendingLogins.drop(this.context, this.name);
    else if (!(await auth.registry.pendingLogins.take(this.context, this.name, resumed))) throw staleProof();
    const entered = await this.#takeEffect(login, options);
    this.once(entered);
    announce(this.context, "auth.login", this.name, { user: entered, by: login.methods.map(({ by }) => by) });
    this.afterLogin(entered, options);
    auth.concluded(this.name, login);
    return login;
  }

  /** A login reopens an account that its owner has closed; that is decided together with it. */
  async #takeEffect(login: CompleteLogin<User>, options: ProvedOptions): Promise<User> {
    const { closedAccounts } = this.context.auth.registry;
    const { user } = login;
    const enter = () => this.persist(login, options);
    if (closedAccounts !== null && closesAtOf(user) !== null) {
      return closedAccounts.enterReopened(this.context, this.name, user, enter);
    }
    await enter();
    return user;
  }

  /** A concurrent login may have replaced the hash that this one is based on, which does not end access. */
  async #finishByPassword(user: User, options: LoginOptions): Promise<LoginResult<User> | null> {
    const attempt = newAttempt(this.#proved({ ...options, by: PASSWORD }));
    const result = await this.#finishUnlessStale(user, attempt);
    if (result !== null) return result;
    const fresh = (await readAgain(this.model, user as unknown as Authenticatable)) as User | null;
    return fresh === null ? null : this.#finishUnlessStale(fresh, attempt);
  }

  async #giveBackAttempts(user: User, { status }: LoginResult<User>): Promise<void> {
    if (status === "complete") await clearGuesses(this.context, this.name, user);
    if (status !== "pending") return;
    // The request that completes it comes later, perhaps from another address, and doesn't know about this count.
    const { throttle } = this.context.auth;
    await throttle?.giveBack(this.context, PASSWORD_LIMIT, { only: "address" });
    await throttle?.giveBack(this.context, ACCOUNT_LIMIT);
  }

  async #finishUnlessStale(user: User, attempt: Attempt): Promise<LoginResult<User> | null> {
    try {
      return await this.#finish(user, attempt);
    } catch (error) {
      if (error instanceof AshlarError && error.code === "E_STALE_PROOF") return null;
      throw error;
    }
  }

  async #waiting(user: User, { step, page }: PendingClaim): Promise<PendingResult> {
    const asked = this.context.auth.registry.stepsOf(this.name).find(({ name }) => name === step);
    const flows = await flowsOf(this.context, this.name, user, asked ?? { name: step, ...(page !== null && { page }) });
    return { status: "pending", step, page, message: null, flows };
  }

  async #resume(user: User, claim: PendingClaim, passed: readonly PassedStep[]): Promise<LoginResult<User>> {
    const { options, purpose } = claim;
    const by = options.proof?.by ?? null;
    const attempt = { options, purpose, passed, resumed: claim };
    const result = (await this.#finishUnlessStale(user, attempt)) ?? (await this.#proofFailed(user, null, by));
    if (result.status !== "complete") return result;
    if (purpose === "confirmation") this.#confirmation.noteResumed(result, claim.step);
    if (by === PASSWORD) await clearGuesses(this.context, this.name, user);
    return result;
  }

  async #proofFailed(user: User | null, identifier: string | null, by: string | null): Promise<UnfinishedLogin> {
    const { auth } = this.context;
    await auth.registry.pendingLogins.drop(this.context, this.name);
    auth.concluded(this.name, PROOF_FAILED);
    announce(this.context, "auth.failed", this.name, { user, identifier, by });
    return PROOF_FAILED;
  }

  #proved({ by, amr, ...options }: EntryOptions): ProvedOptions {
    const own = unproved(options);
    return by === undefined ? own : { ...own, proof: this.context.auth.registry.proofs.given(by, amr) };
  }
}

function newAttempt(options: ProvedOptions): Attempt {
  return { options, purpose: "login", passed: [], resumed: null };
}

function userOf<User extends object>(result: LoginResult<User>): User | null {
  return result.status === "complete" ? result.user : null;
}
