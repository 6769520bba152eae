import { type HttpContext, type Middleware, markUserUnknown, type Next } from "../../http/index.ts";
import type { Container } from "../../kernel/index.ts";
import { AshlarError, isThenable, type MaybePromise } from "../../support/index.ts";
import type { Guard } from "../guards/guard.ts";
import type { GuardRegistry } from "../guards/guard-registry.ts";
import { requireGuards } from "../guards/require-guards.ts";
import { refuseGuest } from "./refuse-guest.ts";
import "../errors.ts";

/** Loads the active guard's user, so that `request.user()` returns it. It never refuses a request; `auth` does that. */
export class LoadUserMiddleware implements Middleware {
  constructor(container: Container) {
    requireGuards(container);
  }

  handle(context: HttpContext, next: Next): unknown {
    let loading: MaybePromise<unknown>;
    try {
      loading = context.auth.load();
    } catch (error) {
      return failed(context, error);
    }
    if (!isThenable(loading)) return next();
    return loading.then(
      () => next(),
      (error: unknown) => failed(context, error),
    );
  }

  /** If the guard finds its user by the body, it waits for the body. */
  beforeBody(): boolean {
    return true;
  }
}

/** The error page must not treat a user as a guest. */
function failed(context: HttpContext, error: unknown): never {
  markUserUnknown(context);
  throw error;
}

/**
 * `auth`, `auth:<name>`: only lets requests through that have a user, according to the active or the named guard.
 *
 * A caller that accepts JSON gets a 401; a visitor of a page is sent to the guard's login, and from there to the page
 * they wanted.
 */
export class AuthenticationMiddleware implements Middleware {
  readonly #guards: GuardRegistry;

  constructor(container: Container) {
    this.#guards = requireGuards(container);
  }

  /** @throws `E_UNAUTHENTICATED` if there is no user and the caller accepts JSON */
  handle(context: HttpContext, next: Next, name: string = context.auth.guardName): unknown {
    const guard: Guard = context.auth.guard(name);
    const admit = (user: unknown): unknown => (user === null ? refuseGuest(context, guard) : next());
    const user: unknown = guard.user();
    return isThenable(user) ? user.then((found) => admit(found)) : admit(user);
  }

  /** @throws `E_UNKNOWN_GUARD` unless there is no argument, or it is the name of a guard */
  checkArguments(...names: string[]): void {
    const [name, ...rest] = names;
    if (rest.length > 0) {
      throw new AshlarError("E_UNKNOWN_GUARD", "This middleware takes the name of at most one guard, as in auth:jwt.");
    }
    if (name !== undefined) this.#guards.checkName(name);
  }

  /** If the guard finds its user by the body, it waits for the body. */
  beforeBody(): boolean {
    return true;
  }
}

/**
 * `guard:<name>`: makes a guard the active one for the request, and loads its user. It never refuses a request; `auth`
 * does that.
 *
 * Startup fails if no guard has this name.
 */
export class GuardMiddleware implements Middleware {
  readonly #guards: GuardRegistry;

  constructor(container: Container) {
    this.#guards = requireGuards(container);
  }

  handle(context: HttpContext, next: Next, name: string): unknown {
    const user = context.auth.guard(name).user();
    return isThenable(user) ? user.then(() => next()) : next();
  }

  /** @throws `E_UNKNOWN_GUARD` unless there is one argument, the name of a guard */
  checkArguments(...names: string[]): void {
    const [name, ...rest] = names;
    if (name === undefined || rest.length > 0) {
      throw new AshlarError("E_UNKNOWN_GUARD", "This middleware takes the name of one guard, as in guard:jwt.");
    }
    this.#guards.checkName(name);
  }

  /** If the guard finds its user by the body, it waits for the body. */
  beforeBody(): boolean {
    return true;
  }
}
