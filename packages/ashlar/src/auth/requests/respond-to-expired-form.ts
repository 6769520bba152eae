import {
  type HttpContext,
  type HttpResponse,
  isSpeculative,
  type RouteInfo,
  requestAuthority,
} from "../../http/index.ts";
import type { Router } from "../../routing/index.ts";
import { keepForm } from "../../session/index.ts";
import type { GuardRegistry } from "../guards/guard-registry.ts";
import { LoginPendingError } from "../pipeline/complete-login.ts";
import { ConfirmationRequiredError } from "../proofs/confirmation.ts";
import { refuseGuest, rememberIntended } from "./refuse-guest.ts";

/** The forms of pages that are for guests only. */
const GUEST_FORMS = ["login.store", "register.store"];

/** The middleware that sends guests to the login. */
const REFUSING_GUESTS: ReadonlySet<string> = new Set(["auth", "password.confirm", "confirm", "verified"]);

/**
 * Responds to a form on an outdated page after another tab has logged in or out. If a visitor who is now logged in
 * submits the login or registration form, they continue as after a login; a guest who submits the logout form goes to
 * the login. Any other form of a route for users also leads a guest to the login, which says that it was not submitted,
 * and from there back to its page.
 *
 * Security: it does not log users in or out, and runs no handler. A form that would log in a different user is ignored,
 * and the page says so.
 *
 * @returns `null` for any other form, and for one that still has an effect
 */
export async function respondToExpiredForm(context: HttpContext, guards: GuardRegistry): Promise<unknown> {
  const { auth, request } = context;
  const route = request.route();
  if (route === null) return null;
  const { pages } = guards;
  for (const guard of [auth.guardName, ...guards.names]) {
    const isLogout = route.name === pages.nameOf(guard, "logout");
    if (!isLogout && !GUEST_FORMS.some((page) => route.name === pages.nameOf(guard, page))) continue;
    auth.guard(guard);
    if ((await auth.check()) === isLogout) return null;
    if (isLogout) return auth.redirectToRoute("login");
    context.session.flash("status", context.t("auth.login.already"));
    return auth.redirectToIntended("home");
  }
  return respondAsGuest(context, route, guards);
}

/** Responds as the route's own middleware would, because the request hasn't reached it. */
async function respondAsGuest(context: HttpContext, route: RouteInfo, guards: GuardRegistry): Promise<unknown> {
  const { auth } = context;
  for (const use of route.middleware) {
    const [name, argument] = use.split(":") as [string, string?];
    const named = name === "auth" || name === "guard" ? argument : undefined;
    const guard = auth.guard(guards.names.find((each) => each === named) ?? auth.guardName);
    // A guard that identifies its users in another way, such as by a token, has no logins that could have ended.
    if (REFUSING_GUESTS.has(name) && guard.keepsLogins && !(await guard.check())) return refuseGuest(context, guard);
  }
  return null;
}

/**
 * Responds to a form whose handler waits for a step, or for another proof from a user without a password: the visitor is sent to
 * the page of the step or the proof, and from there back to the form.
 *
 * @returns `null` for any other error, for a caller that wants JSON, for a page that is loaded ahead, and for a step without
 * a page
 */
export async function respondToPendingStep(
  context: HttpContext,
  error: unknown,
  router: Router,
): Promise<HttpResponse | null> {
  const { auth, request } = context;
  const isAsking = error instanceof LoginPendingError || error instanceof ConfirmationRequiredError;
  if (!isAsking || error.page === null || request.wantsJson() || isSpeculative(request.raw)) return null;
  await keepForm(context);
  // A page may hide its address. Most forms are sent to the URL of the page that has them.
  const path = request.getPath();
  rememberIntended(
    context,
    router.match("GET", path, requestAuthority(request.raw)) === null ? null : context.services.basePath + path,
  );
  return auth.redirectToRoute(error.page).status(303);
}
