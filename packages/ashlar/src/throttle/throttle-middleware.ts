import type { HttpContext, Middleware, Next } from "../http/index.ts";
import type { Container } from "../kernel/index.ts";
import { AshlarError } from "../support/index.ts";
import type { LimitName } from "./limit-name.ts";
import type { Throttle } from "./throttle.ts";
import type {} from "./throttle-provider.ts";
import "../routing/index.ts";

declare module "../routing/middleware-name.ts" {
  interface FrameworkMiddlewareArguments {
    throttle: LimitName | `${LimitName},user`;
  }
}

const PREFIX = "throttle:";

/** The name of the limit in a route's middleware, such as `throttle:login,user`; `null` if it is another middleware. */
export function limitIn(middleware: string): string | null {
  return middleware.startsWith(PREFIX) ? middleware.slice(PREFIX.length).split(",")[0]!.trim() : null;
}

/**
 * Reports whether a route's middleware is as strict as the usual limit: it is either that limit, or one strict enough
 * against guessing. A limit that the author has replaced in config/throttle.ts is assumed to be strict enough.
 *
 * @param expected the middleware with the usual limit: `throttle:login`
 */
export function isStrictLimit(throttle: Throttle | null, middleware: string, expected: string): boolean {
  const name = limitIn(middleware);
  return name !== null && (name === limitIn(expected) || throttle?.allowsGuessing(name) === false);
}

/** The argument that makes a limit count by the user instead of an input. */
const USER = "user";

/**
 * `throttle:<name>`: counts each request of a route as an attempt under a limit of `config/throttle.ts`, and responds
 * with 429 (`E_TOO_MANY_REQUESTS`) if there have been too many. The account is the input that the limit names, if it is
 * text.
 *
 * `throttle:<name>,user`: counts by the logged-in user's account, and ignores inputs. For routes behind `auth` on which
 * users prove their identity again.
 *
 * Startup fails if there is no limit with this name.
 */
export class ThrottleMiddleware implements Middleware {
  readonly #throttle: Throttle;

  constructor(container: Container) {
    this.#throttle = container.make("throttle");
  }

  async handle(context: HttpContext, next: Next, name: LimitName, whose?: string): Promise<unknown> {
    if (context.request.awaitsBody && whose !== USER && this.#throttle.limit(name).account !== null) {
      await this.#throttle.refuseByAddress(context, name);
      await context.request.loadBody();
    }
    await this.#throttle.hit(context, name, whose === USER ? { user: context.currentUser } : {});
    return next();
  }

  /**
   * @throws `E_INVALID_ROUTE`, `E_INVALID_CONFIGURATION` unless the arguments are the name of a limit and optionally
   * `user`
   */
  checkArguments(...args: string[]): void {
    const [name, whose = USER, ...rest] = args;
    if (name === undefined || name === "" || whose !== USER || rest.length > 0) {
      throw new AshlarError("E_INVALID_ROUTE", "This middleware takes the name of one limit, as in throttle:login.");
    }
    this.#throttle.limit(name);
  }

  /** A limit that counts by an input reads the body itself, after checking that the address has attempts left. */
  beforeBody(): boolean {
    return true;
  }
}
