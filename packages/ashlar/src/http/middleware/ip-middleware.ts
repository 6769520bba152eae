import { ConfigurationError } from "../../support/index.ts";
import { type AddressResolver, createAddressResolver, SOCKET_ADDRESS } from "../addresses/client-address.ts";
import type { HttpContext } from "../exchange/context.ts";
import { headerKey } from "../headers/header-fields.ts";
import type { Middleware, Next } from "./middleware.ts";

/**
 * Makes `request.ip()` return the client's address. Without it `ip()` is `null`.
 *
 * With `APP.trustedProxies`, a request from any other peer has the peer's own address, and for a request from a trusted
 * proxy, `X-Forwarded-For` is searched from the right. Without it, the first public address is used, header by header.
 *
 * A subclass can change the headers to read:
 *
 * ```ts
 * class BehindOurCdn extends IpMiddleware {
 *   static override headers = ["HTTP_CF_CONNECTING_IP", "REMOTE_ADDR"];
 * }
 * ```
 *
 * Security: without trusted proxies, a client can send any address in a header, and `ip()` returns it. That is good
 * enough for statistics, but never for a decision. Limits and the audit trail use `request.clientAddress`, which in
 * that case is the socket's address.
 */
export class IpMiddleware implements Middleware {
  /**
   * The headers to search for the address, in order: `HTTP_X_FORWARDED_FOR` is the header `X-Forwarded-For`,
   * `REMOTE_ADDR` the address of the socket.
   */
  static headers: readonly string[] = [
    "HTTP_CLIENT_IP",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED",
    "HTTP_X_CLUSTER_CLIENT_IP",
    "HTTP_FORWARDED_FOR",
    "HTTP_FORWARDED",
    "REMOTE_ADDR",
  ];

  readonly #headers: readonly string[];
  #resolver: AddressResolver | null = null;

  /** @throws `E_INVALID_CONFIGURATION` for a header that isn't named as above, or if a subclass names proxies itself */
  constructor() {
    const { headers, name } = new.target;
    if ("trustedProxies" in new.target) {
      const problem = "it is no longer used: a single setting now says which proxies are trusted, for everything.";
      const remedy = "Set APP.trustedProxies in config/app.ts, or TRUSTED_PROXIES in the environment.";
      throw new ConfigurationError(`${name}.trustedProxies`, problem, remedy);
    }
    this.#headers = headers.map((header) => {
      if (header === SOCKET_ADDRESS) return header;
      if (/^HTTP_[A-Z0-9_]+$/.test(header)) return headerKey(header.slice("HTTP_".length));
      const problem = `${JSON.stringify(header)} is not the name of a header.`;
      throw new ConfigurationError(
        `${name}.headers`,
        problem,
        'Write "HTTP_X_REAL_IP" for X-Real-IP, or "REMOTE_ADDR".',
      );
    });
  }

  handle(context: HttpContext, next: Next): unknown {
    // The instance belongs to one application, and so do its services.
    this.#resolver ??= createAddressResolver(this.#headers, context.services.proxies.ranges);
    context.request.useAddressResolver(this.#resolver);
    return next();
  }

  /** This middleware reads no input. */
  beforeBody(): boolean {
    return true;
  }
}
