import type { QueryParameters, RouteParameters } from "../http/index.ts";
import type { Router } from "../routing/index.ts";
import { AshlarError } from "../support/index.ts";

/** What a signed link carries beyond its route and parameters. */
export interface SignedLinkOptions {
  /** How long it is valid, in minutes, greater than 0; for good where left out. */
  readonly expiresInMinutes?: number;
  readonly query?: QueryParameters;
}

/**
 * Makes the links that stand in mails, all of them absolute.
 *
 * Security: their host is that of `APP_URL`, never that of a request, whose sender chooses it: a reset link that leads to
 * somebody else's host hands them the account.
 */
export class MailLinks {
  readonly #originOf: () => string;
  readonly #router: () => Router;

  /**
   * @param origin gives the application's, such as `https://shop.example`
   * @param router gives the routes once there are some
   */
  constructor(origin: () => string, router: () => Router) {
    this.#originOf = origin;
    this.#router = router;
  }

  /**
   * The URL of a path of the application.
   *
   * @throws `E_INVALID_MAIL` where the path does not begin with `/` or leads to another host
   */
  url(path: string): string {
    const origin = this.#originOf();
    const url = path.startsWith("/") ? URL.parse(path, origin) : null;
    if (url?.origin === origin) return url.href;
    throw new AshlarError("E_INVALID_MAIL", "url() takes a path of the application, such as /orders/7.");
  }

  /**
   * The URL of a named route.
   *
   * @throws `E_UNKNOWN_ROUTE`, `E_MISSING_ROUTE_PARAMETER`, `E_INVALID_ROUTE_PARAMETER`
   */
  route(name: string, parameters?: RouteParameters, query?: QueryParameters): string {
    return this.#absolute(this.#router().to(name, parameters, query));
  }

  /**
   * The URL of a named route with a signature, and with an end where `expiresInMinutes` is given.
   *
   * @throws as {@link MailLinks.route}
   */
  signedRoute(name: string, parameters?: RouteParameters, options?: SignedLinkOptions): string {
    return this.#absolute(this.#router().signed(name, parameters, options));
  }

  /** A route with a domain has a URL of its own. */
  #absolute(url: string): string {
    return url.startsWith("/") ? this.#originOf() + url : url;
  }
}
