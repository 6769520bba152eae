import type { HttpContext } from "../../http/index.ts";
import type { Logger } from "../../kernel/index.ts";
import { digest } from "../../security/index.ts";
import { AshlarError, currentDate, type MaybePromise, now, type RegisteredUser } from "../../support/index.ts";
import { accessEpochOf, proofOf, staleProof } from "../access-epoch.ts";
import type { Authenticatable, AuthenticatableClass } from "../authenticatable.ts";
import { announce } from "../events.ts";
import { LoginGuard, type LoginOptions } from "../login-guard.ts";
import { deviceName } from "../logins/device-name.ts";
import type { KnownDevices } from "../logins/known-devices.ts";
import type { FoundLogin, Login, LoginOwner, LoginStore } from "../logins/login-store.ts";
import { makeLoginToken, presentedToken, presentedTokens } from "../logins/login-token.ts";
import type { LoginUses } from "../logins/login-uses.ts";
import { UserLogins } from "../logins/user-logins.ts";
import { provesOwnPassword } from "../own-password.ts";
import type { CompleteLogin } from "../pipeline/login-step.ts";
import type { CompleteWebGuardSettings } from "./web-guard-settings.ts";

/** The dependencies of a {@link WebGuard}, created once, at boot, for all requests. */
export interface WebGuardDependencies {
  readonly settings: CompleteWebGuardSettings;
  readonly store: LoginStore;
  readonly uses: LoginUses;
  readonly devices: KnownDevices;
  /** The names under which attempts at a user's account are counted. */
  readonly accountsOf: (user: Authenticatable) => readonly string[];
  readonly logger: Logger;
  /** Deletes a user's logins with all other guards that have the same rows. */
  readonly endBeside: (user: Authenticatable) => Promise<void>;
  /** Runs work in a transaction of the application's database, if it has one. */
  readonly transaction: <T>(work: () => Promise<T>) => Promise<T>;
}

/** What is kept in memory about the login of the request's user. */
type CurrentLogin = Pick<Login, "id" | "userId" | "authenticatedAt" | "expiresAt" | "createdAt">;

/** A use is recorded at most this often. */
const USE_INTERVAL_MS = 5 * 60_000;
/** If logins end soon without use, a use must not stay unrecorded for more than this fraction of that time. */
const USE_INTERVAL_SHARE = 20;
/** The maximum length of a user agent that is stored, in UTF-16 units. */
const MAX_USER_AGENT_LENGTH = 255;

/**
 * Identifies a request's user by a cookie with a random token, and keeps a row in the table `logins` for each device
 * that a user is logged in on. The table holds digests of tokens, never the tokens.
 */
export class WebGuard<User extends object = RegisteredUser> extends LoginGuard<User> {
  readonly #dependencies: WebGuardDependencies;
  /** The login of this request's user. */
  #login: CurrentLogin | null = null;
  /** Whether a login or a logout has changed the login, so that the request's cookie no longer counts. */
  #isDecided = false;

  constructor(name: string, context: HttpContext, model: AuthenticatableClass, dependencies: WebGuardDependencies) {
    super(name, context, model);
    this.#dependencies = dependencies;
  }

  override get keepsLogins(): boolean {
    return true;
  }

  protected override retrieve(): MaybePromise<Authenticatable | null> {
    const { settings, store } = this.#dependencies;
    const token = presentedToken(this.context.request, settings.cookie);
    if (token === null) return null;
    const found = store.find(this.name, digest(token));
    return found instanceof Promise ? found.then((login) => this.#recognise(login)) : this.#recognise(found);
  }

  #recognise(login: FoundLogin | null): MaybePromise<Authenticatable | null> {
    // Written so that an invalid date counts as expired.
    if (login === null || !(login.expiresAt.getTime() > now())) return null;
    const { user = this.model.findByAuthId(login.userId) } = login;
    return user instanceof Promise ? user.then((one) => this.#accept(login, one)) : this.#accept(login, user);
  }

  #accept(login: FoundLogin, user: Authenticatable | null): Authenticatable | null {
    // Even if a store or a class returns something else for a key, a request must never get another user's login.
    if (user === null || String(user.authId()) !== String(login.userId)) return null;
    // Ending access to the account ended this login too, whether or not it was deleted.
    if (login.accessEpoch !== accessEpochOf(user)) return null;
    if (!this.#isDecided) {
      this.#login = login;
      this.#noteUse(login);
    }
    return user;
  }

