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

/**
 * The maximum number of bytes that are read of a form only to show it again. A route that accepts less keeps its own
 * limit.
 */
const MAX_TYPED_BYTES = 1024 * 1024;

const EXPIRED = message("session.expiredForm");

/** The message on an error page that leads back to the form's page. */
const EXPIRED_THERE = message("session.expiredThere");

/** The same for a request without a session: the browser may refuse cookies. */
const EXPIRED_THERE_ALONE = message("session.expiredThereWithoutSession");

/** The error page's note about the input, by how much of it is kept. */
export const TYPED_NOTES: Readonly<Record<KeptInput, Message>> = {
  all: message("session.typedKept"),
  some: message("session.typedNotKept"),
  none: message("session.typedLost"),
};

/** The same if another user is logged in by now. */
const ANOTHERS = message("session.typedByAnother");

/** The message on the page that the visitor is redirected to. There is nothing to send again. */
const NOT_USED = message("session.notUsed");

/** The form's page has expired: its token is missing, or isn't the session's. */
export class ExpiredPageError extends AshlarError {
  /** @param isForProgram whether the caller wants JSON: it has no page to go back to */
  constructor(isForProgram = false) {
    super("E_CSRF", message(isForProgram ? "session.expiredToken" : "session.expired"));
  }
}

/**
 * The response to a form that was refused, but may be sent again unchanged, now or later: its page was open for too
 * long, or there were too many attempts. It is the form itself, with the input and the error, under the error's own
 * status: the page of this site that it was sent from, or else the page that GET shows at the same path. If that page
 * may not be shown here (see `formPageOf`), the error's own page leads back to it, and the session keeps as much of the
 * input as fits. A session starts for this if there isn't one. If a form has expired and its page now redirects
 * elsewhere, such as to the login page, the visitor is redirected there.
 *
 * Security: the input is kept only if the browser or the token says that it was sent from a page of this site.
 * Otherwise another site could fill in the form that the visitor is about to send.
 *
 * @param error the thrown error
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
  return error instanceof ExpiredPageError
    ? overtaken(context, held, error, router)
    : showAgain(context, held, error, router);
}

/** Another tab may already have done the form's work. Then nothing is done, and the visitor is redirected. */
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
  // A request that is refused without showing a form does not start a session.
  if (shown === null && !held.isKnown) held.session.invalidate();
  return shown;
}

/**
 * Lets the error's page lead back to a page that may not be shown here. The error's page has the message. The next page
 * gets the input, and it may be a different page.
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
 * Keeps the input, in a new session if there isn't one, and returns the note about it; `null` if nothing was typed.
 *
 * Security: a user's input is only for that user, who may no longer be logged in. A guest's input is for the next page.
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
  // There is no reason to start a session.
  if (kept === "none" && !isKnown) held.session.invalidate();
  return TYPED_NOTES[kept];
}

/** The note about the input if none of it is known; `null` if there probably isn't any. */
export function noteOfUnread({ request }: HttpContext): Message | null {
  const isUnread = request.awaitsBody && Number(request.header("content-length")) > MAX_TYPED_BYTES;
  return isUnread ? TYPED_NOTES.none : null;
}

function isRedirect({ status, headers }: Response): boolean {
  return status >= 300 && status < 400 && headers.has("location");
}

/** Always 303: another status may make the browser send the form again (RFC 9110 §15.4.8). */
function leadOn(held: RequestSession, shown: Response): Response {
  // The next page shows problems that the page itself has found.
  if (held.session.errors()[""]?.some(({ rule }) => rule === EXPIRED.rule)) {
    held.session.forgetMistakes();
    if (held.isKnown) held.session.flashErrors({ "": [NOT_USED] });
  }
  return new FastResponse(null, { status: 303, headers: shown.headers });
}

/**
 * Reports whether a form was sent from a page of this site. If it was refused before its body was read, for example because
 * it was sent too often, the body is read now.
 *
 * Security: a form without such evidence is read only within a session, to check its token.
 */
export async function readOwnForm(context: HttpContext, held: RequestSession): Promise<boolean> {
  const { request } = context;
  const isOwn = isOwnForm(context, held);
  if (!request.awaitsBody || !(isOwn || (held.isReadable && held.isKnown))) return isOwn;
  if (!(Number(request.header("content-length") ?? Number.NaN) <= MAX_TYPED_BYTES)) return isOwn;
  try {
    await request.loadBody();
  } catch {
    // The request has already been refused; the body is only needed to show the form again.
  }
  return isOwn || isOwnForm(context, held);
}
