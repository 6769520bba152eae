import { type HttpContext, type HttpResponse, redirectTarget, requestAuthority, trustedUrl } from "../../http/index.ts";
import type { Router } from "../../routing/index.ts";
import { type Dictionary, type MaybePromise, ValidationError } from "../../support/index.ts";
import { isSafeMethod } from "../csrf/csrf-tokens.ts";
import type { RequestSession } from "../sessions/request-session.ts";
import { flashMistakes } from "../sessions/session-input.ts";
import { formPageOf, isOwnForm, sentPageOf, showForm } from "./form-page.ts";

/**
 * The response to a form with invalid input: a redirect to the form's page (303, RFC 9110 §15.4.4), which then shows
 * the messages, and the input again. If the session has no room for all of it, the response is the form's page itself
 * (422), if it may be shown there: see `formPageOf`.
 *
 * @param error the thrown error
 * @returns `null` for any other error, for a client that accepts JSON, and for a request that did not come from a form
 */
export function backToForm(
  context: HttpContext,
  held: RequestSession,
  error: unknown,
  router: Router,
): MaybePromise<HttpResponse | Response> | null {
  const { request } = context;
  // Redirecting back from a GET request would often lead to the same address, in an endless loop.
  if (!(error instanceof ValidationError) || isSafeMethod(request.raw.method) || request.wantsJson()) return null;
  const input = inputsOf(context);
  return flashMistakes(held, error.errors, input, error.detail)
    ? redirectBack(context, router)
    : showInPlace(context, held, error, router, input);
}

async function showInPlace(
  context: HttpContext,
  held: RequestSession,
  error: ValidationError,
  router: Router,
  input: Dictionary,
): Promise<HttpResponse | Response> {
  const page = formPageOf(context, held, router, isOwnForm(context, held));
  // Otherwise, the form came from a front end on another origin, or from no page at all, and the session stores as much
  // as fits.
  if (page?.mayBeShown === true && !isOfAnotherOrigin(context)) {
    const shown = await showForm(context, held, error, page, { errors: error.errors, input });
    if (shown !== null) return shown;
    flashMistakes(held, error.errors, input, error.detail);
  }
  return redirectBack(context, router);
}

function isOfAnotherOrigin({ request, services }: HttpContext): boolean {
  return trustedUrl(services.origins, request.header("referer")) !== null;
}

function redirectBack(context: HttpContext, router: Router): HttpResponse {
  const page = sentPageOf(context);
  if (page !== null) return context.response.redirect(page).status(303);
  return context.response.back(pageOf(context, router)).status(303);
}

/**
 * The page to go back to if the form's page hides its address (`Referrer-Policy`). Most forms are sent to the URL of
 * their own page.
 */
function pageOf({ request }: HttpContext, router: Router): string {
  const path = request.getPath();
  return router.match("GET", path, requestAuthority(request.raw)) === null ? "/" : redirectTarget(path, "/");
}

/** The request's input. */
export function inputsOf({ request }: HttpContext): Dictionary {
  try {
    return request.all();
  } catch {
    // If the input can't be parsed, it can't be shown again.
    return {};
  }
}
