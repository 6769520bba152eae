import type { HttpContext, Middleware, Next, RouteInfo } from "../http/index.ts";
import type { Container } from "../kernel/index.ts";
import type { CompiledRoute } from "../routing/index.ts";
import { AshlarError, ConfigurationError, suggestion } from "../support/index.ts";
import { comesFromElsewhere, isSafeMethod, sentCsrfToken } from "./csrf/csrf-tokens.ts";
import { ExpiredPageError } from "./forms/form-again.ts";
import { requireSession } from "./sessions/request-session.ts";
import { sessionManagerOf } from "./sessions/session-manager.ts";
import "./errors.ts";
import { message } from "./messages.ts";

/**
 * Lets requests that could change something pass only if they come from a page of the application, or of an origin in
 * `APP.trustedOrigins`. They must include the token that the page has for this session, in the input `__token` or the
 * header `X-CSRF-TOKEN`. Put it after `SessionMiddleware`.
 *
 * Exempt routes that other systems call, such as webhooks, by the route's name, or by its pattern as written:
 *
 * ```ts
 * class VerifyToken extends VerifyCsrfToken {
 *   protected override readonly except = ["payments.webhook", "/hooks/@provider"];
 * }
 * ```
 *
 * Security: an exempt route must identify its caller by something that browsers don't send automatically.
 */
export class VerifyCsrfToken implements Middleware {
  /** The routes that need no token, by name, or by pattern including prefixes. */
  protected readonly except: readonly string[] = [];
  readonly #routes: readonly CompiledRoute[];
  #exempt: ReadonlySet<RouteInfo | null> | null = null;

  /** @throws `E_INVALID_CONFIGURATION` in an application without sessions */
  constructor(container: Container) {
    sessionManagerOf(container);
    this.#routes = container.make("router").routes;
  }

  /**
   * @throws `E_CSRF` if another site's page made the request, or if the token is missing or not the session's;
   * `E_SESSION` if `SessionMiddleware` does not come first
   */
  handle(context: HttpContext, next: Next): unknown {
    const { request, services, origin } = context;
    if (isSafeMethod(request.raw.method)) return next();
    if (this.#exemptRoutes().has(request.route())) return next();
    const held = requireSession(context);
    if (comesFromElsewhere(request, { appUrl: origin, origins: services.origins })) {
      throw new AshlarError("E_CSRF", message("session.elsewhere"));
    }
    // Without a session, no page can have a token for it.
    if (!held.isKnown) throw new ExpiredPageError(request.wantsJson());
    request.whenBodyIsRead(() => {
      if (!held.matchesToken(sentCsrfToken(request))) throw new ExpiredPageError(request.wantsJson());
    });
    return next();
  }

  /** @throws `E_INVALID_CONFIGURATION` if `except` names an unknown route */
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

  /** The token is checked once the body has been read. Requests that need no token pass immediately. */
  beforeBody(): boolean {
    return true;
  }
}
