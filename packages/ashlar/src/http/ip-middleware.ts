import { ConfigurationError } from "../support/index.ts";
import { type AddressResolver, createAddressResolver, parseRange, SOCKET_ADDRESS } from "./client-address.ts";
import type { HttpContext } from "./context.ts";
import { headerKey } from "./header-fields.ts";
import type { Middleware, Next } from "./middleware.ts";

/**
 * Makes `request.ip()` say who the client is. Without it `ip()` is `null`.
 *
 * A subclass changes whom it asks:
 *
 * ```ts
 * class BehindOurProxy extends IpMiddleware {
 *   static override trustedProxies = ["10.0.0.0/8", "2001:db8:1::/48"];
 * }
 * ```
 *
 * Security: with no trusted proxies, anyone can send any address in a header, and `ip()` repeats it. It is good enough
 * for a statistic, never for a decision. Throttling and the audit trail use the socket's address in that case.
 */
export class IpMiddleware implements Middleware {
  /**
   * Where the address is looked for, in this order: `HTTP_X_FORWARDED_FOR` is the header `X-Forwarded-For`,
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

  /**
   * Addresses and ranges (`10.0.0.0/8`) of the application's own proxies. With any, the headers of every other peer are
   * ignored, and of theirs only `X-Forwarded-For` is read, from the right.
   */
  static trustedProxies: readonly string[] = [];

  readonly #resolver: AddressResolver;

  /** @throws `E_INVALID_CONFIGURATION` for a header not named as above, and for a proxy that is no address or range */
  constructor() {
    const { headers, name, trustedProxies } = new.target;
    const names = headers.map((header) => {
      if (header === SOCKET_ADDRESS) return header;
      if (/^HTTP_[A-Z0-9_]+$/.test(header)) return headerKey(header.slice("HTTP_".length));
      const problem = `${JSON.stringify(header)} is not the name of a header.`;
      throw new ConfigurationError(
        `${name}.headers`,
        problem,
        'Write "HTTP_X_REAL_IP" for X-Real-IP, or "REMOTE_ADDR".',
      );
    });
    const ranges = trustedProxies.map((proxy) => {
      const range = parseRange(proxy);
      if (range !== null) return range;
      const problem = `${JSON.stringify(proxy)} is neither an address nor a range.`;
      throw new ConfigurationError(`${name}.trustedProxies`, problem, 'Write "10.0.0.1" or "10.0.0.0/8".');
    });
    this.#resolver = createAddressResolver(names, ranges);
  }

  handle(context: HttpContext, next: Next): unknown {
    context.request.useAddressResolver(this.#resolver);
    return next();
  }
}
