import type { Container } from "../foundation/index.ts";
import type { HttpContext, Middleware, Next } from "../http/index.ts";
import { requireGuards } from "./require-guards.ts";

/** Loads the user of the guard in force, so that `request.user()` gives it. It refuses nobody; `auth` does that. */
export class LoadUserMiddleware implements Middleware {
  constructor(container: Container) {
    requireGuards(container);
  }

  handle(context: HttpContext, next: Next): unknown {
    const loading = context.auth.load();
    return loading instanceof Promise ? loading.then(() => next()) : next();
  }

  /** A guard that finds its user by the body waits for it. */
  beforeBody(): boolean {
    return true;
  }
}
