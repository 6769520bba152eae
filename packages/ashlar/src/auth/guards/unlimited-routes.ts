import type { HttpContext, RouteInfo } from "../../http/index.ts";
import type { Logger } from "../../kernel/index.ts";

/** Warns of routes that check a password or send a mail without a limit: once for each route. */
export class UnlimitedRoutes {
  readonly #logger: Pick<Logger, "warn">;
  readonly #seen = new WeakSet<RouteInfo>();

  constructor(logger: Pick<Logger, "warn">) {
    this.#logger = logger;
  }

  /**
   * Called before the request is counted under the limits of accounts: only the route's own have counted it by then.
   *
   * @param limit the middleware that the route lacks if nothing limits it
   */
  check(context: HttpContext, limit: string): void {
    const route = context.request.route();
    if (route === null || this.#seen.has(route)) return;
    this.#seen.add(route);
    if (route.middleware.some((text) => text.startsWith("throttle:"))) return;
    if (context.auth.throttle?.hasCounted(context) === true) return;
    const label = `${route.methods.join("|")} ${route.pattern}`;
    this.#logger.warn(
      `${label} has no limit, so passwords or mails can be tried without limit. Add .middleware("${limit}") to the route.`,
    );
  }
}
