import { type HttpContext, markUserUnknown } from "../../http/index.ts";
import {
  AshlarError,
  isThenable,
  type MaybePromise,
  type RegisteredUser,
  restoreOnRollback,
} from "../../support/index.ts";
import { type Authenticatable, type AuthenticatableClass, isBlocked, isUserOf } from "../users/authenticatable.ts";
import type { Guard } from "./guard.ts";

/**
 * The common part of guards: the request's user is looked up once, responses that depend on one stay out of shared
 * caches, and `request.user()` returns the user of the active guard.
 *
 * ```ts
 * class DeviceGuard extends RequestGuard {
 *   protected override retrieve() {
 *     const serial = this.context.request.header("x-device");
 *     return serial === null ? null : this.model.findByIdentifier(serial);
 *   }
 * }
 * ```
 */
export abstract class RequestGuard<User extends object = RegisteredUser> implements Guard<User> {
  readonly name: string;
  readonly #context: HttpContext;
  /** The class of the guard's users. */
  protected readonly model: AuthenticatableClass;
  #user: Authenticatable | null = null;
  #known = false;
  #retrieval: Promise<Authenticatable | null> | null = null;

  constructor(name: string, context: HttpContext, model: AuthenticatableClass) {
    this.name = name;
    this.#context = context;
    this.model = model;
  }

  /** The request's context. It is kept in a private field, so that printing a guard doesn't show the request. */
  protected get context(): HttpContext {
    return this.#context;
  }

  /** Finds the user that the request itself proves, or `null`. Called at most once per request. */
  protected abstract retrieve(): MaybePromise<Authenticatable | null>;

  get challenge(): string | null {
    return null;
  }

  get keepsLogins(): boolean {
    return false;
  }

  get knownUser(): User | null {
    return this.#user as User | null;
  }

  user(): MaybePromise<User | null> {
    if (this.#known) return this.knownUser;
    if (this.#retrieval !== null) return this.#retrieval.then(() => this.knownUser);
    const found = this.retrieve();
    if (isThenable(found)) return this.#settleLater(found.then(unlessBlocked));
    const retrieved = unlessBlocked(found);
    this.#settle(retrieved);
    this.#markResponse(retrieved);
    return this.knownUser;
  }

  async check(): Promise<boolean> {
    return (await this.user()) !== null;
  }

  /** Whether what identifies the user may be used for something: a login may be used for everything. */
  tokenCan(_ability: string): boolean {
    return true;
  }

  once(user: User): void {
    const own = this.requireOwn(user);
    this.#settle(own);
    this.#markResponse(own);
  }

  /** Treats the request as a guest's, even if it proves a user. */
  protected assumeGuest(): void {
    this.#settle(null);
  }

  /** @throws `E_INVALID_MODEL` if a user is of another class than the guard's users */
  protected requireOwn(user: User): Authenticatable {
    if (isUserOf(user, this.model)) return user as unknown as Authenticatable;
    // A guard stores keys: the key of another table's user would log a different user in on the next request.
    const problem = `The guard "${this.name}" has users of the class ${this.model.name}, not ${user.constructor.name}.`;
    throw new AshlarError("E_INVALID_MODEL", problem);
  }

  async #settleLater(retrieval: Promise<Authenticatable | null>): Promise<User | null> {
    this.#retrieval = retrieval;
    let user: Authenticatable | null;
    try {
      // These steps must not be interrupted, because other callers waiting for the same lookup continue in the same
      // turn, and rely on the state set here.
      user = await retrieval;
    } catch (error) {
      if (this.context.auth.guardName === this.name) markUserUnknown(this.context);
      throw error;
    }
    // A login or logout that finished during the lookup takes precedence.
    if (this.#retrieval === retrieval) this.#settle(user);
    this.#markResponse(user);
    return this.knownUser;
  }

  #markResponse(user: Authenticatable | null): void {
    // The same URL has different content for other visitors, so caches must not share it. Without a cookie, they know that
    // only if what proves the user is in the header (RFC 9111 §3.5), and not in the query.
    if (!this.keepsLogins) this.context.readsToken = true;
    if (this.keepsLogins || user !== null) this.context.response.dependsOnVisitor(user !== null);
  }

  #settle(user: Authenticatable | null): void {
    // If a login in a transaction is rolled back, the request's user is who it was before.
    restoreOnRollback(this, () => {
      const [previous, wasKnown] = [this.#user, this.#known];
      return () => this.#become(previous, wasKnown);
    });
    this.#become(user, true);
  }

  #become(user: Authenticatable | null, isKnown: boolean): void {
    this.#user = user;
    this.#known = isKnown;
    this.#retrieval = null;
    if (this.context.auth.guardName === this.name) this.context.currentUser = this.knownUser;
  }
}

/** A blocked account has no access, whatever an application's own guard relies on. */
function unlessBlocked(user: Authenticatable | null): Authenticatable | null {
  return user !== null && isBlocked(user) ? null : user;
}
