import type { HttpContext, Middleware, Next } from "../../../http/index.ts";
import { AshlarError } from "../../../support/index.ts";
import "../../../routing/index.ts";

const TOKEN = "token";

/**
 * `auth.page`: keeps account pages out of every cache. `auth.page:token`, for a page with a token in its URL: the
 * browser also sends no `Referer` from there.
 */
export class AuthPageMiddleware implements Middleware {
  handle({ response }: HttpContext, next: Next, kind?: string): unknown {
    response.header("cache-control", "private, no-store");
    if (kind === TOKEN) response.header("referrer-policy", "no-referrer");
    return next();
  }

  /** @throws `E_INVALID_ROUTE` unless there is no argument, or `token` */
  checkArguments(...args: string[]): void {
    const [kind = TOKEN, ...rest] = args;
    if (kind === TOKEN && rest.length === 0) return;
    throw new AshlarError("E_INVALID_ROUTE", "This middleware takes no argument, or token: auth.page:token.");
  }

  /** It requires no input. */
  beforeBody(): boolean {
    return true;
  }
}
