import type { HttpContext } from "../http/index.ts";
import { PresentedToken } from "./presented-token.ts";
import type { TokenDrivers } from "./token-drivers.ts";
import type { TokenService } from "./token-service.ts";

declare module "../http/exchange/context.ts" {
  interface FrameworkContext {
    /** The API token that the request has, as the active driver verifies it: that of the middleware, or the first. */
    readonly apiToken: PresentedToken;
    /** The API token that the request has, as each driver verifies it. */
    readonly apiTokens: PresentedTokens;
  }
}

/** The API token of one request, for each driver that is asked about it. */
export class PresentedTokens {
  readonly #context: HttpContext;
  readonly #drivers: TokenDrivers;
  readonly #tokens = new Map<string, PresentedToken>();
  #active: PresentedToken | null = null;

  constructor(context: HttpContext, drivers: TokenDrivers) {
    this.#context = context;
    this.#drivers = drivers;
  }

  /** The token as the active driver verifies it: the one that was last named, otherwise the first. */
  get active(): PresentedToken {
    return this.#active ?? this.of(this.#drivers.first.name);
  }

  /**
   * The token as a driver verifies it.
   *
   * @throws `E_UNKNOWN_GUARD` if no driver has this name
   */
  of(name: string): PresentedToken {
    let token = this.#tokens.get(name);
    if (token === undefined) {
      token = new PresentedToken(this.#context, this.#drivers.of(name));
      this.#tokens.set(name, token);
    }
    return token;
  }

  /**
   * @internal The service that issues a driver's tokens.
   *
   * @param driver default: the first one that issues any
   * @throws `E_UNKNOWN_GUARD` if no driver has this name; `E_UNKNOWN_SERVICE` if it does not issue tokens
   */
  service(driver: string | null = null): TokenService {
    return this.#drivers.service(driver);
  }

  /** The token as a driver verifies it, which becomes the active one for the rest of the request. */
  use(name: string): PresentedToken {
    this.#active = this.of(name);
    return this.#active;
  }
}
