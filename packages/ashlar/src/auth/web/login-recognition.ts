import type { HttpContext } from "../../http/index.ts";
import { digest } from "../../security/index.ts";
import { isThenable, type MaybePromise, now } from "../../support/index.ts";
import { accessEpochOf } from "../access/access-epoch.ts";
import { deviceOf } from "../logins/devices.ts";
import type { FoundLogin } from "../logins/login-store.ts";
import type { Authenticatable, AuthenticatableClass } from "../users/authenticatable.ts";
import { dueUse, type RequestLogin } from "./request-login.ts";
import { storeToken } from "./token-renewal.ts";
import type { WebGuardDependencies } from "./web-guard-settings.ts";

/** Finds the login for a request's token, and its user. */
export class LoginRecognition {
  readonly #context: HttpContext;
  readonly #guard: string;
  readonly #model: AuthenticatableClass;
  readonly #own: RequestLogin;
  readonly #dependencies: WebGuardDependencies;

  /** @param own receives the login that was found */
  constructor(
    context: HttpContext,
    guard: string,
    model: AuthenticatableClass,
    own: RequestLogin,
    dependencies: WebGuardDependencies,
  ) {
    this.#context = context;
    this.#guard = guard;
    this.#model = model;
    this.#own = own;
    this.#dependencies = dependencies;
  }

  /**
   * The user of the login with a token; `null` if no login has it, or access to the account has ended.
   *
   * @param isFormer whether the cookie has the name from before a domain's hosts shared it
   */
  userOf(token: string, isFormer: boolean): MaybePromise<Authenticatable | null> {
    const found = this.#dependencies.store.find(this.#guard, digest(token));
    const user = isThenable(found) ? found.then((login) => this.#ofFound(login, token)) : this.#ofFound(found, token);
    return isFormer ? this.#move(user) : user;
  }

  /** Renames the cookie of a login that began before the hosts of a domain shared it. */
  async #move(found: MaybePromise<Authenticatable | null>): Promise<Authenticatable | null> {
    const user = await found;
    if (user !== null && !this.#own.isDecided && !this.#context.isReadOnly) this.#own.send();
    return user;
  }

  #ofFound(login: FoundLogin | null, token: string): MaybePromise<Authenticatable | null> {
    return login === null ? this.#ofReplaced(token) : this.#recognize(login, token, false);
  }

  /** The user of a login whose token has just been replaced: the response with the new one may have been lost. */
  async #ofReplaced(replaced: string): Promise<Authenticatable | null> {
    const { successors, store } = this.#dependencies;
    const token = await successors.find(store, this.#guard, replaced);
    const login = token === null ? null : await store.find(this.#guard, digest(token));
    return login === null ? null : this.#recognize(login, token!, true);
  }

  #recognize(login: FoundLogin, token: string, isRepeated: boolean): MaybePromise<Authenticatable | null> {
    // This form makes an invalid date count as expired.
    if (!(login.expiresAt.getTime() > now()) && !this.#wasUsed(login)) return null;
    const { user = this.#model.findByAuthId(login.userId) } = login;
    return isThenable(user)
      ? user.then((found) => this.#admit(login, found, token, isRepeated))
      : this.#admit(login, user, token, isRepeated);
  }

  #admit(
    login: FoundLogin,
    user: Authenticatable | null,
    token: string,
    isRepeated: boolean,
  ): MaybePromise<Authenticatable | null> {
    const accepted = acceptedUser(login, user);
    if (accepted === null || this.#own.isDecided) return accepted;
    if (isRepeated) return this.#repeat(login, accepted, token);
    this.#own.found(login, token, true);
    this.#noteUse(login);
    return accepted;
  }

  /** Reports whether a use that isn't stored yet keeps a login alive; in a test, hours may pass before it is stored. */
  #wasUsed({ id }: FoundLogin): boolean {
    const use = this.#dependencies.uses.noted({ guard: this.#guard, id });
    return use !== null && use.expiresAt.getTime() > now();
  }

  /**
   * Gives a login's new token to a request that has the previous one. The password confirmation no longer counts,
   * because someone may have stolen the old token, and only the user who confirmed may benefit.
   */
  async #repeat(login: FoundLogin, user: Authenticatable, token: string): Promise<Authenticatable | null> {
    const { id, userId, expiresAt, createdAt, authenticatedAt, methods } = login;
    const unproved = { id, userId, expiresAt, createdAt, authenticatedAt: null, methods };
    const isReadOnly = this.#context.isReadOnly;
    if (authenticatedAt !== null && !isReadOnly) {
      const renewable = { guard: this.#guard, model: this.#model, login: unproved, user };
      if (!(await storeToken(this.#dependencies, renewable, token, token, unproved))) return null;
    }
    // This request may have logged in or out in the meantime.
    if (this.#own.isDecided) return user;
    this.#own.found(unproved, token, false);
    if (!isReadOnly) {
      this.#noteUse(login);
      this.#own.send();
    }
    return user;
  }

  #noteUse(login: FoundLogin): void {
    if (this.#context.isReadOnly) return;
    const { settings, uses } = this.#dependencies;
    const use = dueUse(login, settings);
    if (use !== null) uses.note({ guard: this.#guard, id: login.id, ...deviceOf(this.#context.request), ...use });
  }
}

function acceptedUser(login: FoundLogin, user: Authenticatable | null): Authenticatable | null {
  // Even if a store or a class returns the wrong row for a key, a request must never get another user's login.
  if (user === null || String(user.authId()) !== String(login.userId)) return null;
  // Ending access to the account ended this login too, whether or not it was deleted.
  return login.accessEpoch === accessEpochOf(user) ? user : null;
}
