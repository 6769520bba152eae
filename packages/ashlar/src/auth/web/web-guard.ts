import type { HttpContext } from "../../http/index.ts";
import { digest, randomToken } from "../../security/index.ts";
import { AshlarError, currentDate, type MaybePromise, type RegisteredUser } from "../../support/index.ts";
import { proofOf, staleProof } from "../access/access-epoch.ts";
import { announce } from "../events.ts";
import type { GuardFactory } from "../guards/guard-table.ts";
import { LoginGuard } from "../guards/login-guard.ts";
import { deviceName, deviceOf, type RememberedAccount } from "../logins/devices.ts";
import type { KeptLogin, LoginOwner } from "../logins/login-store.ts";
import { UserLogins } from "../logins/user-logins.ts";
import type { CompleteLogin, EntryOptions, LoginOptions, ProvedOptions } from "../pipeline/complete-login.ts";
import type { LoginMethod } from "../proofs/login-methods.ts";
import { PASSWORD } from "../proofs/proof.ts";
import type { Authenticatable, AuthenticatableClass } from "../users/authenticatable.ts";
import { LoginRecognition } from "./login-recognition.ts";
import { type CurrentLogin, RequestLogin } from "./request-login.ts";
import { WebConfirmation } from "./web-confirmation.ts";
import type { WebGuardDependencies } from "./web-guard-settings.ts";

/**
 * Identifies a request's user by a cookie with a random token, and keeps a row in the table `logins` for each device
 * that a user is logged in on. The table contains digests of tokens, never the tokens.
 *
 * It starts and ends logins in the store. `LoginRecognition` finds a request's login, `RequestLogin` contains the login
 * and its cookie, and `WebConfirmation` renews it.
 */
export class WebGuard<User extends object = RegisteredUser> extends LoginGuard<User> {
  readonly #dependencies: WebGuardDependencies;
  readonly #own: RequestLogin;

  constructor(name: string, context: HttpContext, model: AuthenticatableClass, dependencies: WebGuardDependencies) {
    super(name, context, model);
    this.#dependencies = dependencies;
    this.#own = new RequestLogin(context, dependencies);
  }

  override get keepsLogins(): boolean {
    return true;
  }

  /** @internal The login of the request's user, once that is known; `null` if there isn't one. */
  get currentLogin(): CurrentLogin | null {
    return this.#own.current;
  }

