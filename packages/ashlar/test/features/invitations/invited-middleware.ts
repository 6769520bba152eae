import type { Container, HttpContext, Middleware, Next } from "ashlar";
import type { Invitations } from "./invitations.ts";

/** `invited`: only lets requests with a valid invitation in the route's parameter through. */
export class InvitedMiddleware implements Middleware {
  readonly #invitations: Invitations;

  constructor(container: Container) {
    this.#invitations = container.make("invitations");
  }

  handle(context: HttpContext, next: Next): unknown {
    this.#invitations.read(context);
    return next();
  }
}
