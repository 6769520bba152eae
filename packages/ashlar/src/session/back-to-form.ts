import { type HttpContext, type HttpResponse, redirectTarget, requestAuthority } from "../http/index.ts";
import type { Router } from "../routing/index.ts";
import { type Dictionary, ValidationError } from "../support/index.ts";
import type { RequestSession } from "./request-session.ts";
import { isSafeMethod } from "./safe-methods.ts";

/**
 * The response to a form with mistakes in it: back to the form's page (303, RFC 9110 §15.4.4), which then shows the
 * messages and what was typed.
 *
 * @param error what was thrown
 * @returns `null` for any other error, for a caller that wants JSON, and for a request that did not come from a form
 */
export function backToForm(
  context: HttpContext,
  held: RequestSession,
  error: unknown,
  router: Router,
): HttpResponse | null {
  const { request } = context;
  // Redirecting back from a GET request would often lead to the same address, in an endless loop.
  if (!(error instanceof ValidationError) || isSafeMethod(request.raw.method) || request.wantsJson()) return null;
  held.flashMistakes(error.errors, inputsOf(context), error.detail);
  return context.response.back(pageOf(context, router)).status(303);
}

/** A page may hide its address (`Referrer-Policy`). Most forms are sent to the URL of their own page. */
function pageOf({ request }: HttpContext, router: Router): string {
  const path = request.getPath();
  return router.match("GET", path, requestAuthority(request.raw)) === null ? "/" : redirectTarget(path, "/");
}

/** What was typed. */
export function inputsOf({ request }: HttpContext): Dictionary {
  try {
    return request.all();
  } catch {
    // What cannot be parsed cannot be shown again.
    return {};
  }
}