  protected override async persist({ user: own }: CompleteLogin<User>, options: LoginOptions): Promise<void> {
    const user = own as unknown as Authenticatable;
    const { remember = false, passwordConfirmed = false } = options;
    const { store, settings } = this.#dependencies;
    const token = makeLoginToken();
    const at = currentDate();
    const proof = proofOf(this.model, user);
    const login = {
      guard: this.name,
      userId: user.authId(),
      tokenHash: digest(token),
      accessEpoch: proof.accessEpoch,
      ...this.#device(),
      authenticatedAt: passwordConfirmed ? at : null,
      lastUsedAt: at,
      expiresAt: new Date(at.getTime() + (remember ? settings.rememberMs : settings.idleMs)),
      createdAt: at,
    };
    const id = await store.start(login, proof);
    if (id === null) throw staleProof();
    // The browser's token is ended and never adopted: an attacker may have planted it.
    await this.#endPresented();
    this.#login = { ...login, id };
    this.#sendToken(token);
    this.context.visitor?.regenerate();
  }

  protected override async forget(): Promise<void> {
    await this.#endPresented();
    this.#login = null;
    this.#noStore().withoutCookie(this.#dependencies.settings.cookie);
    // The data remembered about the visitor may all be the user's. The identity is shared with the user of another
    // guard: a new one would invalidate the forms on their pages.
    const isShared = await this.context.auth.isLoggedInElsewhere(this.name);
    if (isShared) this.context.visitor?.flush();
    else this.context.visitor?.invalidate();
  }

