import type { Container } from "../foundation/index.ts";
import type { HttpContext, Middleware, Next } from "../http/index.ts";
import { AshlarError } from "../support/index.ts";
import type { Throttle } from "./throttle.ts";
import type {} from "./throttle-provider.ts";

/**
 * `throttle:<name>`: counts each request of a route as an attempt under a limit of `config/throttle.ts`, and answers 429
 * (`E_TOO_MANY_REQUESTS`) where there have been too many.
 *
 * The account is the input that the limit names, where that is text. A name that no limit has ends the boot.
 */
export class ThrottleMiddleware implements Middleware {
  readonly #throttle: Throttle;

  constructor(container: Container) {
    this.#throttle = container.make("throttle");
  }

  async handle(context: HttpContext, next: Next, name: string): Promise<unknown> {
    await this.#throttle.hit(context, name);
    return next();
  }

  /** @throws `E_INVALID_ROUTE`, `E_INVALID_CONFIGURATION` unless there is one argument, the name of a limit */
  checkArguments(...names: string[]): void {
    const [name, ...rest] = names;
    if (name === undefined || name === "" || rest.length > 0) {
      throw new AshlarError("E_INVALID_ROUTE", "This middleware takes the name of one limit, as in throttle:login.");
    }
    this.#throttle.limit(name);
  }
}
