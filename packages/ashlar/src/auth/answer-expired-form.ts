import type { HttpContext, RouteInfo } from "../http/index.ts";
import type { GuardRegistry } from "./guard-registry.ts";
import { refuseGuest } from "./refuse-guest.ts";

/** The forms of pages that are for guests only. */
const GUEST_FORMS = ["login.store", "register.store"];

/** The middleware that sends guests to the login. */
const REFUSING_GUESTS: ReadonlySet<string> = new Set(["auth", "password.confirm", "verified"]);

/**
 * What answers a form of a page that another tab has overtaken: a login or a registration by a visitor who is logged in
 * by now leads on as after the login, and a logout by one who is not, to the login. So does any other form of a route for
 * users, and from there back to its page.
 *
 * Security: it logs no one in or out, and runs no handler. A form that would log in another user is not used, and the
 * page says so.
 *
 * @returns `null` for any other form, and for one that still has something to do
 */
export async function answerExpiredForm(context: HttpContext, guards: GuardRegistry): Promise<unknown> {
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
  return answerAsGuest(context, route, guards);
}

/** Answers as the route's own middleware would, which the request has not come to. */
async function answerAsGuest(context: HttpContext, route: RouteInfo, guards: GuardRegistry): Promise<unknown> {
  const { auth } = context;
  for (const use of route.middleware) {
    const [name, argument] = use.split(":") as [string, string?];
    const named = name === "auth" || name === "guard" ? argument : undefined;
    const guard = auth.guard(guards.names.find((each) => each === named) ?? auth.guardName);
    // A guard that knows its users by something else, such as a token, has no one whose login could have ended.
    if (REFUSING_GUESTS.has(name) && guard.keepsLogins && !(await guard.check())) return refuseGuest(context, guard);
  }
  return null;
}
