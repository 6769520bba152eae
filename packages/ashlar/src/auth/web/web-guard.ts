import { domainFor, type HttpContext } from "../../http/index.ts";
import { digest } from "../../security/index.ts";
import {
  AshlarError,
  currentDate,
  isThenable,
  type MaybePromise,
  now,
  type RegisteredUser,
  UnitOfWork,
} from "../../support/index.ts";
import { accessEpochOf, proofOf, staleProof } from "../access/access-epoch.ts";
import { announce } from "../events.ts";
import { LoginGuard } from "../guards/login-guard.ts";
import { provesOwnPassword } from "../guards/own-password.ts";
import { deviceName } from "../logins/device-name.ts";
import type { FoundLogin, KeptLogin, Login, LoginOwner } from "../logins/login-store.ts";
import { makeLoginToken, presentedToken, presentedTokens } from "../logins/login-token.ts";
import { UserLogins } from "../logins/user-logins.ts";
import { hasPassword } from "../passwords/verify-credentials.ts";
import type { CompleteLogin } from "../pipeline/complete-login.ts";
import type { EntryOptions, LoginOptions, ProvedOptions } from "../pipeline/login-options.ts";
import { isConfirmedOtherwise } from "../proofs/confirmation.ts";
import { type GivenProof, type LoginMethod, withMethods } from "../proofs/login-methods.ts";
import { PASSWORD } from "../proofs/proof.ts";
import type { Authenticatable, AuthenticatableClass } from "../users/authenticatable.ts";
import { deviceOf, dueUse, isRemembered } from "./login-use.ts";
import type { WebGuardDependencies } from "./web-guard-dependencies.ts";

/** How often a confirmation tries to replace the login's token, which other requests may be replacing, too. */
const MAX_ROUNDS = 4;

/** When a login's user last proved who they are, and the proofs so far. */
type Confirmed = Pick<Login, "authenticatedAt" | "methods">;

/** In-memory data about the login of the request's user. */
export type CurrentLogin = Pick<Login, "id" | "userId" | "authenticatedAt" | "methods" | "expiresAt" | "createdAt">;

/**
 * Identifies a request's user by a cookie with a random token, and keeps a row in the table `logins` for each device
 * that a user is logged in on. The table holds digests of tokens, never the tokens.
 */
export class WebGuard<User extends object = RegisteredUser> extends LoginGuard<User> {
  readonly #dependencies: WebGuardDependencies;
  /** The login of this request's user. */
  #login: CurrentLogin | null = null;
  /** The token that this login has. */
  #token: string | null = null;
  /** The proof that the login's next token has, which it gets together with a change of the password. */
  #proved: Confirmed | null = null;
  /** The token that this login continues with alone, once it is stored. */
  #next: (Confirmed & { readonly token: string; readonly user: Authenticatable }) | null = null;
  /** Whether the request's cookie names that login, so that ending the cookie's login ends it. */
  #isPresented = false;
  /** Whether a login or a logout has changed the login, so that the request's cookie no longer counts. */
  #isDecided = false;
  /** Represents the login, and the state of its cookie, in a transaction. */
  #state: object | null = null;

  constructor(name: string, context: HttpContext, model: AuthenticatableClass, dependencies: WebGuardDependencies) {
    super(name, context, model);
    this.#dependencies = dependencies;
  }

  override get keepsLogins(): boolean {
    return true;
  }

  /** @internal The login of the request's user, once that is known; `null` if there isn't one. */
  get currentLogin(): CurrentLogin | null {
    return this.#login;
  }

