import type { HttpContext, Middleware, Next, RouteInfo } from "../http/index.ts";
import type { Container } from "../kernel/index.ts";
import type { CompiledRoute } from "../routing/index.ts";
import { AshlarError, ConfigurationError, suggestion } from "../support/index.ts";
import { sentCsrfToken } from "./csrf-field.ts";
import { ExpiredPageError } from "./form-again.ts";
import { comesFromElsewhere } from "./request-origin.ts";
import { requireSession } from "./request-session.ts";
import { isSafeMethod } from "./safe-methods.ts";
import { sessionManagerOf } from "./session-manager.ts";
import "./errors.ts";
import { message } from "./messages.ts";

/**
 * Lets a request that could change something through only where a page of the application made it: with the token that
 * the page was given for this session, in the input `__token` or the header `X-CSRF-TOKEN`. It comes after
 * `SessionMiddleware`.
 *
 * What other programs call, such as webhooks, is exempt by the route's name, or by its pattern as it is written:
 *
 * ```ts
 * class VerifyToken extends VerifyCsrfToken {
 *   protected override readonly except = ["payments.webhook", "/hooks/@provider"];
 * }
 * ```
 *
 * Security: a route that is exempt has to know its caller by something that no browser sends by itself.
 */
export class VerifyCsrfToken implements Middleware {
  /** The routes that need no token, by their names or their patterns, prefixes included. */
  protected readonly except: readonly string[] = [];
  readonly #routes: readonly CompiledRoute[];
  #exempt: ReadonlySet<RouteInfo | null> | null = null;

  /** @throws `E_INVALID_CONFIGURATION` in an application without sessions */
  constructor(container: Container) {
    sessionManagerOf(container);
    this.#routes = container.make("router").routes;
  }

  /**
   * @throws `E_CSRF` where another site's page made the request, or the token is missing or not the session's;
   * `E_SESSION` where no `SessionMiddleware` comes first
   */
  handle(context: HttpContext, next: Next): unknown {
    const { request, services } = context;
    if (isSafeMethod(request.raw.method)) return next();
    if (this.#exemptRoutes().has(request.route())) return next();
    const held = requireSession(context);
    if (comesFromElsewhere(request, services.appUrl)) {
      throw new AshlarError("E_CSRF", message("session.elsewhere"));
    }
    // No page has a token for a session that there is not.
    if (!held.isKnown) throw new ExpiredPageError();
    request.whenBodyIsRead(() => {
      if (!held.matchesToken(sentCsrfToken(request))) throw new ExpiredPageError();
    });
    return next();
  }

  /** @throws `E_INVALID_CONFIGURATION` where `except` names a route that there is not */
  checkArguments(): void {
    this.#exemptRoutes();
  }

  #exemptRoutes(): ReadonlySet<RouteInfo | null> {
    this.#exempt ??= new Set(this.except.flatMap((name) => this.#routesCalled(name)));
    return this.#exempt;
  }

  #routesCalled(name: string): CompiledRoute[] {
    const found = this.#routes.filter((route) => route.name === name || route.pattern === name);
    if (found.length > 0) return found;
    const known = this.#routes.flatMap((route) => [route.pattern, ...(route.name === null ? [] : [route.name])]);
    const problem = `${JSON.stringify(name)} is neither the name nor the pattern of a route.`;
    throw new ConfigurationError(`${this.constructor.name}.except`, problem, suggestion(name, new Set(known)));
  }

  /** The token is looked for when the body is read; what needs none is judged at once. */
  beforeBody(): boolean {
    return true;
  }
}