  protected override retrieve(): MaybePromise<Authenticatable | null> {
    const { token, isFormer } = this.#own.presented();
    if (token === null) return null;
    const recognition = new LoginRecognition(this.context, this.name, this.model, this.#own, this.#dependencies);
    return recognition.userOf(token, isFormer);
  }

  protected override async persist({ user: own, methods }: CompleteLogin<User>, options: ProvedOptions): Promise<void> {
    const user = own as unknown as Authenticatable;
    const { remember = false, proof: first } = options;
    const { store, settings } = this.#dependencies;
    const token = randomToken();
    const at = currentDate();
    const proof = proofOf(this.model, user);
    const login = {
      guard: this.name,
      userId: user.authId(),
      tokenHash: digest(token),
      accessEpoch: proof.accessEpoch,
      ...deviceOf(this.context.request),
      authenticatedAt: first === null ? null : new Date(first.at),
      methods,
      lastUsedAt: at,
      expiresAt: new Date(at.getTime() + (remember ? settings.rememberMs : settings.idleMs)),
      createdAt: at,
    };
    const id = await store.start(login, proof);
    if (id === null) throw staleProof();
    // The browser's token is ended and never adopted: an attacker may have planted it.
    await this.#endPresented();
    await this.#endOldest(user);
    this.#own.become({ ...login, id }, token);
    const { auth, visitor } = this.context;
    visitor?.regenerate();
    visitor?.keepTypedOnlyOf(auth.nameOfOwner(this.name, user));
  }

  protected override async forget(): Promise<void> {
    await this.#endPresented();
    this.#own.end();
    // All data about the visitor may belong to the user. The identity is shared with another guard's user, and a new
    // one would invalidate the forms on that user's pages.
    const isShared = await this.context.auth.isLoggedInElsewhere(this.name);
    if (isShared) this.context.visitor?.flush();
    else this.context.visitor?.invalidate();
  }

  protected override afterLogin(user: User, options: LoginOptions): void {
    const account = user as unknown as Authenticatable;
    const { devices } = this.#dependencies;
    const isKnown = devices.remember(this.context, this.name, account.authId(), this.#remembered(account));
    if (isKnown || options.firstLogin === true) return;
    const { userAgent } = deviceOf(this.context.request);
    announce(this.context, "auth.new_device", this.name, { user, userAgent, device: deviceName(userAgent) });
  }

  /** Ends the login and removes the cookie, even if the user cannot be loaded. */
  override async logout(): Promise<void> {
    try {
      await this.user();
    } catch (error) {
      this.#dependencies.logger.error(
        { err: error, guard: this.name },
        "The user who is logging out could not be loaded.",
      );
      this.assumeGuest();
    }
    await super.logout();
  }

  /** The devices that the user is logged in on. */
  logins(): UserLogins {
    return new UserLogins({
      guard: this.name,
      store: this.#dependencies.store,
      user: async () => (await this.user()) as Authenticatable | null,
      currentId: () => this.#own.current?.id ?? null,
      logout: () => this.logout(),
      takeOver: (user) => this.once(user as unknown as User),
      t: this.context.t,
      endAccess: (user, ending) => {
        const address = this.context.request.clientAddress;
        return this.#dependencies.endAccess(user, { ...ending, keeper: this as unknown as WebGuard<object>, address });
      },
      keepAlone: (changed) => this.keepAlone(changed),
      sendNextToken: () => this.sendNextToken(),
      ended: (user, count) => this.#announceEnded(user, count, "user"),
    });
  }

  /**
   * Ends the user's logins on all other devices.
   *
   * @param password the user's password; a user without one must have given another proof in the last ten minutes
   * @returns whether the password was the user's; otherwise nothing is ended
   * @throws `E_TOO_MANY_REQUESTS`; `E_OVERLOADED`; `E_PASSWORD_NOT_CONFIRMED` if a user without a password has to give another
   * proof first
   */
  async logoutOtherDevices(password: unknown): Promise<boolean> {
    if (!(await this.provesAgain(password))) return false;
    try {
      await this.logins().endOthers();
      return true;
    } catch (error) {
      if (error instanceof AshlarError && error.code === "E_STALE_PROOF") {
        return this.#confirmation.failed(this.knownUser, PASSWORD);
      }
      throw error;
    }
  }

  /**
   * Confirms the user's password, as the middleware `password.confirm` requires; see {@link confirm}.
   *
   * @returns whether the password was the user's and all steps let it count; otherwise `auth.pending` names the step
   * that the confirmation waits for, if any
   * @throws `E_TOO_MANY_REQUESTS`; `E_OVERLOADED`
   */
  async confirmPassword(password: unknown): Promise<boolean> {
    return this.#confirmation.byPassword(password);
  }

  /**
   * Renews this login after its user has given any proof again, as the middleware `password.confirm` requires. Call it
   * on the page of your own kind of proof. The login gets a new token; no new login is started.
   *
   * The login steps run here, too, except for steps that this login has passed in a confirmation within the last ten
   * minutes, by a proof or on their page. That way, a form that asks for the password can be sent again after the visit
   * to a step's page.
   *
   * Security: call it only if the same request has verified the proof, and that it belongs to `auth.user()`.
   *
   * @param proof the name of the proof, as its feature declares it, and what it satisfied this time if that isn't what
   * the proof declares, in the values of RFC 8176
   * @returns whether all steps let it count; otherwise `auth.pending` names the step that the confirmation waits for, if
   * any. `false` for a guest
   * @throws `E_INVALID_CONFIGURATION` if no proof has this name
   */
  async confirm(proof: Required<Pick<EntryOptions, "by">> & Pick<EntryOptions, "amr">): Promise<boolean> {
    return this.#confirmation.by(proof);
  }

  /**
   * @internal As {@link confirmPassword}, for a request that then changes the password: the login gets its new token from
   * {@link keepAlone}, in the same step as its new access epoch.
   */
  async confirmForChange(password: unknown): Promise<boolean> {
    return this.#confirmation.forChange(password);
  }

  /**
   * @internal The login of this request under a new access epoch, with a new token, for a store that ends all others; `null`
   * for a guest. Call {@link sendNextToken} once that is committed.
   *
   * The token is random, not a successor of the old one, so that a copy of the cookie, which may be why the user ends
   * the other logins, never gets it.
   */
  keepAlone(changed: Authenticatable): KeptLogin | null {
    return this.#own.keepAlone(changed);
  }

  /**
   * @internal Sends the token of {@link keepAlone}, which is stored now, if there is one. The device stays known to the
   * account.
   */
  sendNextToken(): void {
    const user = this.#own.sendNext();
    if (user === null) return;
    this.#dependencies.devices.renew(this.context, this.name, user.authId(), this.#remembered(user));
  }

  get #confirmation(): WebConfirmation<User> {
    return new WebConfirmation<User>({
      name: this.name,
      context: this.context,
      model: this.model,
      own: this.#own,
      dependencies: this.#dependencies,
      user: async () => this.user(),
      admit: (user, options, takeEffect) => this.admitConfirmed(user, options, takeEffect),
    });
  }

