import { type HttpContext, type Middleware, markUserUnknown, type Next } from "../http/index.ts";
import type { Container } from "../kernel/index.ts";
import type { MaybePromise } from "../support/index.ts";
import { requireGuards } from "./require-guards.ts";

/** Loads the user of the guard in force, so that `request.user()` gives it. It refuses nobody; `auth` does that. */
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
    if (!(loading instanceof Promise)) return next();
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

/** The page that tells of it must not take a user for a guest. */
function failed(context: HttpContext, error: unknown): never {
  markUserUnknown(context);
  throw error;
}
