import { type HttpContext, type Middleware, markUserUnknown, type Next } from "../../http/index.ts";
import type { Container } from "../../kernel/index.ts";
import { isThenable, type MaybePromise } from "../../support/index.ts";
import { requireGuards } from "../guards/require-guards.ts";

/**
 * Loads the user of the active guard, so that `request.user()` returns it. It never refuses a request: that is what
 * `auth` is for.
 */
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

  /** A guard that finds its user by the body waits for it. */
  beforeBody(): boolean {
    return true;
  }
}

/** The error page must not treat a user as a guest. */
function failed(context: HttpContext, error: unknown): never {
  markUserUnknown(context);
  throw error;
}
