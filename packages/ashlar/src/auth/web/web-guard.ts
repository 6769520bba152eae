import type { HttpContext } from "../../http/index.ts";
import { digest, randomToken } from "../../security/index.ts";
import {
  AshlarError,
  currentDate,
  isThenable,
  type MaybePromise,
  now,
  type RegisteredUser,
} from "../../support/index.ts";
import { accessEpochOf, proofOf, staleProof } from "../access/access-epoch.ts";
import { announce } from "../events.ts";
import type { GuardFactory } from "../guards/guard-registry.ts";
import { LoginGuard } from "../guards/login-guard.ts";
import { provesOwnPassword } from "../guards/own-password.ts";
import { deviceName, deviceOf, type RememberedAccount } from "../logins/devices.ts";
import type { FoundLogin, KeptLogin, LoginOwner } from "../logins/login-store.ts";
import { UserLogins } from "../logins/user-logins.ts";
import { hasPassword } from "../passwords/verify-credentials.ts";
import type { CompleteLogin, EntryOptions, LoginOptions, ProvedOptions } from "../pipeline/complete-login.ts";
import { isConfirmedOtherwise } from "../proofs/confirmation.ts";
import { type GivenProof, type LoginMethod, withMethods } from "../proofs/login-methods.ts";
import { PASSWORD } from "../proofs/proof.ts";
import type { Authenticatable, AuthenticatableClass } from "../users/authenticatable.ts";
import { type CurrentLogin, dueUse, isRemembered, RequestLogin } from "./request-login.ts";
import { type RenewableLogin, renewToken, storeToken } from "./token-renewal.ts";
import type { WebGuardDependencies } from "./web-guard-settings.ts";

