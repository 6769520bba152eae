import { type HttpContext, type HttpResponse, isSpeculative, requestAuthority } from "../../http/index.ts";
import type { Router } from "../../routing/index.ts";
import { keepForm } from "../../session/index.ts";
import { LoginPendingError } from "../pipeline/complete-login.ts";
import { ConfirmationRequiredError } from "../proofs/confirmation.ts";
import { rememberIntended } from "./remember-intended.ts";

/**
 * Responds to a form whose handler waits for a step, or for a proof that a user without a password gives on a separate
 * page: the visitor is sent to that page, and from there back to the form.
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
  // A page may hide its address. Most forms are sent to the URL of their own page.
  const path = request.getPath();
  rememberIntended(
    context,
    router.match("GET", path, requestAuthority(request.raw)) === null ? null : context.services.basePath + path,
  );
  return auth.redirectToRoute(error.page).status(303);
}
