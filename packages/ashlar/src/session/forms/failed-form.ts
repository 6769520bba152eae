import type { HttpContext } from "../../http/index.ts";
import type { Router } from "../../routing/index.ts";
import { AshlarError, type Message, RefusedError } from "../../support/index.ts";
import { isSafeMethod } from "../csrf/csrf-tokens.ts";
import { message } from "../messages.ts";
import type { RequestSession } from "../sessions/request-session.ts";
import { refillableInput } from "../sessions/session-input.ts";
import { inputsOf } from "./back-to-form.ts";
import { noteOf, readOwnForm, TYPED_NOTES } from "./form-again.ts";
import { formPageOf, isOwnForm } from "./form-page.ts";

const UNPROCESSED = message("session.unprocessed");
const UNCERTAIN = message("session.uncertain");
const RELOAD = message("session.reload");

/**
 * Lets the page of an error lead back to the form that was sent, if the server has failed or the form is too large: the
 * error page says whether anything may have changed, and the form's page is filled in again with as much input as the
 * session can hold.
 *
 * Unlike for a form that may be sent again at once (`formAgain`), the form's page is not shown in its place: it may
 * depend on whatever has failed.
 *
 * If the form's page fails in turn, the input is kept for the next page.
 *
 * Security: as there, the input is kept only for a form of this site.
 *
 * @param error the thrown error; any other error, a caller that wants JSON, and a form without a page change nothing
 * @returns `null`: the response is the error's page
 */
export async function leadBackFromFailure(
  context: HttpContext,
  held: RequestSession,
  error: unknown,
  router: Router,
): Promise<null> {
  const { request, services, wasHandled } = context;
  const status = failureOf(error);
  if (status === null || request.wantsJson()) return null;
  if (isSafeMethod(request.raw.method)) {
    // The page that was to show the flashed values has failed; perhaps it was the form's page.
    if (status >= 500 && held.isReadable && held.isKnown) held.session.keepUnread();
    return null;
  }
  // Under overload, nothing more is read.
  const isOwn = error instanceof RefusedError ? isOwnForm(context, held) : await readOwnForm(context, held);
  const page = formPageOf(context, held, router, isOwn);
  if (page === null) return null;
  const target = page.target ?? request.getPath();
  const typed = typedNote(context, held, target, isOwn);
  const isLost = typed !== null && typed.rule !== TYPED_NOTES.all.rule;
  // A browser that loads the page of the error again sends all of the form again.
  const helpsReloading = isLost && status === 503 && !wasHandled;
  context.pageToReturnTo = {
    url: services.urls.url(target),
    message: null,
    notes: [
      wasHandled ? UNCERTAIN : UNPROCESSED,
      ...[held.manager.noteOfFailure(context), typed, helpsReloading ? RELOAD : null].filter((note) => note !== null),
    ],
  };
  return null;
}

/** The status of an error if the server has failed, or the form is too large; `null` for any other. */
function failureOf(error: unknown): number | null {
  const status = error instanceof AshlarError ? error.status : 500;
  return status >= 500 || status === 413 ? status : null;
}

function typedNote(context: HttpContext, held: RequestSession, target: string, isOwn: boolean): Message | null {
  // The form is too large, or the server is overloaded.
  if (context.request.awaitsBody) return TYPED_NOTES.none;
  return isOwn ? noteOf(context, held, target, refillableInput(inputsOf(context))) : null;
}

/** Corrects an error page's note about the input if the session that was to keep it could not be saved. */
export function typedIsLost(context: HttpContext): void {
  const page = context.pageToReturnTo;
  if (page === null) return;
  const isKept = ({ rule }: Message) => rule === TYPED_NOTES.all.rule || rule === TYPED_NOTES.some.rule;
  context.pageToReturnTo = { ...page, notes: page.notes.map((note) => (isKept(note) ? TYPED_NOTES.none : note)) };
}