  protected override afterLogin(user: User, options: LoginOptions): void {
    const account = user as unknown as Authenticatable;
    const { devices, accountsOf } = this.#dependencies;
    const isKnown = devices.remember(this.context, this.name, account.authId(), accountsOf(account));
    if (isKnown || options.firstLogin === true) return;
    const { userAgent } = this.#device();
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
      users: this.model,
      user: async () => (await this.user()) as Authenticatable | null,
      currentId: () => this.#login?.id ?? null,
      logout: () => this.logout(),
      takeOver: (user) => this.once(user as unknown as User),
      t: this.context.t,
      endBeside: this.#dependencies.endBeside,
      transaction: this.#dependencies.transaction,
    });
  }

  /**
   * Ends the user's logins on all other devices.
   *
   * @returns whether the password was the user's; otherwise nothing is ended
   * @throws `E_TOO_MANY_REQUESTS`; `E_OVERLOADED`
   */
  async logoutOtherDevices(password: unknown): Promise<boolean> {
    if (!(await this.#provePassword(password))) return false;
    try {
      await this.logins().endOthers();
      return true;
    } catch (error) {
      if (error instanceof AshlarError && error.code === "E_STALE_PROOF") return this.#proofFailed();
      throw error;
    }
  }

  /**
   * Has the user prove the password again, as the middleware `password.confirm` requires.
   *
   * The steps of a login are asked here too, except those that were passed by a proof, or on their page, in a
   * confirmation in this login in the last ten minutes: a form that asks for the password can be sent again after the
   * visit to a step's page.
   *
   * @returns whether the password was the user's and all steps let it count; otherwise `auth.pending` names the step
   * that the confirmation waits for, if any
   * @throws `E_TOO_MANY_REQUESTS`; `E_OVERLOADED`
   */
  async confirmPassword(password: unknown): Promise<boolean> {
    this.context.auth.beginConfirmation(this.name);
    if (!(await this.#provePassword(password))) return false;
    const login = this.#login;
    const options = { remember: login !== null && this.#isRemembered(login), passwordConfirmed: true };
    const user = this.knownUser!;
    // If a step asks for more, the login that follows it replaces this one.
    return this.confirm(user, options, (confirmed) => login === null || this.#renew(login, confirmed));
  }

  protected override get confirmationSubject(): string | null {
    return this.#login?.id ?? null;
  }

  /** A confirmation also gives the login a new token, so that a token stolen before does not benefit from it. */
  async #renew(login: CurrentLogin, confirmed: CompleteLogin<User>): Promise<boolean> {
    const token = makeLoginToken();
    const at = currentDate();
    const user = confirmed.user as unknown as Authenticatable;
    const renewal = { tokenHash: digest(token), authenticatedAt: at };
    const isRenewed = await this.#dependencies.store.renew(this.#reference(login), renewal, proofOf(this.model, user));
    if (!isRenewed) return this.#proofFailed();
    const { id, userId, expiresAt, createdAt } = login;
    this.#login = { id, userId, authenticatedAt: at, expiresAt, createdAt };
    this.#sendToken(token);
    this.context.visitor?.regenerate();
    return true;
  }

  /** When the user last proved the password, at login or since; `null` if never. */
  async passwordConfirmedAt(): Promise<Date | null> {
    await this.user();
    return this.#login?.authenticatedAt ?? null;
  }

  /**
   * Reports whether a password belongs to the request's user. A wrong one is counted and announced as a failed login.
   */
  async #provePassword(password: unknown): Promise<boolean> {
    const user = await this.user();
    return provesOwnPassword(this.context, this.name, user as Authenticatable | null, password);
  }

  /** Announces that the request's user could not prove who they are. */
  #proofFailed(): false {
    announce(this.context, "auth.failed", this.name, { user: this.knownUser, identifier: null });
    return false;
  }

  async #endPresented(): Promise<void> {
    const { store, settings } = this.#dependencies;
    const login = this.#login;
    this.#isDecided = true;
    for (const token of presentedTokens(this.context.request, settings.cookie)) {
      await store.end({ guard: this.name, tokenHash: digest(token) });
    }
    // A login that was started in this same request has no cookie yet that names it.
    if (login !== null) await store.end(this.#reference(login));
  }

  #reference({ id, userId }: CurrentLogin): LoginOwner & { readonly id: string } {
    return { guard: this.name, userId, id };
  }

  #sendToken(token: string): void {
    const { settings } = this.#dependencies;
    const login = this.#login!;
    // Rounded down, so that the browser never keeps a token that has already expired.
    const maxAgeSeconds = Math.floor((login.expiresAt.getTime() - now()) / 1000);
    this.#noStore().cookie(settings.cookie, token, this.#isRemembered(login) ? { maxAgeSeconds } : {});
  }

  /** The response, marked so that no cache may store it. */
  #noStore(): HttpContext["response"] {
    return this.context.response.header("cache-control", "private, no-store");
  }

  /** Only a remembered login starts with a longer lifetime than others can ever reach. */
  #isRemembered({ createdAt, expiresAt }: CurrentLogin): boolean {
    return expiresAt.getTime() - createdAt.getTime() > this.#dependencies.settings.absoluteMs;
  }

  #noteUse(login: FoundLogin): void {
    const { settings, uses } = this.#dependencies;
    const at = now();
    if (at - login.lastUsedAt.getTime() < Math.min(USE_INTERVAL_MS, settings.idleMs / USE_INTERVAL_SHARE)) return;
    const expiresAt = this.#isRemembered(login)
      ? login.expiresAt
      : new Date(Math.min(at + settings.idleMs, login.createdAt.getTime() + settings.absoluteMs));
    uses.note({ guard: this.name, id: login.id, ...this.#device(), lastUsedAt: new Date(at), expiresAt });
  }

  #device(): { readonly ip: string | null; readonly userAgent: string | null } {
    const { request } = this.context;
    return {
      ip: request.clientAddress,
      userAgent: request.userAgent()?.slice(0, MAX_USER_AGENT_LENGTH) ?? null,
    };
  }
}
