import { FastResponse, type HttpContext } from "../../http/index.ts";
import type { Router } from "../../routing/index.ts";
import { AshlarError, type Dictionary, type Message } from "../../support/index.ts";
import { isSafeMethod, pageAddress } from "../csrf/csrf-tokens.ts";
import type { RequestSession } from "../sessions/request-session.ts";
import { flashTyped, type KeptInput, keepTyped, refillableInput } from "../sessions/session-input.ts";
import { inputsOf } from "./back-to-form.ts";
import { formPageOf, isOwnForm, sentOwner, showForm } from "./form-page.ts";
import "../errors.ts";
import { message } from "../messages.ts";

/** The largest form, in bytes, that is read only to show it again. A lower limit of the route still applies. */
const MAX_TYPED_BYTES = 1024 * 1024;

const EXPIRED = message("session.expiredForm");

/** The message on an error page with a link back to the form's page. */
const EXPIRED_THERE = message("session.expiredThere");

/** The message if the request has no session, for example because the browser refuses cookies. */
const EXPIRED_THERE_ALONE = message("session.expiredThereWithoutSession");

/** The error page's note about how much of the input was kept. */
export const TYPED_NOTES: Readonly<Record<KeptInput, Message>> = {
  all: message("session.typedKept"),
  some: message("session.typedNotKept"),
  none: message("session.typedLost"),
};

/** The note if a different user is logged in now. */
const ANOTHERS = message("session.typedByAnother");

/** The message on the page that the visitor is redirected to, which has no form to send again. */
const NOT_USED = message("session.notUsed");

/** The form's page has expired: its token is missing, or belongs to another session. */
export class ExpiredPageError extends AshlarError {
  /** @param isForProgram whether the client accepts JSON, and so has no page to go back to */
  constructor(isForProgram = false) {
    super("E_CSRF", message(isForProgram ? "session.expiredToken" : "session.expired"));
  }
}

/**
 * The response to a form that was refused, but may be sent again unchanged, because its page was open for too long or
 * there were too many attempts. The response shows the form with the input and the error, with the error's status. The
 * form's page is the page of this site that it was sent from, or else the page that GET shows at the same path. If that
 * page may not be shown here (see `formPageOf`), the error page links back to it, and the session, which is started if
 * necessary, keeps as much of the input as fits. If a form has expired and its page now redirects, for example to the
 * login page, the visitor is redirected there.
 *
 * Security: the input is kept only if the browser or the token shows that the form was sent from a page of this site.
 * Otherwise, another site could fill in the form that the visitor is about to send.
 *
 * @param error the thrown error
 * @returns `null` for any other error, for a client that accepts JSON, or if no page shows the messages
 */
export function formAgain(
  context: HttpContext,
  held: RequestSession,
  error: unknown,
  router: Router,
): Promise<unknown> | null {
  const { request } = context;
  if (!mayBeSentAgain(error) || isSafeMethod(request.raw.method) || request.wantsJson()) return null;
  return error instanceof ExpiredPageError
    ? overtaken(context, held, error, router)
    : showAgain(context, held, error, router);
}

/** Responds to an expired form. If its work has already been done in another tab, the visitor is redirected instead. */
async function overtaken(
  context: HttpContext,
  held: RequestSession,
  error: AshlarError,
  router: Router,
): Promise<unknown> {
  return (await held.manager.respondToExpired(context)) ?? showAgain(context, held, error, router);
}

function mayBeSentAgain(error: unknown): error is AshlarError {
  return error instanceof ExpiredPageError || (error instanceof AshlarError && error.code === "E_TOO_MANY_REQUESTS");
}

async function showAgain(
  context: HttpContext,
  held: RequestSession,
  error: AshlarError,
  router: Router,
): Promise<Response | null> {
  const isExpired = error instanceof ExpiredPageError;
  const isOwn = await readOwnForm(context, held);
  const page = formPageOf(context, held, router, isOwn);
  if (page === null) return null;
  const input = isOwn ? inputsOf(context) : {};
  if (!page.mayBeShown || isAnothers(context, held)) {
    leadBack(context, held, page.target ?? context.request.getPath(), isExpired, input);
    return null;
  }
  const errors = { "": [isExpired ? EXPIRED : error.detail] };
  const follow = (shown: Response) => (isExpired && isRedirect(shown) ? leadOn(held, shown) : null);
  const shown = await showForm(context, held, error, page, { errors, input }, follow);
  // If no form is shown, a refused request doesn't start a session.
  if (shown === null && !held.isKnown) held.session.invalidate();
  return shown;
}

