import type { HttpContext, Middleware, Next } from "../../../http/index.ts";
import type { Container } from "../../../kernel/index.ts";
import { keepForm } from "../../../session/index.ts";
import { AshlarError } from "../../../support/index.ts";
import { requireGuards } from "../../guards/require-guards.ts";
import { message } from "../../messages.ts";
import { refuseGuest } from "../../requests/refuse-guest.ts";
import "../../../http/index.ts";
import { isVerifiable } from "../../users/authenticatable.ts";

/**
 * `verified`: only lets users with a verified address through. A guest is sent to the active guard's login, and from
 * there to the page they wanted. A user whose address is not verified is sent to its page `email.verify.notice`, and so
 * is any user whose model lacks `MustVerifyEmail`, because the address was never verified.
 */
export class VerifiesEmailMiddleware implements Middleware {
  constructor(container: Container) {
    requireGuards(container);
  }

  /** @throws `E_UNAUTHENTICATED`, `E_FORBIDDEN` if the caller accepts JSON */
  async handle(context: HttpContext, next: Next): Promise<unknown> {
    const { auth, request } = context;
    const user = await auth.user();
    if (user === null) return refuseGuest(context, auth.guard(auth.guardName));
    if (isVerifiable(user) && user.hasVerifiedEmail()) return next();
    const { email } = user as { readonly email?: unknown };
    const problem = message(email === null ? "auth.email.none" : "auth.email.unverified");
    if (request.wantsJson()) throw new AshlarError("E_FORBIDDEN", problem);
    await keepForm(context);
    return auth.redirectToRoute("email.verify.notice");
  }

  /** If the guard finds its user by the body, it waits for the body. */
  beforeBody(): boolean {
    return true;
  }
}