  protected override get confirmationSubject(): string | null {
    return this.#own.current?.id ?? null;
  }

  /** When the user last proved who they are, by any proof, at login or since; `null` if never. */
  async confirmedAt(): Promise<Date | null> {
    await this.user();
    return this.#own.current?.authenticatedAt ?? null;
  }

  /** The proofs that the user has given in this login, each with its latest time; empty for a guest. */
  async methods(): Promise<readonly LoginMethod[]> {
    await this.user();
    return this.#own.current?.methods ?? [];
  }

  /**
   * @internal Reports whether the request's user proves who they are: by the password or, without one, by another proof
   * in the last ten minutes.
   *
   * @throws `E_TOO_MANY_REQUESTS`; `E_OVERLOADED`; `E_PASSWORD_NOT_CONFIRMED` if a user without a password has to give
   * another proof first
   */
  async provesAgain(password: unknown): Promise<boolean> {
    return this.#confirmation.again(password);
  }

  async #endPresented(): Promise<void> {
    const { store, successors } = this.#dependencies;
    const { current: login } = this.#own;
    this.#own.decide();
    for (const token of this.#own.allPresented()) {
      if (await store.end({ guard: this.name, tokenHash: digest(token) })) continue;
      const successor = await successors.find(store, this.name, token);
      if (successor !== null) await store.end({ guard: this.name, tokenHash: digest(successor) });
    }
    // A login that was started or renewed in this request doesn't have a cookie yet.
    if (login !== null && !this.#own.isPresented) await store.end(this.#reference(login));
  }

  /** Keeps the number of a user's logins within the limit after a new login. */
  async #endOldest(user: Authenticatable): Promise<void> {
    const { store, settings } = this.#dependencies;
    const owner = { guard: this.name, userId: user.authId() };
    this.#announceEnded(user, await store.endOldest(owner, settings.maxPerUser), "limit");
  }

  #announceEnded(user: Authenticatable, count: number, reason: "user" | "limit"): void {
    if (count > 0) announce(this.context, "auth.logins_ended", this.name, { user, count, reason });
  }

  #remembered(user: Authenticatable): RememberedAccount {
    return this.context.auth.registry.guesses.remembered(this.name, user)!;
  }

  #reference({ id, userId }: CurrentLogin): LoginOwner & { readonly id: string } {
    return { guard: this.name, userId, id };
  }
}

/** Creates each request's guard, with the resources that the application's guards share. */
export function webGuardFactory(
  name: string,
  model: AuthenticatableClass,
  dependencies: WebGuardDependencies,
): GuardFactory {
  return (context) => new WebGuard(name, context, model, dependencies);
}