/**
 * Makes the error page link to a form's page that may not be shown here. The error page has the message. The input goes
 * to whichever page is opened next.
 */
function leadBack(
  context: HttpContext,
  held: RequestSession,
  target: string,
  isExpired: boolean,
  input: Readonly<Dictionary>,
): void {
  const { isKnown } = held;
  const expired = isKnown ? EXPIRED_THERE : EXPIRED_THERE_ALONE;
  context.pageToReturnTo = {
    url: context.services.urls.url(target),
    message: isExpired ? expired : null,
    notes: [noteOf(context, held, target, refillableInput(input))].filter((note) => note !== null),
  };
}

/** Whether the form belongs to a user other than the one who is logged in now. */
function isAnothers(context: HttpContext, { manager }: RequestSession): boolean {
  const [owner, user] = [sentOwner(context), manager.ownerOf(context)];
  return owner !== null && user !== null && !manager.tokens.isTagOf(user, owner);
}

/**
 * Keeps the input, in a new session if necessary, and returns the note about it; `null` if nothing was typed.
 *
 * Security: only the same user gets a user's input, even if they are no longer logged in. A guest's input goes to the
 * next page.
 *
 * @param target the path and query of the form's page
 */
export function noteOf(
  context: HttpContext,
  held: RequestSession,
  target: string,
  typed: Readonly<Dictionary>,
): Message | null {
  if (Object.keys(typed).length === 0) return noteOfUnread(context);
  if (!held.isReadable) return TYPED_NOTES.none;
  const { isKnown, manager } = held;
  if (isAnothers(context, held)) return ANOTHERS;
  const owner = sentOwner(context);
  if (owner !== null && manager.ownerOf(context) === null) {
    return TYPED_NOTES[keepTyped(held, { owner, page: pageAddress(context, target), input: typed })];
  }
  const kept = flashTyped(held, typed);
  // Nothing was kept, so no session is started.
  if (kept === "none" && !isKnown) held.session.invalidate();
  return TYPED_NOTES[kept];
}

/** The note about input that was not read; `null` if there probably isn't any. */
export function noteOfUnread({ request }: HttpContext): Message | null {
  const isUnread = request.awaitsBody && Number(request.header("content-length")) > MAX_TYPED_BYTES;
  return isUnread ? TYPED_NOTES.none : null;
}

function isRedirect({ status, headers }: Response): boolean {
  return status >= 300 && status < 400 && headers.has("location");
}

/**
 * Redirects to where the form's page redirects. Always with 303, because another status may make the browser send the
 * form again (RFC 9110 §15.4.8).
 */
function leadOn(held: RequestSession, shown: Response): Response {
  // Problems found by the form's page itself are left for the next page.
  if (held.session.errors()[""]?.some(({ rule }) => rule === EXPIRED.rule)) {
    held.session.forgetMistakes();
    if (held.isKnown) held.session.flashErrors({ "": [NOT_USED] });
  }
  return new FastResponse(null, { status: 303, headers: shown.headers });
}

/**
 * Reports whether a form was sent from a page of this site. If the form was refused before its body was read, for
 * example because there were too many attempts, the body is read now.
 *
 * Security: if the browser doesn't say where the form came from, the body is read only within a session, to check the
 * token.
 */
export async function readOwnForm(context: HttpContext, held: RequestSession): Promise<boolean> {
  const { request } = context;
  const isOwn = isOwnForm(context, held);
  if (!request.awaitsBody || !(isOwn || (held.isReadable && held.isKnown))) return isOwn;
  if (!(Number(request.header("content-length") ?? Number.NaN) <= MAX_TYPED_BYTES)) return isOwn;
  try {
    await request.loadBody();
  } catch {
    // The request has been refused anyway. The body is only needed to show the form again.
  }
  return isOwn || isOwnForm(context, held);
}
