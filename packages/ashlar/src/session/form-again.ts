import {
  FastResponse,
  type HttpContext,
  ownPath,
  pageContext,
  requestAuthority,
  toResponse,
  withoutBase,
} from "../http/index.ts";
import type { CompiledMatch, Router } from "../routing/index.ts";
import { AshlarError } from "../support/index.ts";
import { inputsOf } from "./back-to-form.ts";
import { sentCsrfToken } from "./csrf-field.ts";
import { comesFromHere } from "./request-origin.ts";
import type { RequestSession } from "./request-session.ts";
import { isSafeMethod } from "./safe-methods.ts";
import "./errors.ts";
import { message } from "./messages.ts";

/** How many bytes of a form are read, at most, only to show it again. */
const MAX_TYPED_BYTES = 64 * 1024;

const EXPIRED = message("session.expiredForm");

/** The message on the page that the visitor is redirected to. There is nothing to send again. */
const NOT_USED = message("session.notUsed");

/** The form's page has expired: its token is missing, or not the session's. */
export class ExpiredPageError extends AshlarError {
  /** @param isForProgram whether the caller wants JSON: it has no page to go back to */
  constructor(isForProgram = false) {
    super("E_CSRF", message(isForProgram ? "session.expiredToken" : "session.expired"));
  }
}

/**
 * The response to a form that was refused, but may be sent again unchanged, now or later: its page was open for too
 * long, or there were too many attempts. It is the form itself, with what was typed and the error, under the error's
 * own status: the page of this site that it was sent from, or else the one that GET shows at the same path. If a form has
 * expired and its page now redirects elsewhere, such as to the login page, the visitor is redirected there.
 *
 * Security: what was typed is kept only if the browser or the token says that it was sent from a page of this site.
 * Otherwise another site could fill in the form that the visitor is about to send.
 *
 * @param error what was thrown
 * @returns `null` for any other error, for a caller that wants JSON, or if no page shows the messages
 */
export function formAgain(
  context: HttpContext,
  held: RequestSession,
  error: unknown,
  router: Router,
): Promise<unknown> | null {
  const { request } = context;
  if (!mayBeSentAgain(error) || isSafeMethod(request.raw.method) || request.wantsJson()) return null;
  const page = pageOf(context, router);
  return error instanceof ExpiredPageError
    ? overtaken(context, held, error, page)
    : showAgain(context, held, error, page);
}

/**
 * The page that a form belongs to. Many are sent to another path than their page's: `/orders/create` to `/orders`.
 *
 * Security: the address of the page counts only if the browser says that the form was sent from this site.
 */
function pageOf(context: HttpContext, router: Router): CompiledMatch | null {
  const { request, services } = context;
  const authority = requestAuthority(request.raw);
  const from = comesFromHere(request, context.origin) ? ownPath(context, request.header("referer")) : null;
  const path = from === null ? null : withoutBase(services.basePath, from.replace(/[?#].*$/, ""));
  const page = path === null ? null : router.match("GET", path, authority);
  return page ?? router.match("GET", request.getPath(), authority);
}

/** Another tab may already have done what the form asks for. Then nothing is done, and the visitor is redirected. */
async function overtaken(
  context: HttpContext,
  held: RequestSession,
  error: AshlarError,
  page: CompiledMatch | null,
): Promise<unknown> {
  return (await held.manager.respondToExpired(context)) ?? showAgain(context, held, error, page);
}

function mayBeSentAgain(error: unknown): error is AshlarError {
  return error instanceof ExpiredPageError || (error instanceof AshlarError && error.code === "E_TOO_MANY_REQUESTS");
}

async function showAgain(
  context: HttpContext,
  held: RequestSession,
  error: AshlarError,
  page: CompiledMatch | null,
): Promise<Response | null> {
  if (page === null) return null;
  const { request } = context;
  const problem = error instanceof ExpiredPageError ? EXPIRED : error.detail;
  const isOwn = comesFromHere(request, context.origin) || hasToken(context, held);
  if (isOwn) await readSmallBody(context);
  held.flashMistakes({ "": [problem] }, isOwn ? inputsOf(context) : {}, problem);
  const shown = await show(context, page);
  if (error instanceof ExpiredPageError && isRedirect(shown)) return leadOn(held, shown);
  const isShown = shown.status === 200 && held.session.hasShownErrors;
  // Either they were shown, or the page that is shown instead has its own messages.
  held.session.forgetMistakes();
  // A request that is refused and not shown a form does not start a session.
  if (!isShown && !held.isKnown) held.session.invalidate();
  // A page without the messages would leave the visitor wondering; the error's own page does not.
  if (!isShown) return null;
  const headers = new Headers(shown.headers);
  for (const [name, value] of Object.entries(error.headers)) headers.set(name, value);
  return new FastResponse(await shown.text(), { status: error.status, headers });
}

function isRedirect({ status, headers }: Response): boolean {
  return status >= 300 && status < 400 && headers.has("location");
}

/** Always 303: another status may make the browser send the form again (RFC 9110 §15.4.8). */
function leadOn(held: RequestSession, shown: Response): Response {
  // Problems that the page itself has found are for the next page to show.
  if (held.session.errors()[""]?.some(({ rule }) => rule === EXPIRED.rule)) {
    held.session.forgetMistakes();
    if (held.isKnown) held.session.flashErrors({ "": [NOT_USED] });
  }
  return new FastResponse(null, { status: 303, headers: shown.headers });
}

function hasToken({ request }: HttpContext, held: RequestSession): boolean {
  try {
    return held.matchesToken(sentCsrfToken(request));
  } catch {
    // A body that cannot be parsed has no inputs.
    return false;
  }
}

/**
 * If a form was refused before its body was read, for example because it has no session, the body is read now, provided
 * that it is as small as forms are.
 */
async function readSmallBody({ request }: HttpContext): Promise<void> {
  if (!request.awaitsBody || !(Number(request.header("content-length") ?? Number.NaN) <= MAX_TYPED_BYTES)) return;
  try {
    await request.loadBody();
  } catch {
    // The request has already been refused; the body is only needed to show the form again.
  }
}

/** Runs a page's route within the session of this request. */
async function show(context: HttpContext, match: CompiledMatch): Promise<Response> {
  const page = pageContext(context, match);
  return toResponse(page, await match.route.run(page));
}
