import { type HttpContext, isNavigation, isSpeculative } from "../http/index.ts";
import { AshlarError } from "../support/index.ts";
import type { Guard } from "./guard.ts";
import { rememberIntended } from "./remember-intended.ts";
import "../http/index.ts";

/**
 * Responds to a request that needs a user and has none: a visitor of a page is sent to the login of the active guard, and
 * from there to the page they wanted. If they have sent a form, the login says that it was not submitted. A page that a
 * browser loads ahead is refused: the browser discards the response and
 * asks again if the visitor does go there. A redirect would show the login in its place, without a request to remember.
 *
 * @throws `E_UNAUTHENTICATED` if the caller accepts JSON, with the guard's challenge, and if the page is loaded ahead
 */
export function refuseGuest(context: HttpContext, guard: Guard): unknown {
  const { request } = context;
  if (!request.wantsJson() && !isSpeculative(request.raw)) {
    rememberIntended(context);
    noteUnsubmitted(context, guard);
    // A login that waits for a step continues there.
    return context.auth.redirectToRoute(context.auth.guestPage);
  }
  const { challenge } = guard;
  throw new AshlarError("E_UNAUTHENTICATED", undefined, {
    headers: challenge === null ? {} : { "WWW-Authenticate": challenge },
  });
}

/** Shows on the next page why a form had no effect. Only a guard that keeps logins has some that could have ended. */
function noteUnsubmitted({ request: { raw }, t, visitor }: HttpContext, guard: Guard): void {
  if (raw.method !== "POST" || !isNavigation(raw) || !guard.keepsLogins || visitor?.isReadable !== true) return;
  visitor.session.flash("status", t("auth.login.ended"));
}