  protected override retrieve(): MaybePromise<Authenticatable | null> {
    const { settings, store } = this.#dependencies;
    const { request } = this.context;
    const isFormer = settings.formerCookie !== null && request.cookie(settings.cookie) === null;
    const token = presentedToken(request, isFormer ? settings.formerCookie! : settings.cookie);
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
    if (user !== null && !this.#isDecided && !this.context.isReadOnly) this.#sendToken(this.#token!);
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
      if (accepted === null || this.#isDecided) return accepted;
      if (isRepeated) return this.#repeat(login, accepted, token);
      this.#use(login, token);
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

  #use(login: FoundLogin, token: string): void {
    this.#login = login;
    this.#token = token;
    this.#isPresented = true;
    this.#noteUse(login);
  }

  /**
   * Gives a login's new token to a request that has the previous one. The proof of the password no longer counts: the
   * holder of the old token may have stolen it, and only the user who gave the proof may use it.
   */
  async #repeat(login: FoundLogin, user: Authenticatable, token: string): Promise<Authenticatable | null> {
    const { id, userId, expiresAt, createdAt, authenticatedAt, methods } = login;
    const unproved = { id, userId, expiresAt, createdAt, authenticatedAt: null, methods };
    const isReadOnly = this.context.isReadOnly;
    if (authenticatedAt !== null && !isReadOnly && !(await this.#store(unproved, token, token, unproved, user)))
      return null;
    // A login or a logout of this request may have come first.
    if (this.#isDecided) return user;
    this.#login = unproved;
    this.#token = token;
    if (!isReadOnly) {
      this.#noteUse(login);
      this.#sendToken(token);
    }
    return user;
  }

  protected override async persist({ user: own, methods }: CompleteLogin<User>, options: ProvedOptions): Promise<void> {
    const user = own as unknown as Authenticatable;
    const { remember = false, proof: first } = options;
    const { store, settings } = this.#dependencies;
    const token = makeLoginToken();
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
    this.#changing();
    this.#login = { ...login, id };
    this.#holdToken(token);
    const { auth, visitor } = this.context;
    visitor?.regenerate();
    visitor?.keepTypedOnlyOf(auth.nameOfOwner(this.name, user));
  }

  protected override async forget(): Promise<void> {
    await this.#endPresented();
    this.#changing();
    this.#login = null;
    this.#token = null;
    const { settings, sameSite } = this.#dependencies;
    const { cookie, domain, formerCookie } = settings;
    const response = this.context.response.identifiesVisitor();
    response.withoutCookie(cookie, { sameSite, ...domainFor(this.context, domain) });
    if (formerCookie !== null) response.withoutCookie(formerCookie, { sameSite });
    // The data remembered about the visitor may all be the user's. The identity is shared with the user of another
    // guard: a new one would invalidate the forms on their pages.
    const isShared = await this.context.auth.isLoggedInElsewhere(this.name);
    if (isShared) this.context.visitor?.flush();
    else this.context.visitor?.invalidate();
  }

  protected override afterLogin(user: User, options: LoginOptions): void {
    const account = user as unknown as Authenticatable;
    const { devices, rememberedOf } = this.#dependencies;
    const isKnown = devices.remember(this.context, this.name, account.authId(), rememberedOf(account));
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
      currentId: () => this.#login?.id ?? null,
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
    const proof = auth.proofs.given(by, amr);
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
    return this.#confirm(this.context.auth.proofs.given(PASSWORD), (login, { methods }) => {
      this.#proved = { authenticatedAt: currentDate(), methods: withMethods(login.methods ?? [], methods) };
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
    const login = this.#login;
    if (login === null) return null;
    const token = makeLoginToken();
    const { authenticatedAt, methods } = this.#proved ?? login;
    this.#changing();
    this.#next = { token, authenticatedAt, methods, user: changed };
    return {
      id: login.id,
      accessEpoch: accessEpochOf(changed),
      renewal: { tokenHash: digest(token), authenticatedAt, methods },
    };
  }

  /**
   * @internal Sends the token of {@link keepAlone}, which is stored now, if there is one. The device stays known to the
   * account.
   */
  sendNextToken(): void {
    const next = this.#next;
    this.#forgetNext();
    if (next === null || this.#login === null) return;
    const { devices, rememberedOf } = this.#dependencies;
    this.#replaceToken(this.#login, next.token, next);
    devices.renew(this.context, this.name, next.user.authId(), rememberedOf(next.user));
  }

  #forgetNext(): void {
    this.#next = null;
    this.#proved = null;
  }

  async #confirm(
    proof: GivenProof | null,
    takeEffect: (login: CurrentLogin, confirmed: CompleteLogin<User>) => MaybePromise<boolean>,
  ): Promise<boolean> {
    const login = this.#login;
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
    return this.#login?.id ?? null;
  }

  /**
   * A confirmation also gives the login a new token, so that a token stolen before does not benefit from it. That
   * includes the token that a request with the previous one was given again: a holder of the old one may have it, too.
   */
  async #renew(login: CurrentLogin, confirmed: CompleteLogin<User>): Promise<boolean> {
    const { successors, store } = this.#dependencies;
    const user = confirmed.user as unknown as Authenticatable;
    const methods = withMethods(login.methods ?? [], confirmed.methods);
    let former = this.#token!;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const [token, proved] = [successors.of(former), { authenticatedAt: currentDate(), methods }];
      if (await this.#store(login, former, token, proved, user)) {
        this.#replaceToken(login, token, proved);
        return true;
      }
      // Of several confirmations at once, one replaces the token. The others take its token, unless the proof was taken off it.
      const replaced = await successors.find(store, this.name, former);
      const found = replaced === null ? null : await store.find(this.name, digest(replaced));
      if (found === null) break;
      if (found.authenticatedAt !== null) {
        this.#replaceToken(login, replaced!, found);
        return true;
      }
      former = replaced!;
    }
    return this.#proofFailed(confirmed.methods[0]?.by ?? null);
  }

  /** Replaces a login's token in the store, and records when its user proved who they are; see `LoginStore.renew`. */
  #store(
    login: CurrentLogin,
    from: string,
    token: string,
    { authenticatedAt, methods }: Confirmed,
    user: Authenticatable,
  ): Promise<boolean> {
    const renewed = { ...this.#reference(login), tokenHash: digest(from) };
    const renewal = { tokenHash: digest(token), authenticatedAt, methods };
    return this.#dependencies.store.renew(renewed, renewal, proofOf(this.model, user));
  }

  /** Makes the request use a login's new token, which is stored, and sends it to the browser. */
  #replaceToken(login: CurrentLogin, token: string, { authenticatedAt, methods }: Confirmed): void {
    const { id, userId, expiresAt, createdAt } = login;
    this.#changing();
    this.#login = { id, userId, authenticatedAt, methods, expiresAt, createdAt };
    this.#holdToken(token);
    this.context.visitor?.regenerate();
  }