/**
 * Identifies a request's user by a cookie with a random token, and keeps a row in the table `logins` for each device
 * that a user is logged in on. The table holds digests of tokens, never the tokens.
 *
 * It decides which login a request comes from, and starts, renews and ends logins in the store; `RequestLogin` knows the
 * request's own, and has its cookie.
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
    const { store } = this.#dependencies;
    const { token, isFormer } = this.#own.presented();
    if (token === null) return null;
    const found = store.find(this.name, digest(token));
    const recognise = (login: FoundLogin | null) => {
      return login === null ? this.#retrieveReplaced(token) : this.#recognise(login, token, false);
    };
    const user = isThenable(found) ? found.then(recognise) : recognise(found);
    return isFormer ? this.#move(user) : user;
  }

  /** Gives the cookie of a login that began before it was shared by the hosts of a domain its present name. */
  async #move(found: MaybePromise<Authenticatable | null>): Promise<Authenticatable | null> {
    const user = await found;
    if (user !== null && !this.#own.isDecided && !this.context.isReadOnly) this.#own.send();
    return user;
  }

  /** The user of a login whose token has just been replaced: the response with the new one may have been lost. */
  async #retrieveReplaced(replaced: string): Promise<Authenticatable | null> {
    const { successors, store } = this.#dependencies;
    const token = await successors.find(store, this.name, replaced);
    const login = token === null ? null : await store.find(this.name, digest(token));
    return login === null ? null : this.#recognise(login, token!, true);
  }

  #recognise(login: FoundLogin, token: string, isRepeated: boolean): MaybePromise<Authenticatable | null> {
    // Written so that an invalid date counts as expired.
    if (!(login.expiresAt.getTime() > now()) && !this.#wasUsed(login)) return null;
    const { user = this.model.findByAuthId(login.userId) } = login;
    const accept = (one: Authenticatable | null): MaybePromise<Authenticatable | null> => {
      const accepted = this.#accept(login, one);
      if (accepted === null || this.#own.isDecided) return accepted;
      if (isRepeated) return this.#repeat(login, accepted, token);
      this.#own.found(login, token, true);
      this.#noteUse(login);
      return accepted;
    };
    return isThenable(user) ? user.then(accept) : accept(user);
  }

  /** Reports whether a use that is not stored yet keeps a login alive: in a test, hours may pass before it is. */
  #wasUsed({ id }: FoundLogin): boolean {
    const use = this.#dependencies.uses.noted({ guard: this.name, id });
    return use !== null && use.expiresAt.getTime() > now();
  }

  #accept(login: FoundLogin, user: Authenticatable | null): Authenticatable | null {
    // Even if a store or a class returns something else for a key, a request must never get another user's login.
    if (user === null || String(user.authId()) !== String(login.userId)) return null;
    // Ending access to the account ended this login too, whether or not it was deleted.
    return login.accessEpoch === accessEpochOf(user) ? user : null;
  }

  /**
   * Gives a login's new token to a request that has the previous one. The proof of the password no longer counts: the
   * holder of the old token may have stolen it, and only the user who gave the proof may use it.
   */
  async #repeat(login: FoundLogin, user: Authenticatable, token: string): Promise<Authenticatable | null> {
    const { id, userId, expiresAt, createdAt, authenticatedAt, methods } = login;
    const unproved = { id, userId, expiresAt, createdAt, authenticatedAt: null, methods };
    const isReadOnly = this.context.isReadOnly;
    if (authenticatedAt !== null && !isReadOnly) {
      const renewable = this.#renewable(unproved, user);
      if (!(await storeToken(this.#dependencies, renewable, token, token, unproved))) return null;
    }
    // A login or a logout of this request may have come first.
    if (this.#own.isDecided) return user;
    this.#own.found(unproved, token, false);
    if (!isReadOnly) {
      this.#noteUse(login);
      this.#own.send();
    }
    return user;
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
    // The data remembered about the visitor may all be the user's. The identity is shared with the user of another
    // guard: a new one would invalidate the forms on their pages.
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
      if (error instanceof AshlarError && error.code === "E_STALE_PROOF") return this.#proofFailed(PASSWORD);
      throw error;
    }
  }

  /**
   * Has the user prove the password again, as the middleware `password.confirm` requires; see {@link confirm}.
   *
   * @returns whether the password was the user's and all steps let it count; otherwise `auth.pending` names the step
   * that the confirmation waits for, if any
   * @throws `E_TOO_MANY_REQUESTS`; `E_OVERLOADED`
   */
  async confirmPassword(password: unknown): Promise<boolean> {
    this.context.auth.beginConfirmation(this.name);
    return (await this.#provePassword(password)) && this.confirm({ by: PASSWORD });
  }

  /**
   * Renews this login after its user has proved once more who they are, by any proof, as the middleware `password.confirm`
   * requires: for the page of a proof of your own. The login gets a new token; no other one is started.
   *
   * The steps of a login are asked here too, except those that were passed by a proof, or on their page, in a
   * confirmation in this login in the last ten minutes: a form that asks for the password can be sent again after the
   * visit to a step's page.
   *
   * Security: call it only if the same request has verified the proof, and that it belongs to `auth.user()`.
   *
   * @param proof the name of the proof, as its feature declares it, and what it satisfied this time if that isn't what
   * the proof declares, in the values of RFC 8176
   * @returns whether all steps let it count; otherwise `auth.pending` names the step that the confirmation waits for, if
   * any. `false` for a guest
   * @throws `E_INVALID_CONFIGURATION` if no proof has this name
   */
  async confirm({ by, amr }: Required<Pick<EntryOptions, "by">> & Pick<EntryOptions, "amr">): Promise<boolean> {
    const { auth } = this.context;
    const proof = auth.registry.proofs.given(by, amr);
    auth.beginConfirmation(this.name);
    if ((await this.user()) === null) return false;
    return this.#confirm(proof, (login, confirmed) => this.#renew(login, confirmed));
  }

  /**
   * @internal As {@link confirmPassword}, for a request that then changes the password: the login gets its new token from
   * {@link keepAlone}, in the same step as its new access epoch.
   */
  async confirmForChange(password: unknown): Promise<boolean> {
    this.context.auth.beginConfirmation(this.name);
    if (!(await this.#provePassword(password))) return false;
    return this.#confirm(this.context.auth.registry.proofs.given(PASSWORD), (login, { methods }) => {
      this.#own.proveNext({ authenticatedAt: currentDate(), methods: withMethods(login.methods ?? [], methods) });
      return true;
    });
  }

  /**
   * @internal The login of this request under a new access epoch, with a new token, for a store that ends all others; `null`
   * for a guest. Call {@link sendNextToken} once that is committed.
   *
   * The token is random, not a successor of the old one: a copy of the cookie, which may be why the user ends the other logins,
   * must not be answered with it.
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

  async #confirm(
    proof: GivenProof | null,
    takeEffect: (login: CurrentLogin, confirmed: CompleteLogin<User>) => MaybePromise<boolean>,
  ): Promise<boolean> {
    const login = this.#own.current;
    const remember = login !== null && isRemembered(login, this.#dependencies.settings);
    const user = this.knownUser!;
    // If a step asks for more, the login that follows it replaces this one.
    return this.admitConfirmed(
      user,
      { remember, proof },
      (confirmed) => login === null || takeEffect(login, confirmed),
    );
  }

  protected override get confirmationSubject(): string | null {
    return this.#own.current?.id ?? null;
  }

  async #renew(login: CurrentLogin, confirmed: CompleteLogin<User>): Promise<boolean> {
    const renewable = this.#renewable(login, confirmed.user as unknown as Authenticatable);
    const methods = withMethods(login.methods ?? [], confirmed.methods);
    const renewed = await renewToken(this.#dependencies, renewable, this.#own.token!, methods);
    if (renewed === null) return this.#proofFailed(confirmed.methods[0]?.by ?? null);
    this.#own.replaceToken(login, renewed.token, renewed.confirmed);
    return true;
  }

  #renewable(login: CurrentLogin, user: Authenticatable): RenewableLogin {
    return { guard: this.name, model: this.model, login, user };
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
   * Reports whether a password belongs to the request's user. A wrong one is counted and announced as a failed login.
   */
  async #provePassword(password: unknown): Promise<boolean> {
    const user = await this.user();
    return provesOwnPassword(this.context, this.name, user as Authenticatable | null, password);
  }

  /**
   * @internal Reports whether the request's user proves who they are: by the password or, without one, by another proof
   * in the last ten minutes.
   *
   * @throws `E_TOO_MANY_REQUESTS`; `E_OVERLOADED`; `E_PASSWORD_NOT_CONFIRMED` if a user without a password has to give
   * another proof first
   */
  async provesAgain(password: unknown): Promise<boolean> {
    const user = (await this.user()) as Authenticatable | null;
    if (user !== null && !hasPassword(user)) {
      const login = this.#own.current;
      if (await isConfirmedOtherwise(this.context, user, login)) {
        const [first] = login?.methods ?? [];
        this.context.auth.beginConfirmation(this.name);
        // The steps judge it as they would a password.
        return this.#confirm(first === undefined ? null : { ...first, at: first.at.getTime() }, () => true);
      }
    }
    return this.#provePassword(password);
  }

  /** Announces that the request's user could not prove who they are. */
  #proofFailed(by: string | null): false {
    announce(this.context, "auth.failed", this.name, { user: this.knownUser, identifier: null, by });
    return false;
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
    // A login that was started or renewed in this same request has no cookie yet that names it.
    if (login !== null && !this.#own.isPresented) await store.end(this.#reference(login));
  }

  /** Keeps the number of a user's logins within the limit, now that there is one more. */
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

  #noteUse(login: FoundLogin): void {
    if (this.context.isReadOnly) return;
    const { settings, uses } = this.#dependencies;
    const use = dueUse(login, settings);
    if (use !== null) uses.note({ guard: this.name, id: login.id, ...deviceOf(this.context.request), ...use });
  }
}

/** Creates the guard of each request, with what its application's guards share. */
export function webGuardFactory(
  name: string,
  model: AuthenticatableClass,
  dependencies: WebGuardDependencies,
): GuardFactory {
  return (context) => new WebGuard(name, context, model, dependencies);
}
