import { type HttpContext, type RouteInfo, routeLabel } from "../../http/index.ts";
import type { Logger } from "../../kernel/index.ts";
import { isStrictLimit, limitIn } from "../../throttle/index.ts";

/** Warns of routes that check a password or send a mail without a limit, or with a weak one: once for each route. */
export class UnlimitedRoutes {
  readonly #logger: Pick<Logger, "warn">;
  readonly #seen = new WeakSet<RouteInfo>();

  constructor(logger: Pick<Logger, "warn">) {
    this.#logger = logger;
  }

  /**
   * Called before the request is counted under the limits of accounts, so that only the route's own limits have counted it.
   *
   * @param limit the middleware that the route lacks if nothing limits it
   */
  check(context: HttpContext, limit: string): void {
    const route = context.request.route();
    if (route === null || this.#seen.has(route)) return;
    this.#seen.add(route);
    const { throttle } = context.auth;
    const limits = route.middleware.filter((text) => limitIn(text) !== null);
    if (limits.some((text) => isStrictLimit(throttle, text, limit))) return;
    if (limits.length === 0 && throttle?.hasCounted(context) === true) return;
    const problem =
      limits.length === 0
        ? "has no limit, so passwords or mails can be tried without limit."
        : `has no limit but ${limits.join(", ")}, which allows too many attempts at passwords or mails.`;
    this.#logger.warn(`${routeLabel(route)} ${problem} Add .middleware("${limit}") to the route.`);
  }
}
