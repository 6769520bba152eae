import { absoluteTarget, type HttpContext, isNavigation, isSpeculative, requestSearch } from "../../http/index.ts";
import { AshlarError } from "../../support/index.ts";
import type { Guard } from "../guards/guard.ts";
import { type LoginFlow, pageUrl } from "../proofs/login-flow.ts";
import "../../http/index.ts";
import { type KeptForm, keepForm } from "../../session/index.ts";

/**
 * Responds to a request that needs a user and has none: a visitor of a page is sent to the login of the active guard,
 * and from there to the page they wanted. If they have sent a form, the login says that it was not submitted, and what
 * they typed is kept for them. If a browser preloads the page, the request is refused: the browser discards the
 * response, and requests the page again if the visitor goes there. A redirect would show the login instead, without a
 * request to remember.
 *
 * @throws `E_UNAUTHENTICATED` if the caller accepts JSON, with the guard's challenge and what the guest can do next in
 * `flows`, and if the page is loaded ahead
 */
export function refuseGuest(context: HttpContext, guard: Guard): unknown {
  const { request } = context;
  if (!request.wantsJson() && !isSpeculative(request.raw)) {
    // A login that waits for a step continues there.
    const redirect = () => context.auth.redirectToRoute(guestPage(context));
    if (isUnsubmitted(context, guard)) return noteUnsubmitted(context).then(redirect);
    rememberIntended(context);
    return redirect();
  }
  if (!guard.keepsLogins || context.auth.pendingStep === null) throw unauthenticated(guard, guestFlows(context, guard));
  return context.auth.pendingLogin().then(async (login) => {
    const waiting = ((await login?.flows()) ?? []).map((flow) => ({ ...flow, isPending: true }));
    throw unauthenticated(guard, [...waiting, ...guestFlows(context, guard)]);
  });
}

/** The pages where guests can become users, by their ids for API clients. */
const GUEST_PAGES = ["login", "register"];

/** What a guard's guests can do next, for API clients. */
export function guestFlows(context: HttpContext, { name, keepsLogins, flows }: Guard<object>): readonly LoginFlow[] {
  if (flows !== undefined) return flows;
  if (!keepsLogins) return [];
  return GUEST_PAGES.flatMap((id) => {
    const url = pageUrl(context, name, id);
    return url === null ? [] : [{ id, url }];
  });
}

function unauthenticated({ challenge }: Guard, flows: readonly LoginFlow[]): AshlarError {
  return new AshlarError("E_UNAUTHENTICATED", undefined, {
    headers: challenge === null ? {} : { "WWW-Authenticate": challenge },
    ...(flows.length > 0 && { extensions: { flows } }),
  });
}

/** The page where a guest continues: the page of the step that a login waits for, or else the login page. */
function guestPage({ auth, request }: HttpContext): string {
  const page = auth.pendingStep?.page ?? "login";
  // A page of a step that refuses guests would redirect to itself.
  return request.route()?.name === auth.registry.pages.nameOf(auth.guardName, page) ? "login" : page;
}

/** Only a guard that keeps logins can have a login that has ended. */
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

/** Keeps a refused form's input for its user only, and remembers the form's page, as {@link rememberIntended} does. */
export async function keepRefusedForm(context: HttpContext): Promise<KeptForm> {
  const kept = await keepForm(context);
  rememberIntended(context, kept.page === null ? null : context.services.urls.url(kept.page));
  return kept;
}

/**
 * Remembers the page that a visitor wanted before they are sent elsewhere: the requested page, or the page with the
 * form that was sent, which may be one of an origin in `APP.trustedOrigins`.
 *
 * Only pages that the visitor navigated to count. After a login has ended, an open page continues to load images,
 * frames and data, which would otherwise replace the remembered page.
 *
 * @param formPage the path of the page with the form, if the browser doesn't send it
 */
export function rememberIntended(context: HttpContext, formPage: string | null = null): void {
  const { request, services } = context;
  const { raw } = request;
  if (raw.method === "HEAD" || !isNavigation(raw)) return;
  const path =
    raw.method === "GET"
      ? `${services.basePath}${request.getPath()}${requestSearch(raw)}`
      : (absoluteTarget(context, request.header("referer")) ?? formPage);
  if (path !== null) context.visitor?.intend(path, context.auth.intendedScope);
}
