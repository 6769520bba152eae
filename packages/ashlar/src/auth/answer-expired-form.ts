import type { HttpContext } from "../http/index.ts";
import type { GuardRegistry } from "./guard-registry.ts";

/**
 * What answers a form of a page that another tab has overtaken: a login by a visitor who is logged in by now leads on as
 * after the login, and a logout by one who is not to the login.
 *
 * Security: it logs no one in or out. A form that would log in another user is not sent, and the page says so.
 *
 * @returns `null` for any other form, and for one that still has something to do
 */
export async function answerExpiredForm(context: HttpContext, guards: GuardRegistry): Promise<unknown> {
  const { auth, request } = context;
  const name = request.route()?.name ?? null;
  const { pages } = guards;
  for (const guard of [auth.guardName, ...guards.names]) {
    const isLogin = name === pages.nameOf(guard, "login.store");
    if (!isLogin && name !== pages.nameOf(guard, "logout")) continue;
    auth.guard(guard);
    if ((await auth.check()) !== isLogin) return null;
    if (!isLogin) return auth.redirectToRoute("login");
    context.session.flash("status", "You were already logged in, so the form was not sent.");
    return auth.redirectToIntended("home");
  }
  return null;
}
