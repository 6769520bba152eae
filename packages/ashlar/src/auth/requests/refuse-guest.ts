import { type HttpContext, isNavigation, isSpeculative } from "../../http/index.ts";
import { AshlarError } from "../../support/index.ts";
import type { Guard } from "../guards/guard.ts";
import { keepRefusedForm, rememberIntended } from "./remember-intended.ts";
import "../../http/index.ts";

/**
 * Responds to a request that needs a user and has none: a visitor of a page is sent to the login of the active guard, and
 * from there to the page they wanted. If they have sent a form, the login says that it was not submitted, and what they typed is kept for them. A page that a
 * browser loads ahead is refused: the browser discards the response and
 * asks again if the visitor does go there. A redirect would show the login in its place, without a request to remember.
 *
 * @throws `E_UNAUTHENTICATED` if the caller accepts JSON, with the guard's challenge, and if the page is loaded ahead
 */
export function refuseGuest(context: HttpContext, guard: Guard): unknown {
  const { request } = context;
  if (!request.wantsJson() && !isSpeculative(request.raw)) {
    // A login that waits for a step continues there.
    const redirect = () => context.auth.redirectToRoute(context.auth.guestPage);
    if (isUnsubmitted(context, guard)) return noteUnsubmitted(context).then(redirect);
    rememberIntended(context);
    return redirect();
  }
  const { challenge } = guard;
  throw new AshlarError("E_UNAUTHENTICATED", undefined, {
    headers: challenge === null ? {} : { "WWW-Authenticate": challenge },
  });
}

/** Only a guard that keeps logins has some that could have ended. */
function isUnsubmitted({ request: { raw }, visitor }: HttpContext, guard: Guard): boolean {
  return raw.method === "POST" && isNavigation(raw) && guard.keepsLogins && visitor?.isReadable === true;
}

/** Keeps a form's input for its user, and shows on the next page why the form had no effect. */
async function noteUnsubmitted(context: HttpContext): Promise<void> {
  const { t } = context;
  const { note } = await keepRefusedForm(context);
  const sentences = [t("auth.login.ended"), ...(note === null ? [] : [t(note)])];
  context.visitor!.session.flash("status", sentences.join(" "));
}
