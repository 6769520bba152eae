import type { QueryParameters, RouteParameters } from "../../http/index.ts";
import type { Router } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";
import "../errors.ts";

/** Options of a signed link. */
export interface SignedLinkOptions {
  /** How long the link is valid, in minutes, greater than 0; default: forever. */
  readonly expiresInMinutes?: number;
  readonly query?: QueryParameters;
}

/**
 * Creates the links in mails, all of which are absolute.
 *
 * Security: the host is that of `APP_URL` or one of `APP.hosts`, never any other host from a request, because the
 * client chooses it. A reset link to an attacker's host would hand over the account.
 */
export class MailLinks {
  readonly #originOf: () => string;
  readonly #router: () => Router;

  /**
   * @param origin returns the application's origin, such as `https://shop.example`
   * @param router returns the router, once there is one
   */
  constructor(origin: () => string, router: () => Router) {
    this.#originOf = origin;
    this.#router = router;
  }

  /**
   * Returns the URL of a path of the application.
   *
   * @throws `E_INVALID_MAIL` if the path does not start with `/` or leads to another host
   */
  url(path: string): string {
    const origin = this.#originOf();
    const url = path.startsWith("/") ? URL.parse(this.#router().url(path), origin) : null;
    if (url?.origin === origin) return url.href;
    throw new AshlarError("E_INVALID_MAIL", "url() needs a path of the application, such as /orders/7.");
  }

  /**
   * Returns the URL of a named route.
   *
   * @throws `E_UNKNOWN_ROUTE`, `E_MISSING_ROUTE_PARAMETER`, `E_INVALID_ROUTE_PARAMETER`
   */
  route(name: string, parameters?: RouteParameters, query?: QueryParameters): string {
    return this.#absolute(this.#router().to(name, parameters, query));
  }

  /**
   * Returns the signed URL of a named route, which expires if `expiresInMinutes` is given.
   *
   * @throws as {@link MailLinks.route}
   */
  signedRoute(name: string, parameters?: RouteParameters, options?: SignedLinkOptions): string {
    return this.#absolute(this.#router().signed(name, parameters, options));
  }

  /** Makes a URL absolute, unless it already is because its route has a domain. */
  #absolute(url: string): string {
    return url.startsWith("/") ? this.#originOf() + url : url;
  }
}