  #holdToken(token: string): void {
    this.#token = token;
    this.#isPresented = false;
    this.#sendToken(token);
  }

  /** When the user last proved who they are, by any proof, at login or since; `null` if never. */
  async confirmedAt(): Promise<Date | null> {
    await this.user();
    return this.#login?.authenticatedAt ?? null;
  }

  /** The proofs that the user has given in this login, each with its latest time; empty for a guest. */
  async methods(): Promise<readonly LoginMethod[]> {
    await this.user();
    return this.#login?.methods ?? [];
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
      const login = this.#login;
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
    const { store, successors, settings } = this.#dependencies;
    const login = this.#login;
    this.#changing();
    this.#isDecided = true;
    // A proof by the former user is not the next one's.
    this.#forgetNext();
    const { request } = this.context;
    const former = settings.formerCookie === null ? [] : presentedTokens(request, settings.formerCookie);
    for (const token of [...presentedTokens(request, settings.cookie), ...former]) {
      if (await store.end({ guard: this.name, tokenHash: digest(token) })) continue;
      const successor = await successors.find(store, this.name, token);
      if (successor !== null) await store.end({ guard: this.name, tokenHash: digest(successor) });
    }
    // A login that was started or renewed in this same request has no cookie yet that names it.
    if (login !== null && !this.#isPresented) await store.end(this.#reference(login));
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

  /** Called before the login changes: if the caller's transaction is rolled back, it has not. */
  #changing(): void {
    const unit = UnitOfWork.current;
    if (unit === null) return;
    this.#state ??= {};
    unit.restoreOnRollback(this.#state, () => {
      const [login, token] = [this.#login, this.#token];
      const [isPresented, isDecided] = [this.#isPresented, this.#isDecided];
      const next = this.#next;
      return () => {
        this.#login = login;
        this.#token = token;
        this.#isPresented = isPresented;
        this.#isDecided = isDecided;
        this.#next = next;
      };
    });
  }

  #reference({ id, userId }: CurrentLogin): LoginOwner & { readonly id: string } {
    return { guard: this.name, userId, id };
  }

  #sendToken(token: string): void {
    const { settings, sameSite } = this.#dependencies;
    const login = this.#login!;
    // Rounded down, so that the browser never keeps a token that has already expired.
    const maxAgeSeconds = Math.floor((login.expiresAt.getTime() - now()) / 1000);
    const lasting = isRemembered(login, settings) ? { maxAgeSeconds } : {};
    const { cookie, domain, formerCookie } = settings;
    const response = this.context.response.identifiesVisitor();
    response.cookie(cookie, token, { ...lasting, sameSite, ...domainFor(this.context, domain) });
    if (formerCookie !== null && this.context.request.cookie(formerCookie) !== null) {
      response.withoutCookie(formerCookie, { sameSite });
    }
  }

  #noteUse(login: FoundLogin): void {
    if (this.context.isReadOnly) return;
    const { settings, uses } = this.#dependencies;
    const use = dueUse(login, settings);
    if (use !== null) uses.note({ guard: this.name, id: login.id, ...deviceOf(this.context.request), ...use });
  }
}
